//! Sends more packets than a forwarder can carry: the kernel segments super-packets for the sender,
//! so that it needs less than one CPU.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use bitcost_lab::emulator::OFFLOAD_HEADER_BYTES;
use bitcost_sys::packet::BatchSender;
use bitcost_testkit::gap::DEVICE;

use super::path::Path;

/// Duration of the load before the measurement, and during it.
const BEFORE: Duration = Duration::from_millis(300);
const MEASURED: Duration = Duration::from_millis(800);

/// TCP payload of each frame, its headers (Ethernet, IPv4, TCP), and frames of a super-packet.
const PAYLOAD_BYTES: usize = 1460;
const HEADER_BYTES: usize = 54;
const FRAMES: usize = 44;

/// The result for a saturated forwarder.
pub struct Saturated {
    pub packets_per_s: f64,
    /// CPU time of its thread.
    pub cpu_pct: f64,
    /// Frames that arrived faster than it received them.
    pub missed: u64,
}

impl fmt::Display for Saturated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Saturated {
            packets_per_s,
            cpu_pct,
            missed,
        } = self;
        write!(
            f,
            "{packets_per_s:.0} with {cpu_pct:.0} % of a CPU, {missed} missed"
        )
    }
}

/// Saturates a path from its first host. The far host drops the frames at once, because no socket
/// receives them.
pub fn measure(path: &Path) -> Result<Saturated> {
    path.turn_offloads_off()?;
    let packet = super_packet();
    let mut batch_sender = path.gap.hosts[0].run(|| -> Result<BatchSender> {
        let index = bitcost_sys::netlink::Rtnl::open()?.link(DEVICE)?.index;
        Ok(BatchSender::open(index)?)
    })?;
    let stop = AtomicBool::new(false);
    Ok(thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = batch_sender.send(std::iter::once(packet.as_slice()));
            }
        });
        thread::sleep(BEFORE);
        let (before, began) = ((path.report)(), Instant::now());
        thread::sleep(MEASURED);
        let (after, elapsed) = ((path.report)(), began.elapsed().as_secs_f64());
        stop.store(true, Ordering::Relaxed);
        let way = after.directions[0].since(&before.directions[0]);
        Saturated {
            packets_per_s: way.departed.packets as f64 / elapsed,
            cpu_pct: (after.cpu_ns - before.cpu_ns) as f64 / elapsed / 1e7,
            missed: way.missed_packets,
        }
    }))
}

/// A super-packet of TCP over IPv4 that the kernel cuts into frames of 1514 bytes (`struct
/// virtio_net_hdr`).
fn super_packet() -> Vec<u8> {
    let mut packet = vec![0; OFFLOAD_HEADER_BYTES + HEADER_BYTES + FRAMES * PAYLOAD_BYTES];
    // The kernel makes the checksum; the packet is TCP over IPv4.
    packet[..2].copy_from_slice(&[1, 1]);
    // Length of the headers, payload of each frame, start of the checksum's data, and offset of the
    // checksum from there.
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
