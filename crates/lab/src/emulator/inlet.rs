//! The packets that a device receives, in the order of arrival, each with its time on the monotonic
//! clock.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use bitcost_model::shaping::Shaping;
use bitcost_sys::clock;
use bitcost_sys::files::available_memory_bytes;
use bitcost_sys::packet::{Lengths, Ring};

/// The least user data that a ring has room for: twice what the kernel lets one TCP connection send
/// at once by default (`net.ipv4.tcp_wmem`, 4 MiB).
const BURST_BYTES: u64 = 8 << 20;

/// The shortest super-packet that a ring is made for. TCP makes them of the data of 1 ms
/// (`tcp_tso_autosize`), so those of a flow of 131 Mbit/s or more are longer, and a slower one has
/// no large bursts.
const SUPER_PACKET_BYTES: u64 = 16 << 10;

/// The memory that remains for other uses: a ring takes at most one in this many bytes that are
/// available, divided by the number of links, so that those of a lab, four for each link, take at most a quarter.
const OF_AVAILABLE: u64 = 16;

/// Bytes of an Ethernet header with a VLAN tag.
const HEADER_BYTES: u32 = 18;

/// A packet with a timestamp further in the future than this was stamped before the wall clock was
/// set back, in ns.
const STEP_NS: u64 = 100_000_000;

/// Bytes that a direction holds at its rate: the product of rate and delay; 0 without a rate.
pub fn rate_by_delay_bytes(shaping: &Shaping) -> u64 {
    let held_us = u128::from(shaping.delay_us) + u128::from(shaping.jitter_us);
    let bits = u128::from(shaping.rate_bps.unwrap_or(0)) * held_us / 1_000_000;
    u64::try_from(bits / 8).unwrap_or(u64::MAX)
}

/// A time on both clocks: the kernel timestamps packets by the wall clock.
#[derive(Clone, Copy)]
pub struct Moment {
    real_ns: u64,
    /// On the monotonic clock.
    pub monotonic_ns: u64,
}

impl Moment {
    pub fn now() -> Moment {
        Moment {
            real_ns: clock::realtime_ns(),
            monotonic_ns: clock::monotonic_ns(),
        }
    }
}

pub struct Inlet {
    /// The ring of segments, and that of super-packets.
    rings: [Ring; 2],
    before_ns: u64,
    /// The rings have less room than bursts of this many bytes need.
    is_short: bool,
}

impl Inlet {
    /// Opens a device of the calling thread's network namespace, with room for bursts of the product
    /// of the direction's rate and delay, and [`BURST_BYTES`] more. `links` share the memory.
    pub fn open(
        device_index: u32,
        mtu_bytes: u32,
        rate_by_delay: u64,
        links: usize,
    ) -> io::Result<Inlet> {
        let before_ns = clock::monotonic_ns();
        let data = rate_by_delay.saturating_add(BURST_BYTES);
        let mut is_short = false;
        let mut ring = |lengths: Lengths, each: u64| {
            let wanted = (data / each).saturating_mul(Ring::slot_bytes(lengths));
            let of_available = OF_AVAILABLE * links.max(1) as u64;
            let most = available_memory_bytes().map_or(u64::MAX, |bytes| bytes / of_available);
            is_short |= wanted > most;
            Ring::open(device_index, lengths, wanted.min(most) as usize)
        };
        let longest = mtu_bytes + HEADER_BYTES;
        let segments = ring(Lengths::UpTo(longest), u64::from(mtu_bytes))?;
        let supers = ring(Lengths::Above(longest), SUPER_PACKET_BYTES)?;
        Ok(Inlet {
            rings: [segments, supers],
            before_ns,
            is_short,
        })
    }

    /// Whether the machine's memory does not allow rings of the size that is wanted.
    pub fn is_short(&self) -> bool {
        self.is_short
    }

    pub fn files(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.rings.iter().map(Ring::as_fd)
    }

    /// Passes every packet that arrived until `now` to `take`, with its time, in order.
    ///
    /// No packet that arrived earlier on the same CPU than one of these is missing: its ring had it
    /// before `now`.
    pub fn drain(&mut self, now: Moment, mut take: impl FnMut(u64, &[u8])) {
        while let Some((place, at_ns)) = self.next(now) {
            self.rings[place].take(|packet| take(at_ns, packet));
        }
        self.before_ns = now.monotonic_ns;
    }

    /// The number of packets that arrived faster than they were read.
    pub fn missed(&mut self) -> io::Result<u64> {
        self.rings.iter_mut().map(Ring::dropped).sum()
    }

    /// The place of the ring with the packet that arrived first, and when that was.
    fn next(&mut self, now: Moment) -> Option<(usize, u64)> {
        let rings = self.rings.iter_mut().enumerate();
        let stamps = rings.filter_map(|(place, ring)| {
            let at_ns = ring.next_at_ns()?;
            let is_due = at_ns <= now.real_ns || at_ns > now.real_ns + STEP_NS;
            is_due.then_some((at_ns, place))
        });
        let (at_ns, place) = stamps.min()?;
        let ago_ns = now.real_ns.saturating_sub(at_ns);
        // It arrived since the last poll, whatever happened to the wall clock.
        let at_ns = now.monotonic_ns.saturating_sub(ago_ns).max(self.before_ns);
        Some((place, at_ns))
    }
}
