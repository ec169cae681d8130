//! Recording the duration of transactions, without allocating while traffic runs.

use bitcost_model::conditions::Conditions;
use bitcost_model::record::Latency;
use hdrhistogram::Histogram;

/// Longest time with a separate bucket, in ns; longer ones are in the last bucket.
const LONGEST_NS: u64 = 60_000_000_000;

const SIGNIFICANT_DIGITS: u8 = 3;

pub struct Recorder {
    histogram: Histogram<u64>,
    sum_ns: u64,
    max_ns: u64,
}

impl Recorder {
    pub fn of(conditions: &Conditions) -> Option<Recorder> {
        conditions.latency.then(Recorder::new).flatten()
    }

    /// An empty recorder with all of its memory allocated; absent where that fails.
    pub fn new() -> Option<Recorder> {
        let mut histogram = Histogram::new_with_bounds(1, LONGEST_NS, SIGNIFICANT_DIGITS).ok()?;
        histogram.auto(false);
        // Touches every page, so that recording causes no page fault.
        histogram.reset();
        Some(Recorder {
            histogram,
            sum_ns: 0,
            max_ns: 0,
        })
    }

    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.histogram.saturating_record(ns);
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    pub fn latency(&self) -> Latency {
        let bucket = |value: hdrhistogram::iterators::IterationValue<u64>| {
            (
                self.histogram.highest_equivalent(value.value_iterated_to()),
                value.count_at_value(),
            )
        };
        Latency {
            sum_ns: self.sum_ns,
            max_ns: self.max_ns,
            buckets: self.histogram.iter_recorded().map(bucket).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_precise_to_a_thousandth() {
        let mut recorder = Recorder::new().expect("bounds that are possible");
        for ns in [1, 1000, 1000, 123_456_789, 2 * LONGEST_NS] {
            recorder.record(ns);
        }
        let latency = recorder.latency();
        assert_eq!(latency.count(), 5);
        assert_eq!(latency.max_ns, 2 * LONGEST_NS);
        assert_eq!(latency.sum_ns, 1 + 2000 + 123_456_789 + 2 * LONGEST_NS);
        assert_eq!(latency.buckets[..2], [(1, 1), (1000, 2)]);
        let (value, count) = latency.buckets[2];
        assert!(
            (123_456_789..123_456_789 + 123_457).contains(&value) && count == 1,
            "{value}"
        );
        assert!(latency.buckets[3].0 >= LONGEST_NS);
    }
}
