//! The host's constants: what copying a KiB and a packet cost here. They are measured in a tenth of a second, while
//! nothing else of bitcost runs on the machine.

use std::hint::black_box;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use bitcost_model::constants::HostConstants;
use bitcost_sys::clock::monotonic_ns;

use crate::cores::pinned;

/// The time for which each is measured, and the most that a packet may take.
const LENGTH: Duration = Duration::from_millis(40);
const PATIENCE: Duration = Duration::from_millis(20);

/// Bytes of a cached buffer: two of them fit into the caches of one core.
const CACHED: usize = 16 << 10;

/// Copies of a cached buffer, or packets, in one sample.
const BATCH: usize = 16;

/// What separates the places of source and target within a page, in bytes. Where these places are
/// nearly equal, some CPUs copy at a third of their speed (glibc bug 30994).
const APART: usize = 2048;

const SAMPLES_LEAST: usize = 20;

/// Measures on this CPU, or wherever the caller may run. What cannot be measured is absent. No other program should run
/// meanwhile.
pub fn measure(cpu: Option<u32>) -> HostConstants {
    let measured = || {
        if let Some(cpu) = cpu {
            pinned(cpu)?;
        }
        Some(HostConstants {
            copy_kib_ns: copy_kib_ns(),
            packet_ns: packet_ns().ok().flatten(),
        })
    };
    // A separate thread keeps the affinity of the caller as it is.
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, measured);
        thread.ok()?.join().ok()?
    })
    .unwrap_or_default()
}

/// Copying a KiB by memcpy from one cached buffer to another.
fn copy_kib_ns() -> Option<f64> {
    let mut buffer = vec![1u8; 2 * CACHED + APART];
    let (from, to) = buffer.split_at_mut(CACHED + APART);
    let from = &from[..CACHED];
    let of_buffer = sampled(|| {
        to.copy_from_slice(black_box(from));
        black_box(&mut *to);
        Ok(())
    });
    Some(of_buffer.ok()?? * 1024.0 / CACHED as f64)
}

/// Sending a datagram of one byte through this host's own stack, and receiving it.
fn packet_ns() -> io::Result<Option<f64>> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.connect(socket.local_addr()?)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let mut byte = [0];
    sampled(|| {
        socket.send(&byte)?;
        socket.recv(&mut byte).map(drop)
    })
}

/// The time of one call, the median of batches; absent where too few of them were made.
fn sampled(mut call: impl FnMut() -> io::Result<()>) -> io::Result<Option<f64>> {
    let mut samples = Vec::with_capacity(1 << 14);
    let mut now_ns = monotonic_ns();
    let end_ns = now_ns + LENGTH.as_nanos() as u64;
    while now_ns < end_ns {
        let start_ns = now_ns;
        (0..BATCH).try_for_each(|_| call())?;
        now_ns = monotonic_ns();
        samples.push((now_ns - start_ns) as f64 / BATCH as f64);
    }
    samples.sort_by(f64::total_cmp);
    Ok((samples.len() >= SAMPLES_LEAST).then(|| samples[samples.len() / 2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_cannot_be_used_has_none() {
        assert_eq!(measure(Some(4000)), HostConstants::default());
    }
}
