//! Variation of the one-way delay of datagrams. Each carries the time at which it was sent, after
//! its sequence number.
//!
//! With two clocks the delay itself is unknown: only its differences are recorded, in which the
//! offset of the clocks cancels.

use bitcost_model::conditions::STAMPED_BYTES;
use bitcost_model::record::DelayVariation;
use bitcost_sys::clock::realtime_ns;

use crate::control::Phase;
use crate::latency::Recorder;
use crate::sequence::{HEADER_BYTES, Tag};

const STAMP: std::ops::Range<usize> = HEADER_BYTES..STAMPED_BYTES as usize;

/// Writes the present time into a message that is long enough.
#[inline]
pub fn stamp(message: &mut [u8]) {
    if let Some(place) = message.get_mut(STAMP) {
        place.copy_from_slice(&realtime_ns().to_be_bytes());
    }
}

pub struct DelayRecorder {
    tag: Tag,
    differences: Recorder,
    jitter_ns: f64,
    last: Option<(u64, i128)>,
}

impl DelayRecorder {
    /// A recorder for datagrams with this tag; absent where its memory cannot be allocated.
    pub fn new(tag: Tag) -> Option<DelayRecorder> {
        Some(DelayRecorder {
            tag,
            differences: Recorder::new()?,
            jitter_ns: 0.0,
            last: None,
        })
    }

    /// Records a datagram that was received at `at_ns` of the receiver's clock. Only datagrams of
    /// the window count, and a last, shorter message has no time.
    #[inline]
    pub fn note(&mut self, datagram: &[u8], at_ns: u64) {
        let Some((number, sent_ns)) = self.sent(datagram) else {
            return;
        };
        let delay_ns = i128::from(at_ns) - i128::from(sent_ns);
        if let Some((last_number, last_delay_ns)) = self.last {
            let difference_ns = (delay_ns - last_delay_ns).unsigned_abs();
            // RFC 3550's jitter uses the order of arrival; RFC 3393's differences use consecutive
            // numbers.
            self.jitter_ns += (difference_ns as f64 - self.jitter_ns) / 16.0;
            if number == last_number + 1 {
                self.differences
                    .record(u64::try_from(difference_ns).unwrap_or(u64::MAX));
            }
        }
        self.last = Some((number, delay_ns));
    }

    /// The number of a datagram, and when it was sent.
    #[inline]
    fn sent(&self, datagram: &[u8]) -> Option<(u64, u64)> {
        if self.tag.is_iperf3() {
            let header = self.tag.of_iperf3(datagram)?;
            return Some((header.number, header.sent_ns));
        }
        let (Phase::Measured, number) = self.tag.parse(datagram)? else {
            return None;
        };
        let sent_ns = datagram.get(STAMP)?.first_chunk()?;
        Some((number, u64::from_be_bytes(*sent_ns)))
    }

    pub fn variation(&self) -> DelayVariation {
        DelayVariation {
            differences: self.differences.latency(),
            jitter_ns: self.jitter_ns.round() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn tag() -> Tag {
        Tag::of(&[3; 16])
    }

    fn message(phase: Phase, number: u64, sent_ns: u64) -> [u8; 24] {
        let mut message = [0; 24];
        message[..HEADER_BYTES].copy_from_slice(&tag().header(phase, number));
        message[STAMP].copy_from_slice(&sent_ns.to_be_bytes());
        message
    }

    #[test]
    fn delay_differences_are_of_consecutive_datagrams() {
        let mut delays = DelayRecorder::new(tag()).expect("memory");
        // The receiver's clock is far ahead; delays in addition: 10, 14, 12, 20 (after a gap).
        let clock_ns = 1_000_000;
        delays.note(&message(Phase::Warmup, 0, 0), clock_ns + 99);
        for (number, delay_ns) in [(1, 10), (2, 14), (3, 12), (5, 20)] {
            delays.note(
                &message(Phase::Measured, number, 100 * number),
                clock_ns + 100 * number + delay_ns,
            );
        }
        delays.note(&tag().header(Phase::Measured, 6), clock_ns);
        let found = delays.variation();
        assert_eq!(
            (
                found.differences.count(),
                found.differences.sum_ns,
                found.differences.max_ns
            ),
            (2, 6, 4)
        );
        let jitter = [4.0, 2.0, 8.0]
            .into_iter()
            .fold(0.0, |jitter: f64, d: f64| jitter + (d - jitter) / 16.0);
        assert_eq!(found.jitter_ns, jitter.round() as u64);
    }
}
