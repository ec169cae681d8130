//! The intervals between the samples of an endpoint, and how much counters grew in them.

use bitcost_model::record::{EndpointRecord, Sample, ThreadKind, ThreadTime};

/// The intervals between an endpoint's samples.
pub(super) struct Series<'a> {
    pairs: Vec<(&'a Sample, &'a Sample)>,
}

impl<'a> Series<'a> {
    /// The first intervals from the window's start on, as many as this.
    pub fn of(end: &'a EndpointRecord, count: usize) -> Series<'a> {
        let pairs = end.samples.iter().zip(end.samples.iter().skip(1));
        let pairs = pairs.take(count);
        Series {
            pairs: pairs.filter(|(a, b)| b.at_ns > a.at_ns).collect(),
        }
    }

    pub fn count(&self) -> usize {
        self.pairs.len()
    }

    /// Their total length, in seconds.
    pub fn seconds(&self) -> f64 {
        let lengths = self.pairs.iter().map(|(a, b)| b.at_ns - a.at_ns);
        lengths.sum::<u64>() as f64 / 1e9
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
        let each = self.pairs.iter().map(|(before, after)| grew(before, after));
        each.sum::<Option<f64>>().filter(|_| self.count() > 0)
    }

    /// How much a counter grew per second.
    pub fn per_second(&self, grew: impl Fn(&Sample, &Sample) -> Option<f64>) -> Option<f64> {
        Some(self.growth(grew)? / self.seconds())
    }

    /// The mean over the samples that have a value; absent where fewer than half have.
    pub fn mean(&self, value: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.samples().filter_map(value).collect();
        mean(&values).filter(|_| 2 * values.len() >= self.count())
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
            threads.iter().filter(|one| is_traffic(one)).count()
        })
    }

    /// Time of the run's own traffic threads on a CPU and waiting for one, as shares of wall time, mean over the threads.
    pub fn traffic(&self) -> Option<(f64, f64)> {
        let count = self.traffic_threads();
        let (cpu, wait) = self.times(|sample| {
            let threads = sample.threads.iter().filter(|thread| is_traffic(thread));
            let (known, run, wait) = threads.fold((0, 0, 0), |(known, run, wait), thread| {
                (known + 1, run + thread.run_ns, wait + thread.wait_ns)
            });
            (known == count && known > 0).then_some((run, wait))
        })?;
        Some((cpu / count as f64, wait / count as f64))
    }

    /// Time on a CPU or waiting for one, as a share of wall time, of the busiest of the threads that handle what the
    /// interface received.
    pub fn interface_thread(&self) -> Option<f64> {
        fn of(sample: &Sample) -> impl Iterator<Item = &ThreadTime> {
            let threads = sample.threads.iter();
            threads.filter(|thread| thread.kind == ThreadKind::Napi)
        }
        let times = |number: usize| {
            self.times(|sample| {
                let thread = of(sample).nth(number)?;
                Some((thread.run_ns, thread.wait_ns))
            })
        };
        let all = (0..of(self.edges()?.0).count()).filter_map(times);
        all.map(|(cpu, wait)| cpu + wait).max_by(f64::total_cmp)
    }

    /// Shares of wall time, from the ns that threads had run and waited at a sample.
    fn times(&self, read: impl Fn(&Sample) -> Option<(u64, u64)>) -> Option<(f64, f64)> {
        let share = |pick: fn((u64, u64)) -> u64| {
            let ns = self.per_second(|before, after| {
                let (before, after) = (pick(read(before)?), pick(read(after)?));
                Some(after.checked_sub(before)? as f64)
            });
            Some(ns? / 1e9)
        };
        Some((share(|ns| ns.0)?, share(|ns| ns.1)?))
    }
}

fn is_traffic(thread: &ThreadTime) -> bool {
    thread.kind == ThreadKind::Traffic && thread.part == 0
}

/// The mean; absent where there are no values.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
