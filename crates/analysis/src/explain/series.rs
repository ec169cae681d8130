//! The intervals between the samples of an endpoint, and how much counters grew in some of them.

use bitcost_model::record::{EndpointRecord, Sample, ThreadKind, ThreadTime};

/// Some of the intervals between an endpoint's samples.
#[derive(Clone, Debug)]
pub struct Series<'a> {
    pairs: Vec<(&'a Sample, &'a Sample)>,
}

/// Shares of wall time of threads of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// On a CPU.
    pub cpu: f64,
    /// Runnable, waiting for a CPU.
    pub wait: f64,
}

impl<'a> Series<'a> {
    /// The intervals with these numbers, counted from the window's start.
    pub fn of(end: &'a EndpointRecord, picked: &[usize]) -> Series<'a> {
        let pair = |index: &usize| Some((end.samples.get(*index)?, end.samples.get(index + 1)?));
        let pairs = picked
            .iter()
            .filter_map(pair)
            .filter(|(before, after)| after.at_ns > before.at_ns);
        Series {
            pairs: pairs.collect(),
        }
    }

    /// How many intervals there are.
    pub fn count(&self) -> usize {
        self.pairs.len()
    }

    /// Their total length, in seconds.
    pub fn seconds(&self) -> f64 {
        self.pairs
            .iter()
            .map(|(before, after)| (after.at_ns - before.at_ns) as f64 / 1e9)
            .sum()
    }

    /// The samples at the ends of the intervals.
    pub fn samples(&self) -> impl Iterator<Item = &'a Sample> + '_ {
        self.pairs.iter().map(|(_, after)| *after)
    }

    /// The first and the last sample.
    pub fn edges(&self) -> Option<(&'a Sample, &'a Sample)> {
        Some((self.pairs.first()?.0, self.pairs.last()?.1))
    }

    /// How much a counter grew in all intervals; absent where that cannot be determined.
    pub fn growth(&self, grew: impl Fn(&Sample, &Sample) -> Option<f64>) -> Option<f64> {
        self.pairs
            .iter()
            .map(|(before, after)| grew(before, after))
            .sum::<Option<f64>>()
            .filter(|_| self.count() > 0)
    }

    /// How much a counter grew per second.
    pub fn per_second(&self, grew: impl Fn(&Sample, &Sample) -> Option<f64>) -> Option<f64> {
        Some(self.growth(grew)? / self.seconds())
    }

    /// User data per second of each interval, in bit/s.
    pub fn rates(&self) -> Vec<f64> {
        let rate = |(before, after): &(&Sample, &Sample)| {
            let bytes = after.counts.bytes.saturating_sub(before.counts.bytes) as f64;
            8e9 * bytes / (after.at_ns - before.at_ns) as f64
        };
        self.pairs.iter().map(rate).collect()
    }

    /// Number of traffic threads of the run's first part.
    pub fn traffic_threads(&self) -> usize {
        let threads = self.pairs.first().map(|(sample, _)| &sample.threads);
        threads.map_or(0, |threads| {
            threads.iter().filter(|thread| is_traffic(thread)).count()
        })
    }

    /// Time of the run's own traffic threads, as a share of wall time, mean over the threads.
    pub fn traffic(&self) -> Option<Times> {
        let count = self.traffic_threads();
        let all = self.times(|sample| {
            let threads = sample.threads.iter().filter(|thread| is_traffic(thread));
            let (known, run, wait) = threads.fold((0, 0, 0), |(known, run, wait), thread| {
                (known + 1, run + thread.run_ns, wait + thread.wait_ns)
            });
            (known == count && known > 0).then_some((run, wait))
        })?;
        Some(Times {
            cpu: all.cpu / count as f64,
            wait: all.wait / count as f64,
        })
    }

    /// Time of the busiest of the threads that handle what the interface received.
    pub fn napi(&self) -> Option<Times> {
        fn of(sample: &Sample) -> impl Iterator<Item = &ThreadTime> {
            let threads = sample.threads.iter();
            threads.filter(|thread| thread.kind == ThreadKind::Napi)
        }
        let one = |number: usize| {
            self.times(|sample| {
                let thread = of(sample).nth(number)?;
                Some((thread.run_ns, thread.wait_ns))
            })
        };
        (0..of(self.pairs.first()?.0).count())
            .filter_map(one)
            .max_by(|a, b| (a.cpu + a.wait).total_cmp(&(b.cpu + b.wait)))
    }

    /// Shares of wall time, from the ns that threads had run and waited at a sample.
    fn times(&self, read: impl Fn(&Sample) -> Option<(u64, u64)>) -> Option<Times> {
        let share = |pick: fn((u64, u64)) -> u64| {
            let ns = self.per_second(|before, after| {
                let (before, after) = (pick(read(before)?), pick(read(after)?));
                Some(after.checked_sub(before)? as f64)
            });
            Some(ns? / 1e9)
        };
        Some(Times {
            cpu: share(|ns| ns.0)?,
            wait: share(|ns| ns.1)?,
        })
    }
}

fn is_traffic(thread: &ThreadTime) -> bool {
    thread.kind == ThreadKind::Traffic && thread.part == 0
}

/// Mean and coefficient of variation; absent where there are no values or the mean is 0.
pub fn mean_and_variation(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / count;
    (mean > 0.0).then(|| (mean, variance.sqrt() / mean))
}
