//! The samples of an endpoint, and how much counters grew between them.

use bitcost_model::counters::SocketMemory;
use bitcost_model::record::{EndpointRecord, Sample, TcpInfo};

use crate::metrics::{Edges, is_of_first_part};

/// An endpoint's samples from the window's start on.
pub(super) struct Series<'a> {
    samples: &'a [Sample],
    edges: Option<Edges<'a>>,
}

impl<'a> Series<'a> {
    /// Those of the first intervals, as many as this.
    pub fn of(end: &'a EndpointRecord, count: usize) -> Series<'a> {
        let samples = &end.samples[..end.samples.len().min(count + 1)];
        let edges = Edges::of(samples);
        Series { samples, edges }
    }

    /// The number of intervals.
    pub fn count(&self) -> usize {
        self.samples.len().saturating_sub(1)
    }

    /// Their total length, in seconds.
    pub fn seconds(&self) -> f64 {
        self.edges.as_ref().map_or(0.0, |edges| edges.seconds)
    }

    /// The samples at the ends of the intervals.
    pub fn samples(&self) -> impl Iterator<Item = &'a Sample> + use<'a> {
        self.samples.iter().skip(1)
    }

    /// The first and the last sample.
    pub fn edges(&self) -> Option<&Edges<'a>> {
        self.edges.as_ref()
    }

    /// How much a counter grew, as in [`Edges::growth`].
    pub fn growth(&self, counter: impl Fn(&Sample) -> Option<u64>) -> Option<f64> {
        self.edges()?.growth(counter)
    }

    /// How much a counter grew per second.
    pub fn per_second(&self, counter: impl Fn(&Sample) -> Option<u64>) -> Option<f64> {
        Some(self.growth(counter)? / self.seconds())
    }

    /// The mean over the samples that have a value; absent where fewer than half have.
    pub fn mean(&self, value: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.samples().filter_map(value).collect();
        mean(&values).filter(|_| 2 * values.len() >= self.count())
    }

    /// The mean over the samples, in each over the connections that have a value.
    pub fn tcp(&self, value: impl Fn(&TcpInfo) -> Option<f64>) -> Option<f64> {
        self.mean(|sample| {
            let values = sample.connections().iter().filter_map(&value);
            mean(&values.collect::<Vec<_>>())
        })
    }

    /// The share of the sockets of which this is true, mean over the samples.
    pub fn sockets(&self, is: fn(&SocketMemory) -> bool) -> Option<f64> {
        self.mean(|sample| {
            let sockets = sample.sockets.iter();
            let values = sockets.map(|one| f64::from(u8::from(is(one))));
            mean(&values.collect::<Vec<_>>())
        })
    }

    /// User data per second of each interval, in bit/s.
    pub fn rates(&self) -> Vec<f64> {
        let bytes = |step: Edges| step.per_second(|counts| counts.bytes);
        let steps = Edges::steps(self.samples);
        steps.map(|step| 8.0 * bytes(step).unwrap_or(0.0)).collect()
    }

    /// Number of traffic threads of the run's first part.
    pub fn traffic_threads(&self) -> usize {
        let threads = self.samples.iter().take(1).flat_map(|first| &first.threads);
        threads.filter(|one| is_of_first_part(one)).count()
    }

    /// Time of the run's own traffic threads on a CPU and waiting for one, as shares of wall time, mean over the threads.
    pub fn traffic(&self) -> Option<(f64, f64)> {
        let (run, wait) = self.edges()?.threads(is_of_first_part)?;
        let all = self.traffic_threads() as f64 * self.seconds();
        Some((run / all, wait / all))
    }
}

/// A part of a whole; absent where that is 0.
pub(super) fn ratio(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    Some(part? / whole.filter(|whole| *whole > 0.0)?)
}

/// The mean; absent where there are no values.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
