//! The path: two hosts of a lab of its own joined by a bare veth pair, and the CPU of each end.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use lab::{Lab, Napi, Topology};

/// The sender's host.
pub const SENDER: &str = "h1";
/// The receiver's host.
pub const RECEIVER: &str = "h2";

/// The congestion control of both hosts, so that the machine's default does not matter; one that every kernel allows a namespace.
pub const CONGESTION_CONTROL: &str = "reno";

/// Where both ends stand and what their devices do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// Both ends on one CPU.
    pub one_cpu: bool,
    /// TSO, GSO, GRO and LRO off at both ends; else as a veth has them.
    pub offloads_off: bool,
}

impl Setup {
    /// For people.
    pub fn says(self) -> String {
        let cpus = if self.one_cpu { "both ends on one CPU" } else { "each end on a CPU of its own" };
        format!("{cpus}, offloads {}", if self.offloads_off { "off" } else { "on" })
    }
}

/// A path to measure on; it is gone with this.
pub struct Field {
    /// The lab.
    pub lab: std::sync::Arc<Lab>,
    /// CPU of the sender.
    pub sender_cpu: u32,
    /// CPU of the receiver.
    pub receiver_cpu: u32,
    /// Address of the receiver.
    pub receiver: std::net::IpAddr,
}

impl Field {
    /// Builds the path.
    pub fn build(mtu_bytes: u32, setup: Setup) -> Result<Field> {
        let pair = Topology::of_preset("pair", mtu_bytes, Napi::Inline).map_err(anyhow::Error::msg)?;
        let lab = Lab::up(Path::new("/proc/self/exe"), &pair)?;
        let cpus = sys::thread::allowed_cpus()?;
        let [first, second] = match cpus[..] {
            [] => bail!("no CPU to run on"),
            [only] => [only, only],
            [first, second, ..] => [first, if setup.one_cpu { first } else { second }],
        };
        let receiver = lab.host(RECEIVER)?.address;
        let field = Field { lab: lab.into(), sender_cpu: first, receiver_cpu: second, receiver };
        for host in [SENDER, RECEIVER] {
            field.choose_congestion_control(host)?;
            if setup.offloads_off {
                field.turn_offloads_off(host)?;
            }
        }
        Ok(field)
    }

    /// Gives a host the congestion control that all generators use.
    fn choose_congestion_control(&self, host: &str) -> Result<()> {
        let write = format!("echo {CONGESTION_CONTROL} > /proc/sys/net/ipv4/tcp_congestion_control");
        let done = self.start(host, &["sh".to_owned(), "-c".to_owned(), write])?.wait()?;
        if done.success() {
            Ok(())
        } else {
            bail!("the congestion control of {host} could not be set to {CONGESTION_CONTROL}")
        }
    }

    /// Has this program turn a host's offloads off, which reads them back.
    fn turn_offloads_off(&self, host: &str) -> Result<()> {
        let program = std::env::current_exe()?.to_string_lossy().into_owned();
        let device = self.lab.host(host)?.device.clone();
        let done = self.start(host, &[program, "offloads-off".to_owned(), device])?.wait()?;
        if done.success() { Ok(()) } else { bail!("the offloads of {host} could not be turned off") }
    }

    /// Starts words in a host, on the CPU of its end.
    pub fn start(&self, host: &str, words: &[String]) -> Result<Child> {
        let cpu = if host == SENDER { self.sender_cpu } else { self.receiver_cpu };
        let mut command = Command::new("taskset");
        command.args(["-c", &cpu.to_string()]).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        self.lab.command_in(host, &mut command)?;
        command.spawn().with_context(|| format!("start {}", words.join(" ")))
    }
}

/// A server that is stopped with this.
pub struct Server(pub Child);

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only for a process that has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for a program to end and gives what it wrote; one that goes on after the deadline is stopped.
pub fn output_of(mut child: Child, deadline: Instant) -> Result<String> {
    let mut output = child.stdout.take().context("its output")?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut output, &mut text).map(|_| text)
    });
    while child.try_wait()?.is_none() {
        if Instant::now() > deadline {
            drop(Server(child));
            bail!("it did not end in time");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(reader.join().map_err(|_| anyhow::anyhow!("the reader died"))??)
}
