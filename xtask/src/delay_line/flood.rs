//! More packets than a forwarder can carry: the kernel cuts super-packets for the sender, so that it needs less than a CPU.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use delay::OFFLOAD_HEADER_BYTES;
use sys::packet::Outlet;
use testkit::gap::DEVICE;

use super::path::Path;

/// How long it lasts before it is measured, and while it is.
const BEFORE: Duration = Duration::from_millis(300);
const MEASURED: Duration = Duration::from_millis(800);

/// TCP payload of each frame, its headers (Ethernet, IPv4, TCP), and frames of a super-packet.
const PAYLOAD_BYTES: usize = 1460;
const HEADER_BYTES: usize = 54;
const FRAMES: usize = 44;

/// What a forwarder handed on.
pub struct Flood {
    pub packets_per_s: f64,
    /// CPU time of its thread.
    pub cpu_pct: f64,
    /// Frames that came faster than it took them.
    pub missed: u64,
}

impl fmt::Display for Flood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Flood { packets_per_s, cpu_pct, missed } = self;
        write!(f, "{packets_per_s:.0} with {cpu_pct:.0} % of a CPU, {missed} missed")
    }
}

/// Floods a path from its first host. The far host drops the frames at once: they are for nobody.
///
/// # Errors
/// The kernel's.
pub fn measure(path: &Path) -> Result<Flood> {
    path.turn_offloads_off()?;
    let packet = super_packet();
    let mut outlet = path.gap.hosts[0].run(|| -> Result<Outlet> {
        let index = netlink::Rtnl::open()?.link(DEVICE)?.index;
        Ok(Outlet::open(index)?)
    })?;
    let stop = AtomicBool::new(false);
    Ok(thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = outlet.send(std::iter::once(packet.as_slice()));
            }
        });
        thread::sleep(BEFORE);
        let (before, began) = ((path.report)(), Instant::now());
        thread::sleep(MEASURED);
        let (after, elapsed) = ((path.report)(), began.elapsed().as_secs_f64());
        stop.store(true, Ordering::Relaxed);
        let way = after.directions[0].since(&before.directions[0]);
        Flood {
            packets_per_s: way.departed.packets as f64 / elapsed,
            cpu_pct: (after.cpu_ns - before.cpu_ns) as f64 / elapsed / 1e7,
            missed: way.missed_packets,
        }
    }))
}

/// A super-packet of TCP over IPv4 that the kernel cuts into frames of 1514 bytes (`struct virtio_net_hdr`).
fn super_packet() -> Vec<u8> {
    let mut packet = vec![0; OFFLOAD_HEADER_BYTES + HEADER_BYTES + FRAMES * PAYLOAD_BYTES];
    // A checksum to be made, TCP over IPv4.
    packet[..2].copy_from_slice(&[1, 1]);
    // Length of the headers, payload of each frame, where the sum begins, and where it goes from there.
    for (at, word) in [(2, HEADER_BYTES), (4, PAYLOAD_BYTES), (6, 34), (8, 16)] {
        packet[at..at + 2].copy_from_slice(&(word as u16).to_ne_bytes());
    }
    let frame = &mut packet[OFFLOAD_HEADER_BYTES..];
    let total = (frame.len() - 14) as u16;
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 8, 0]);
    frame[14] = 0x45;
    frame[16..18].copy_from_slice(&total.to_be_bytes());
    // Time to live, TCP; the addresses of the hosts.
    frame[22..24].copy_from_slice(&[64, 6]);
    frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    // A TCP header of 20 bytes with ACK.
    frame[46..48].copy_from_slice(&[5 << 4, 0x10]);
    packet
}
