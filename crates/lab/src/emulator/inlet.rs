//! The packets that a device receives, in the order of arrival, each with its time on the monotonic
//! clock.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use bitcost_sys::clock;
use bitcost_sys::packet::{Lengths, Ring};

/// Memory of each of the two rings of a device.
const RING_BYTES: usize = 8 << 20;

/// Bytes of an Ethernet header with a VLAN tag.
const HEADER_BYTES: u32 = 18;

/// Above this MTU segments are as long as super-packets, and one ring is enough.
const TWO_RINGS_MTU_BYTES: u32 = 16_000;

/// A packet with a timestamp further in the future than this was stamped before the wall clock was
/// set back, in ns.
const STEP_NS: u64 = 100_000_000;

/// A time on both clocks: the kernel timestamps packets by the wall clock.
#[derive(Clone, Copy)]
pub struct Moment {
    real_ns: u64,
    /// On the monotonic clock.
    pub monotonic_ns: u64,
}

impl Moment {
    /// Now.
    pub fn now() -> Moment {
        Moment {
            real_ns: clock::realtime_ns(),
            monotonic_ns: clock::monotonic_ns(),
        }
    }
}

/// The receiving side of a device.
pub struct Inlet {
    segments: Ring,
    supers: Option<Ring>,
    before_ns: u64,
}

/// Which ring the next packet is in.
#[derive(Clone, Copy)]
enum From {
    Segments,
    Supers,
}

impl Inlet {
    /// Opens a device of the calling thread's network namespace.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open(device_index: u32, mtu_bytes: u32) -> io::Result<Inlet> {
        let before_ns = clock::monotonic_ns();
        if mtu_bytes > TWO_RINGS_MTU_BYTES {
            let segments = Ring::open(device_index, Lengths::Any, 2 * RING_BYTES)?;
            return Ok(Inlet {
                segments,
                supers: None,
                before_ns,
            });
        }
        let longest = mtu_bytes + HEADER_BYTES;
        let segments = Ring::open(device_index, Lengths::UpTo(longest), RING_BYTES)?;
        let supers = Ring::open(device_index, Lengths::Above(longest), RING_BYTES)?;
        Ok(Inlet {
            segments,
            supers: Some(supers),
            before_ns,
        })
    }

    /// The files to wait for.
    pub fn files(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [Some(&self.segments), self.supers.as_ref()]
            .into_iter()
            .flatten()
            .map(Ring::as_fd)
    }

    /// Passes every packet that arrived until `now` to `take`, with its time, in order.
    ///
    /// No packet that arrived earlier on the same CPU than one of these is missing: its ring had it
    /// before `now`.
    pub fn drain(&mut self, now: Moment, mut take: impl FnMut(u64, &[u8])) {
        while let Some((from, at_ns)) = self.next(now) {
            let ring = match from {
                From::Segments => Some(&mut self.segments),
                From::Supers => self.supers.as_mut(),
            };
            ring.and_then(|ring| ring.take(|packet| take(at_ns, packet)));
        }
        self.before_ns = now.monotonic_ns;
    }

    /// The number of packets that arrived faster than they were read.
    ///
    /// # Errors
    /// The kernel's.
    pub fn missed(&mut self) -> io::Result<u64> {
        let supers = self.supers.as_mut().map_or(Ok(0), Ring::dropped)?;
        Ok(self.segments.dropped()? + supers)
    }

    fn next(&mut self, now: Moment) -> Option<(From, u64)> {
        let stamp = |ring: &mut Ring| {
            let at_ns = ring.next_at_ns()?;
            (at_ns <= now.real_ns || at_ns > now.real_ns + STEP_NS).then_some(at_ns)
        };
        let segments = stamp(&mut self.segments).map(|at_ns| (From::Segments, at_ns));
        let supers = self
            .supers
            .as_mut()
            .and_then(stamp)
            .map(|at_ns| (From::Supers, at_ns));
        let first = match (segments, supers) {
            (Some(a), Some(b)) => Some(if a.1 <= b.1 { a } else { b }),
            (one, other) => one.or(other),
        };
        let (from, at_ns) = first?;
        let ago_ns = now.real_ns.saturating_sub(at_ns);
        // It arrived since the last poll, whatever happened to the wall clock.
        Some((
            from,
            now.monotonic_ns.saturating_sub(ago_ns).max(self.before_ns),
        ))
    }
}
