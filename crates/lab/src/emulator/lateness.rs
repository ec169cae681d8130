//! How long after their due times packets departed: a histogram.

/// Buckets per doubling: a bound is up to 1/8 too high.
const STEPS: usize = 8;
/// Doublings of 1 µs, up to 67 s.
const DOUBLINGS: usize = 26;
const BUCKETS: usize = 1 + STEPS * DOUBLINGS;

/// Times in buckets. The first is for times under 1 µs; each doubling from there has eight.
#[derive(Clone, Debug)]
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
    pub fn record(&mut self, late_ns: u64) {
        self.counts[bucket(late_ns)] += 1;
    }

    /// The bound of each bucket that has packets, in ns, with their number.
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        let counts = self.counts.iter().enumerate();
        let counts = counts.filter(|(_, count)| **count > 0);
        counts.map(|(at, count)| (upper_ns(at), *count)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
