//! The intervals between the samples of an endpoint, and how much counters grew in them.

use bitcost_model::record::{EndpointRecord, Sample, ThreadKind, ThreadTime};

use crate::metrics::{Edges, is_of_first_part};

/// The intervals between an endpoint's samples.
pub(super) struct Series<'a> {
    steps: Vec<Edges<'a>>,
}

impl<'a> Series<'a> {
    /// The first intervals from the window's start on, as many as this.
    pub fn of(end: &'a EndpointRecord, count: usize) -> Series<'a> {
        let samples = &end.samples[..end.samples.len().min(count + 1)];
        Series {
            steps: Edges::steps(samples).collect(),
        }
    }

    pub fn count(&self) -> usize {
        self.steps.len()
    }

    /// Their total length, in seconds.
    pub fn seconds(&self) -> f64 {
        self.steps.iter().map(|step| step.seconds).sum()
    }

    /// The samples at the ends of the intervals.
    pub fn samples(&self) -> impl Iterator<Item = &'a Sample> + '_ {
        self.steps.iter().map(|step| step.last)
    }

    /// The first and the last sample.
    pub fn edges(&self) -> Option<(&'a Sample, &'a Sample)> {
        Some((self.steps.first()?.first, self.steps.last()?.last))
    }

    /// How much a counter grew in all intervals; absent where that cannot be determined.
    pub fn growth(&self, grew: impl Fn(&Edges<'a>) -> Option<f64>) -> Option<f64> {
        let each = self.steps.iter().map(grew);
        each.sum::<Option<f64>>().filter(|_| self.count() > 0)
    }

    /// How much a counter grew per second.
    pub fn per_second(&self, grew: impl Fn(&Edges<'a>) -> Option<f64>) -> Option<f64> {
        Some(self.growth(grew)? / self.seconds())
    }

    /// The mean over the samples that have a value; absent where fewer than half have.
    pub fn mean(&self, value: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.samples().filter_map(value).collect();
        mean(&values).filter(|_| 2 * values.len() >= self.count())
    }

    /// User data per second of each interval, in bit/s.
    pub fn rates(&self) -> Vec<f64> {
        let bytes = |step: &Edges| step.per_second(|counts| counts.bytes);
        let steps = self.steps.iter();
        steps.map(|step| 8.0 * bytes(step).unwrap_or(0.0)).collect()
    }

    /// Number of traffic threads of the run's first part.
    pub fn traffic_threads(&self) -> usize {
        let first = self.steps.first();
        let threads = first.into_iter().flat_map(|step| &step.first.threads);
        threads.filter(|one| is_of_first_part(one)).count()
    }

    /// Time of the run's own traffic threads on a CPU and waiting for one, as shares of wall time, mean over the threads.
    pub fn traffic(&self) -> Option<(f64, f64)> {
        let count = self.traffic_threads() as f64;
        let cpu = self.per_second(|step| Some(step.threads(is_of_first_part)?.0))?;
        let wait = self.per_second(|step| Some(step.threads(is_of_first_part)?.1))?;
        Some((cpu / count, wait / count))
    }

    /// Time on a CPU or waiting for one, as a share of wall time, of the busiest NAPI thread of the interface.
    pub fn napi_thread(&self) -> Option<f64> {
        let share = |number: usize| {
            let ns = |sample: &Sample| {
                let thread = napi_threads(sample).nth(number)?;
                Some(thread.run_ns + thread.wait_ns)
            };
            let ns =
                self.per_second(|step| Some(ns(step.last)?.checked_sub(ns(step.first)?)? as f64));
            Some(ns? / 1e9)
        };
        let all = 0..napi_threads(self.edges()?.0).count();
        all.filter_map(share).max_by(f64::total_cmp)
    }
}

fn napi_threads(sample: &Sample) -> impl Iterator<Item = &ThreadTime> {
    let threads = sample.threads.iter();
    threads.filter(|thread| thread.kind == ThreadKind::Napi)
}

/// The mean; absent where there are no values.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
