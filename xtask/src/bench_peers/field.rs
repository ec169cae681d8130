//! The path: two hosts of a private lab joined by a bare veth pair, and the CPU of each endpoint.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bitcost_host::{Knob, Offloads, Values};
use bitcost_lab::{Lab, Napi};

pub const SENDER: &str = "h1";
pub const RECEIVER: &str = "h2";

/// The congestion control of both hosts, so that the machine's default does not matter; one that
/// every kernel allows a namespace.
pub const CONGESTION_CONTROL: &str = "reno";

/// The CPUs of both endpoints, and the state of their devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// Both endpoints use one CPU.
    pub one_cpu: bool,
    /// TSO, GSO, GRO and LRO are off at both endpoints; otherwise they are as a veth has them.
    pub offloads_off: bool,
}

impl Setup {
    pub fn label(self) -> String {
        let cpus = if self.one_cpu {
            "both ends on one CPU"
        } else {
            "each endpoint on its own CPU"
        };
        format!(
            "{cpus}, offloads {}",
            if self.offloads_off { "off" } else { "on" }
        )
    }
}

/// A path to measure on; it is removed when this is dropped.
pub struct Field {
    pub lab: std::sync::Arc<Lab>,
    /// CPU of the sender.
    pub sender_cpu: u32,
    /// CPU of the receiver.
    pub receiver_cpu: u32,
    /// Address of the receiver.
    pub receiver: std::net::IpAddr,
}

impl Field {
    pub fn build(mtu_bytes: u32, setup: Setup) -> Result<Field> {
        let pair = bitcost_study::topology::preset("pair", mtu_bytes, Napi::Inline)?;
        let lab = Lab::up(Path::new("/proc/self/exe"), &pair)?;
        let cpus = bitcost_sys::thread::allowed_cpus()?;
        let [first, second] = match cpus[..] {
            [] => bail!("no CPU to run on"),
            [only] => [only, only],
            [first, second, ..] => [first, if setup.one_cpu { first } else { second }],
        };
        let receiver = lab.host(RECEIVER)?.address;
        let field = Field {
            lab: lab.into(),
            sender_cpu: first,
            receiver_cpu: second,
            receiver,
        };
        for host in [SENDER, RECEIVER] {
            let choice =
                format!("echo {CONGESTION_CONTROL} > /proc/sys/net/ipv4/tcp_congestion_control");
            field.done(host, &["sh".to_owned(), "-c".to_owned(), choice])?;
            if setup.offloads_off {
                let program = std::env::current_exe()?.to_string_lossy().into_owned();
                let device = field.lab.host(host)?.device.clone();
                field.done(host, &[program, "offloads-off".to_owned(), device])?;
            }
        }
        Ok(field)
    }

    /// Runs a command in a host.
    fn done(&self, host: &str, words: &[String]) -> Result<()> {
        let status = self.start(host, words)?.wait()?;
        ensure!(status.success(), "{} in {host}: {status}", words.join(" "));
        Ok(())
    }

    /// Bytes and packets that the sender's interface has sent, as a process in its host sees them.
    pub fn sent(&self, process: &Child) -> Option<(u64, u64)> {
        let device = &self.lab.host(SENDER).ok()?.device;
        let text = std::fs::read_to_string(format!("/proc/{}/net/dev", process.id())).ok()?;
        let mut lines = text.lines().map(str::trim);
        let line = lines.find_map(|line| line.strip_prefix(device)?.strip_prefix(':'))?;
        let mut sent = line.split_whitespace().skip(8).map(str::parse);
        Some((sent.next()?.ok()?, sent.next()?.ok()?))
    }

    /// Datagrams that programs in the host of this process have taken from their sockets.
    pub fn taken(&self, process: &Child) -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/net/snmp", process.id())).ok()?;
        let mut rows = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
        let (names, values) = (rows.next()?, rows.next()?);
        let mut pairs = names.split_whitespace().zip(values.split_whitespace());
        let (_, value) = pairs.find(|(name, _)| *name == "InDatagrams")?;
        value.parse().ok()
    }

    /// Share of the busy time of the sender's connection that the receive window limited so far, as ss
    /// prints it; absent where it does not.
    pub fn window_limited(&self) -> Option<f64> {
        let words = ["ss", "-tinH", "state", "established"].map(str::to_owned);
        let listing = self.start(SENDER, &words).ok()?;
        let text = output_of(listing, Instant::now() + Duration::from_secs(1)).ok()?;
        let ms = |line: &str, name: &str| {
            let mut words = line.split_whitespace();
            let word = words.find_map(|word| word.strip_prefix(name))?;
            word.split("ms").next()?.parse::<f64>().ok()
        };
        let connections = text.lines().filter_map(|line| {
            Some((ms(line, "busy:")?, ms(line, "rwnd_limited:").unwrap_or(0.0)))
        });
        let (busy, limited) = connections.max_by(|a, b| a.0.total_cmp(&b.0))?;
        (busy > 0.0).then(|| limited / busy)
    }

    /// Starts a command in a host, on the CPU of its endpoint.
    pub fn start(&self, host: &str, words: &[String]) -> Result<Child> {
        let cpu = if host == SENDER {
            self.sender_cpu
        } else {
            self.receiver_cpu
        };
        let mut command = Command::new("taskset");
        command.args(["-c", &cpu.to_string()]).args(words);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        self.lab.command_in(host, &mut command)?;
        command
            .spawn()
            .with_context(|| format!("start {}", words.join(" ")))
    }
}

/// A server that is stopped when this is dropped.
pub struct Server(pub Child);

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only for a process that has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for a program to end and returns its output; a program that still runs after the deadline
/// is stopped.
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
    Ok(reader
        .join()
        .map_err(|_| anyhow::anyhow!("the reader died"))??)
}

/// Turns the offloads of a device in this network namespace off.
pub fn offloads_off(device: &str) -> Result<()> {
    let before = Offloads.observe(device)?;
    let request = Values::from([(bitcost_host::SET.to_owned(), "off".to_owned())]);
    let asked = Offloads.plan(device, &before, &request)?;
    Offloads.write(device, &before, &asked)?;
    let now = Offloads.observe(device)?;
    let is_on = |name: &&String| now.get(*name).is_some_and(|word| bitcost_host::is_on(word));
    let wrong: Vec<&String> = asked.keys().filter(is_on).collect();
    ensure!(wrong.is_empty(), "{device}: still on: {wrong:?}");
    Ok(())
}
