//! The interval of a figure of one run: what varied within the run, by batch means, and what varies
//! between runs, which one run cannot show.

use bitcost_model::record::{Counts, EndpointRecord, PhaseCounts};
use bitcost_model::soft_interrupts::spans;
use bitcost_stats::{Interval, batch_length, batch_means_half_width, spread};

use crate::metrics::table::{Metric, metric};
use crate::metrics::view::RunView;

/// The metrics of which one run states an interval: each is a quotient of sums over the window.
pub const WITH_INTERVAL: [&str; 6] = [
    "throughput_mbps",
    "transactions_per_second",
    "send_service_demand_us_per_kib",
    "receive_service_demand_us_per_kib",
    "send_service_demand_us_per_transaction",
    "receive_service_demand_us_per_transaction",
];

/// The factor, up and down, within which a run is assumed to lie of the median of its repetitions.
/// docs/method/statistics.md, One run, has the machines on which it was measured.
pub const BETWEEN_RUNS: f64 = 1.35;

/// A figure of one run with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SingleRun {
    /// The figure, and bounds that are to hold the median of repetitions of the run.
    pub interval: Interval,
    /// Half of the 95 % interval of what varied within the run, in per cent of the figure.
    pub within_pct: f64,
}

/// The interval of a metric of one run; absent where it is not one of [`WITH_INTERVAL`], has no
/// value, or the run has too few samples to show what varied within it.
pub fn single_run(run: &RunView, name: &str) -> Option<SingleRun> {
    let metric = metric(name).filter(|metric| WITH_INTERVAL.contains(&metric.name))?;
    let value = (metric.compute)(run).filter(|value| *value > 0.0)?;
    let means = batches(run, metric)?;
    let within = batch_means_half_width(&means)? / spread(&means)?.mean;
    within.is_finite().then_some(())?;
    // Both are independent and relative, so their squares add up as logarithms.
    let factor = within.hypot(BETWEEN_RUNS.ln()).exp();
    Some(SingleRun {
        interval: Interval {
            value,
            low: Some(value / factor),
            high: Some(value * factor),
        },
        within_pct: 100.0 * within,
    })
}

/// The metric of each batch of samples. A rest that fills no batch is left out.
fn batches(run: &RunView, metric: &Metric) -> Option<Vec<f64>> {
    let steps = run.sender.samples.len().min(run.receiver.samples.len());
    let steps = steps.checked_sub(1)?;
    let length = batch_length(steps)?;
    let bare = [run.sender, run.receiver].map(|end| EndpointRecord {
        samples: Vec::new(),
        ..end.clone()
    });
    let of = |batch: usize| {
        let (first, last) = (batch * length, (batch + 1) * length);
        let sender = between(run.sender, &bare[0], first, last);
        let receiver = between(run.receiver, &bare[1], first, last);
        (metric.compute)(&RunView {
            interrupted: None,
            sender: &sender,
            receiver: &receiver,
            ..*run
        })
    };
    (0..steps / length).map(of).collect()
}

/// An endpoint's record, of which `bare` is all but the samples, as if its window had begun and ended
/// at these of them.
fn between(
    end: &EndpointRecord,
    bare: &EndpointRecord,
    first: usize,
    last: usize,
) -> EndpointRecord {
    let (mut begin, mut finish) = (end.samples[first].clone(), end.samples[last].clone());
    if let [edge, .., other] = &end.samples[..] {
        let window = other.at_ns.saturating_sub(edge.at_ns).max(1);
        let share = finish.at_ns.saturating_sub(begin.at_ns) as f64 / window as f64;
        begin.softirqs = Vec::new();
        // They are read at the edges of the window alone; what one takes is known of all that were timed.
        finish.softirqs = spans(&edge.softirqs, &other.softirqs);
        for span in &mut finish.softirqs {
            span.count = (span.count as f64 * share).round() as u64;
        }
    }
    EndpointRecord {
        window_start_ns: begin.at_ns,
        window_end_ns: finish.at_ns,
        counts: PhaseCounts {
            outside: Counts::default(),
            measured: finish.counts.since(&begin.counts),
        },
        samples: vec![begin, finish],
        ..bare.clone()
    }
}
