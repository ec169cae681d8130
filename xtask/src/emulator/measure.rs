//! Measurements over a path: round trips, flows of iperf3, losses.

use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bitcost_lab::emulator::{Report, Settings};
use serde_json::Value;

use super::path::Path;

const PORT: u16 = 5201;
const SLOW_START_S: u32 = 3;
const REQUESTS: usize = 200;
const PAUSE: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(2);

/// Round trips.
pub struct Idle {
    pub least_ms: f64,
    pub mean_ms: f64,
    pub most_ms: f64,
}

/// One flow after slow start.
pub struct Flow {
    /// At the receiver.
    pub mbps: f64,
    pub retransmits: u64,
    /// Packets that the forwarder sent, both ways.
    pub packets_per_s: f64,
    /// CPU time of the forwarder's thread. In its send calls the kernel also does the receive work
    /// of the hosts.
    pub cpu_pct: f64,
    /// Lateness towards the receiver: median, 99 % quantile, maximum.
    pub lateness_us: [f64; 3],
    pub overflowed: u64,
    pub missed: u64,
}

impl Flow {
    /// Packets per second of the forwarder's CPU time.
    pub fn packets_per_cpu_s(&self) -> f64 {
        self.packets_per_s / self.cpu_pct * 100.0
    }
}

/// Losses towards the receiver.
pub struct Losses {
    pub arrived: u64,
    pub lost: u64,
    /// Packets that were not forwarded, and not lost by chance.
    pub failed: u64,
    /// Numbers of the datagrams that were not received, of the first [`COMPARED`].
    pub missing: Vec<u32>,
    /// Datagrams that came faster than they were received.
    pub dropped_by_receiver: u64,
}

/// Round trips of single datagrams.
///
/// # Errors
/// When one does not come back.
pub fn idle(path: &Path) -> Result<Idle> {
    let [near, far] = sockets(path)?;
    let to = far.local_addr()?;
    let echo = thread::spawn(move || {
        let mut word = [0; 64];
        for _ in 0..=REQUESTS {
            let Ok((length, back)) = far.recv_from(&mut word) else {
                return;
            };
            let _ = far.send_to(&word[..length], back);
        }
    });
    let mut times = Vec::new();
    for number in 0..=REQUESTS {
        let begin = Instant::now();
        near.send_to(&[0; 64], to)?;
        near.recv(&mut [0; 64]).context("a reply did not come")?;
        // The first one waits for the address.
        if number > 0 {
            times.push(begin.elapsed().as_secs_f64() * 1000.0);
        }
        thread::sleep(PAUSE);
    }
    drop(echo.join());
    times.sort_by(f64::total_cmp);
    let mean_ms = times.iter().sum::<f64>() / times.len() as f64;
    Ok(Idle {
        least_ms: times[0],
        mean_ms,
        most_ms: times[times.len() - 1],
    })
}

fn sockets(path: &Path) -> Result<[UdpSocket; 2]> {
    let [near, far] = path
        .gap
        .hosts
        .each_ref()
        .map(|host| host.run(|| UdpSocket::bind((host.address, PORT))));
    let (near, far) = (near?, far?);
    near.set_read_timeout(Some(PATIENCE))?;
    far.set_read_timeout(Some(PATIENCE))?;
    Ok([near, far])
}

/// A child that is stopped when this is dropped.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One flow of stock iperf3, cubic.
///
/// # Errors
/// When iperf3 is missing or fails.
pub fn flow(path: &Path, seconds: u32) -> Result<Flow> {
    let [near, far] = &path.gap.hosts;
    let mut server = Command::new("iperf3");
    server.args(["-s", "-1"]).stdout(Stdio::null());
    far.put(&mut server);
    let server = Guard(
        server
            .spawn()
            .context("iperf3 is needed: apt-get install iperf3")?,
    );
    thread::sleep(Duration::from_millis(300));
    let mut client = Command::new("iperf3");
    let (length, slow) = (seconds.to_string(), SLOW_START_S.to_string());
    let to = far.address.to_string();
    client
        .args(["-c", &to, "-C", "cubic", "-O", &slow, "-t", &length, "-J"])
        .stdout(Stdio::piped());
    near.put(&mut client);
    let client = client.spawn()?;
    thread::sleep(Duration::from_secs(SLOW_START_S.into()) + Duration::from_millis(500));
    let (before, began) = ((path.report)(), Instant::now());
    thread::sleep(Duration::from_secs(seconds.into()) - Duration::from_millis(700));
    let (after, elapsed) = ((path.report)(), began.elapsed().as_secs_f64());
    let said: Value = serde_json::from_slice(&client.wait_with_output()?.stdout)
        .context("iperf3 said no JSON")?;
    drop(server);
    if let Some(error) = said["error"].as_str() {
        bail!("iperf3: {error}");
    }
    Ok(judge(&said, &before, &after, elapsed))
}

fn judge(said: &Value, before: &Report, after: &Report, elapsed: f64) -> Flow {
    let ways = [0, 1].map(|way: usize| after.directions[way].since(&before.directions[way]));
    let handed_on = ways.iter().map(|way| way.departed.packets).sum::<u64>();
    let late = &ways[0].lateness;
    let us = |share: f64| late.quantile_ns(share).unwrap_or_default() as f64 / 1000.0;
    Flow {
        mbps: said["end"]["sum_received"]["bits_per_second"]
            .as_f64()
            .unwrap_or_default()
            / 1e6,
        retransmits: said["end"]["sum_sent"]["retransmits"]
            .as_u64()
            .unwrap_or_default(),
        packets_per_s: handed_on as f64 / elapsed,
        cpu_pct: (after.cpu_ns - before.cpu_ns) as f64 / elapsed / 1e7,
        lateness_us: [us(0.5), us(0.99), us(1.0)],
        overflowed: ways.iter().map(|way| way.overflowed.packets).sum(),
        missed: ways.iter().map(|way| way.missed_packets).sum(),
    }
}

/// Number of datagrams whose fates are compared. Later the kernel asks for the address again, which
/// is one more packet.
pub const COMPARED: u32 = 200_000;

/// Sends numbered datagrams over a link emulator that loses 1 %.
pub fn losses(packets: u64) -> Result<Losses> {
    let lossy = Settings {
        loss: 0.01,
        ..Settings::default()
    };
    let path = Path::with_emulator([lossy, Settings::default()])?;
    let [near, far] = sockets(&path)?;
    // This is more than an ordinary user may have; without it some datagrams are dropped and
    // counted.
    let _ = bitcost_sys::socket::set_int(&far, bitcost_sys::socket::SO_RCVBUFFORCE, 16 << 20);
    let to = far.local_addr()?;
    let receiver = thread::spawn(move || received(&far, packets));
    near.connect(to)?;
    let begin = Instant::now();
    for number in 0..packets as u32 {
        near.send(&number.to_ne_bytes())?;
        // The rate is 80 000 datagrams per second, so that no queue overflows.
        if number % 80 == 79 {
            thread::sleep(
                (begin + Duration::from_millis(u64::from(number / 80 + 1))) - Instant::now(),
            );
        }
    }
    let has = receiver
        .join()
        .map_err(|_| anyhow::anyhow!("the receiver failed"))?;
    let counters = &(path.report)().directions[0];
    Ok(Losses {
        arrived: counters.arrived.packets,
        lost: counters.lost.packets,
        failed: counters.overflowed.packets + counters.missed_packets + counters.refused.packets,
        missing: (0..COMPARED.min(packets as u32))
            .filter(|number| !has[*number as usize])
            .collect(),
        dropped_by_receiver: path.gap.hosts[1].run(receive_buffer_errors)?,
    })
}

/// Datagrams that found their socket full, in the calling thread's network namespace
/// (`RcvbufErrors` in proc_net_snmp).
fn receive_buffer_errors() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/net/snmp")?;
    let mut lines = text.lines().filter(|line| line.starts_with("Udp:"));
    let (names, values) = (
        lines.next().unwrap_or_default(),
        lines.next().unwrap_or_default(),
    );
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    let (_, value) = pairs
        .find(|(name, _)| *name == "RcvbufErrors")
        .context("the kernel does not count RcvbufErrors")?;
    Ok(value.parse()?)
}

fn received(socket: &UdpSocket, packets: u64) -> Vec<bool> {
    let mut has = vec![false; packets as usize];
    let mut word = [0; 4];
    while let Ok(4) = socket.recv(&mut word) {
        if let Some(place) = has.get_mut(u32::from_ne_bytes(word) as usize) {
            *place = true;
        }
    }
    has
}
