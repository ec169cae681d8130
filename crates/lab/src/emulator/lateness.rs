//! How long after their due times packets departed: a histogram whose differences are histograms.

use serde::{Deserialize, Serialize};

/// Buckets per doubling: a bound is up to 1/8 too high.
const STEPS: usize = 8;
/// Doublings of 1 µs, up to 67 s.
const DOUBLINGS: usize = 26;
const BUCKETS: usize = 1 + STEPS * DOUBLINGS;

/// Times in buckets. The first is for times under 1 µs; each doubling from there has eight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub struct Lateness {
    counts: Box<[u64; BUCKETS]>,
}

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness {
            counts: Box::new([0; BUCKETS]),
        }
    }
}

impl Lateness {
    /// Counts `times` packets that were this late.
    pub fn record(&mut self, late_ns: u64, times: u64) {
        self.counts[bucket(late_ns)] += times;
    }

    /// The number of packets.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The time that this share of the packets did not exceed, in ns, rounded up to a bucket's
    /// bound; absent if there were none. A share of 1 gives the longest.
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let total = self.total();
        let wanted = ((share * total as f64).ceil() as u64).clamp(1, total.max(1));
        let mut seen = 0;
        let at = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        at.map(upper_ns)
    }

    /// The packets that were counted after `before`.
    pub fn since(&self, before: &Lateness) -> Lateness {
        let mut left = self.clone();
        left.counts
            .iter_mut()
            .zip(before.counts.iter())
            .for_each(|(now, then)| *now = now.saturating_sub(*then));
        left
    }
}

fn bucket(late_ns: u64) -> usize {
    let us = late_ns / 1000;
    if us == 0 {
        return 0;
    }
    let doubling = us.ilog2() as usize;
    let base = 1000u128 << doubling;
    let step = ((u128::from(late_ns) - base) * STEPS as u128 / base) as usize;
    (1 + doubling * STEPS + step).min(BUCKETS - 1)
}

/// The exclusive upper bound of a bucket, in ns.
fn upper_ns(bucket: usize) -> u64 {
    let Some(above) = bucket.checked_sub(1) else {
        return 1000;
    };
    let base = 1000u64 << (above / STEPS);
    base + base * (above % STEPS + 1) as u64 / STEPS as u64
}

impl From<Lateness> for Vec<(u64, u64)> {
    fn from(lateness: Lateness) -> Vec<(u64, u64)> {
        let counts = lateness
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        counts.map(|(at, count)| (upper_ns(at), *count)).collect()
    }
}

impl From<Vec<(u64, u64)>> for Lateness {
    fn from(buckets: Vec<(u64, u64)>) -> Lateness {
        let mut lateness = Lateness::default();
        for (upper, count) in buckets {
            lateness.record(upper.saturating_sub(1), count);
        }
        lateness
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_bounds_of_buckets() {
        let mut late = Lateness::default();
        assert_eq!(late.quantile_ns(0.5), None);
        late.record(300, 90);
        late.record(50_000, 9);
        late.record(2_000_000, 1);
        assert_eq!(late.quantile_ns(0.5), Some(1000));
        let p95 = late.quantile_ns(0.95).unwrap();
        assert!((50_000..=56_250).contains(&p95), "{p95}");
        let most = late.quantile_ns(1.0).unwrap();
        assert!((2_000_000..=2_250_000).contains(&most), "{most}");
    }

    #[test]
    fn each_time_is_at_most_an_eighth_below_its_bound() {
        for late in (1000..3_000_000).step_by(997).chain([u64::from(u32::MAX)]) {
            let upper = upper_ns(bucket(late));
            assert!(
                late < upper && upper - late <= late / STEPS as u64 + 1,
                "{late} {upper}"
            );
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn differences_and_json_keep_the_counts() {
        let mut before = Lateness::default();
        before.record(5_000, 3);
        let mut after = before.clone();
        after.record(70_000, 2);
        let window = after.since(&before);
        assert_eq!(window.total(), 2);
        let text = serde_json::to_string(&window).unwrap();
        assert_eq!(serde_json::from_str::<Lateness>(&text).unwrap(), window);
    }
}
