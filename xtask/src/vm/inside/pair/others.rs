//! iperf3 and netperf on the same machines, in turn with bitcost: figures that do not depend on speed
//! must agree.

use std::fs;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::hosts::{FAR_ADDRESS, counted, near, sh};
use super::tested::{OVER_SSH, test};
use crate::vm::inside::guest::outcome;
use crate::vm::inside::port::{Found, Port};
use crate::vm::inside::wanted::Role;

/// The bytes that each program sends: 40 messages of 128 KiB.
const BYTES: u64 = 40 * 128 * 1024;
/// How often each program sends them with offloads on, and with offloads off.
const ROUNDS: usize = 2;
/// The largest difference of two programs: their other connections and greetings.
const TOLERANCE: f64 = 0.02;
/// The most by which packets per segment may differ: how much TCP puts into a packet depends on when
/// the machine gets to it.
const FACTOR: f64 = 2.0;

/// A program that sends.
struct Peer {
    name: &'static str,
    /// What the far host runs, in the background.
    server: Option<&'static str>,
    /// What the near host runs.
    client: Vec<String>,
    /// Whether it waits until all its bytes have arrived; iperf3 ends when it has handed them over,
    /// and what is then in its socket is not sent.
    sends_all: bool,
}

/// What the interface sent in a run, without what TCP retransmitted.
#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    packets: f64,
    bytes: f64,
}

/// Turns segmentation in front of the interface on or off; `tso` would also turn on a kind that is
/// off by default.
fn switch(to: &str) -> Result<()> {
    let script = format!(
        "ethtool -K eth1 tx-tcp-segmentation {to} tx-tcp-ecn-segmentation {to} tx-tcp6-segmentation {to} gso {to}"
    );
    sh(Role::Near, &script).map(drop)
}

pub(super) fn agree(_: &mut Port) -> Result<Found> {
    let installed = |peer: &Peer| std::path::Path::new("/bin").join(peer.name).exists();
    let (peers, missing): (Vec<_>, Vec<_>) = peers().into_iter().partition(installed);
    let means = interleaved(&peers);
    switch("on")?;
    let means = means?;
    let mut said = Vec::new();
    for (peer, sent) in peers.iter().zip(&means) {
        said.push(format!(
            "{}: {}",
            peer.name,
            compared(peer, sent, &means[0])?
        ));
    }
    said.extend(
        missing
            .iter()
            .map(|peer| format!("{} cannot be had here", peer.name)),
    );
    Ok(Found::Holds(said.join("; ")))
}

/// What each program sent with offloads on and off, on the average of all rounds.
fn interleaved(peers: &[Peer]) -> Result<Vec<[Sent; 2]>> {
    let mut means = vec![[Sent::default(); 2]; peers.len()];
    for _ in 0..ROUNDS {
        for (at, offloads) in ["on", "off"].into_iter().enumerate() {
            switch(offloads)?;
            for (peer, mean) in peers.iter().zip(&mut means) {
                let sent = peer.send().with_context(|| peer.name)?;
                mean[at].packets += sent.packets / ROUNDS as f64;
                mean[at].bytes += sent.bytes / ROUNDS as f64;
            }
        }
    }
    Ok(means)
}

/// What a program sent with offloads on and off, if it agrees with what bitcost sent.
fn compared(peer: &Peer, [on, off]: &[Sent; 2], [our_on, our_off]: &[Sent; 2]) -> Result<String> {
    let size = |sent: &Sent| sent.bytes / sent.packets;
    let gain = size(on) / size(off);
    let text = format!(
        "{:.0} segments with {:.0} bytes on the wire, {gain:.1} segments in a packet with offloads on",
        off.packets, off.bytes
    );
    let near = |theirs: f64, ours: f64| (theirs / ours - 1.0).abs() <= TOLERANCE;
    ensure!(
        near(size(off), size(our_off)),
        "{text}: its segments have {:.0} bytes, those of bitcost {:.0}",
        size(off),
        size(our_off)
    );
    ensure!(
        !peer.sends_all || near(off.packets, our_off.packets) && near(off.bytes, our_off.bytes),
        "{text}: bitcost sent {:.0} segments with {:.0} bytes",
        our_off.packets,
        our_off.bytes
    );
    let our_gain = size(our_on) / size(our_off);
    ensure!(
        (our_gain / FACTOR..=our_gain * FACTOR).contains(&gain),
        "{text}, with bitcost {our_gain:.1}"
    );
    Ok(text)
}

fn peers() -> [Peer; 3] {
    let words = |text: String| text.split(' ').map(str::to_owned).collect();
    [
        Peer {
            name: "bitcost",
            server: None,
            client: Vec::new(),
            sends_all: true,
        },
        Peer {
            name: "iperf3",
            server: Some("iperf3 -s -1"),
            client: words(format!("-c {FAR_ADDRESS} -n {BYTES} -l 128K")),
            sends_all: false,
        },
        Peer {
            name: "netperf",
            server: Some("netserver -D"),
            client: words(format!("-H {FAR_ADDRESS} -l -{BYTES} -- -m 131072")),
            sends_all: true,
        },
    ]
}

impl Peer {
    fn send(&self) -> Result<Sent> {
        let server = match self.server {
            Some(server) => sh(
                Role::Far,
                &format!("{server} >/dev/null 2>&1 </dev/null & echo $!"),
            )?,
            None => String::new(),
        };
        thread::sleep(Duration::from_millis(500));
        let before = counters()?;
        let ended = match self.server {
            None => test(&["tcp", "-n", &BYTES.to_string()], OVER_SSH)?,
            Some(_) => {
                let words: Vec<&str> = self.client.iter().map(String::as_str).collect();
                outcome(&mut near(self.name, &words))?
            }
        };
        let after = counters()?;
        if !server.is_empty() {
            // The one that serves a single client has ended.
            let _ = sh(Role::Far, &format!("kill {}", server.trim()));
        }
        ensure!(
            ended.code == Some(0),
            "{:?}: {} {}",
            ended.code,
            ended.out,
            ended.err
        );
        let [packets, bytes, retransmitted] = [0, 1, 2].map(|at| (after[at] - before[at]) as f64);
        eprintln!(
            "{}: {packets} packets, {bytes} bytes, {retransmitted} retransmitted",
            self.name
        );
        Ok(Sent {
            packets: packets - retransmitted,
            bytes: bytes - retransmitted * bytes / packets,
        })
    }
}

/// Packets and bytes that the interface sent, and segments that TCP retransmitted.
fn counters() -> Result<[u64; 3]> {
    let text = fs::read_to_string("/proc/net/snmp")?;
    let mut tcp = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let [names, values] = [tcp.next(), tcp.next()].map(Option::unwrap_or_default);
    let at = names.split(' ').position(|name| name == "RetransSegs");
    let value = at.and_then(|at| values.split(' ').nth(at)?.parse().ok());
    Ok([
        counted("tx_packets")?,
        counted("tx_bytes")?,
        value.context("no Tcp.RetransSegs")?,
    ])
}
