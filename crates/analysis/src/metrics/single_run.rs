//! The interval of a figure of one run: what varied within the run, by batch means, and what varies
//! between runs, which one run cannot show.

use bitcost_model::record::{Counts, EndpointRecord, PhaseCounts};
use bitcost_model::soft_interrupts::spans;
use bitcost_stats::{Error, Interval, batch_length, batch_means_error, spread};

use crate::metrics::disturbance::disturbance;
use crate::metrics::table::{Metric, metric};
use crate::metrics::timing::path_mtu;
use crate::metrics::view::RunView;

/// The metrics of which one run states an interval: each is a quotient of sums over the window.
pub const WITH_INTERVAL: [&str; 7] = [
    "throughput_mbps",
    "background_throughput_mbps",
    "transactions_per_second",
    "send_service_demand_us_per_kib",
    "receive_service_demand_us_per_kib",
    "send_service_demand_us_per_transaction",
    "receive_service_demand_us_per_transaction",
];

/// How many of them, the first, are rates, and no costs.
const RATES: usize = 3;

/// The error within a test below which a rate is steady, and the share of what the lab's links or the request allow from
/// which it is: they limit it, and not a CPU.
const STEADY: f64 = 0.003;
const KEPT: f64 = 0.98;

/// What tests in a row differ by where nothing else uses the CPUs, as a share of the figure: a steady rate, another rate, and
/// a cost. docs/method/statistics.md, One run, has the tests.
const BETWEEN: [f64; 3] = [0.01, 0.05, 0.08];

/// The most that tests differ by for other programs, which leave a share of the CPUs.
const MOST_BESIDE: f64 = 0.5;

/// The degrees of freedom of [`BETWEEN`].
const FREEDOM: f64 = 10.0;

/// The error of a figure of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SingleRun {
    pub value: f64,
    /// The relative standard error of what varied within the run.
    pub within: Error,
    /// The relative standard error of what varies between runs.
    pub between: Error,
    /// What the figure cannot exceed: the rate that was requested, and a throughput that of the lab's links.
    most: Option<f64>,
}

impl SingleRun {
    /// The figure with the interval that holds the median of repetitions of the run.
    pub fn interval(&self) -> Interval {
        let reach = Error::of(&[self.within, self.between]).reach();
        let bound = |sign: f64| Some(self.value * (1.0 + sign * reach?));
        let most = self.most.map_or(f64::INFINITY, |most| most.max(self.value));
        Interval {
            value: self.value,
            low: bound(-1.0).map(|low| low.max(0.0)),
            high: bound(1.0).map(|high| high.min(most)),
        }
    }
}

/// The error of a metric of one run; absent where it is not one of [`WITH_INTERVAL`], has no
/// value, or the run has too few samples to show what varied within it.
pub fn single_run(run: &RunView, name: &str) -> Option<SingleRun> {
    let metric = metric(name).filter(|metric| WITH_INTERVAL.contains(&metric.name))?;
    let value = (metric.compute)(run).filter(|value| *value > 0.0)?;
    let means = batches(run, metric)?;
    let mean = spread(&means)?.mean;
    let within = batch_means_error(&means)?;
    let within = Error {
        error: Some(within.error / mean).filter(|error| error.is_finite())?,
        ..within
    };
    let asked_bps = run.conditions.asked_bps(path_mtu(run.sender));
    let asked = match metric.name {
        "throughput_mbps" => asked_bps.map(|bps| bps / 1e6),
        "transactions_per_second" => run.conditions.transaction_rate.map(f64::from),
        _ => None,
    };
    let asked = asked.map(|each| each * f64::from(run.conditions.flows));
    let shaped_bps = run.shaped_bps.filter(|_| name == WITH_INTERVAL[0]);
    let rates = [asked, shaped_bps.map(|bps| bps / 1e6)];
    let most = rates.into_iter().flatten().reduce(f64::min);
    let is_rate = WITH_INTERVAL[..RATES].contains(&metric.name);
    let is_kept = most.is_some_and(|most| value >= KEPT * most);
    let is_steady = is_rate && (is_kept || within.error < STEADY);
    let usual = BETWEEN[usize::from(!is_steady) + usize::from(!is_rate)].max(within.error);
    // What other programs took is missing from the figure, or is not, in the next test.
    let beside = disturbance(run).filter(|_| !is_steady);
    let beside = beside.map_or(0.0, |found| (found.pct() / 100.0).min(MOST_BESIDE));
    Some(SingleRun {
        value,
        within,
        between: Error {
            error: usual.hypot(beside),
            freedom: FREEDOM,
        },
        most,
    })
}

/// The metric of each batch of samples. A rest that fills no batch is left out.
fn batches(run: &RunView, metric: &Metric) -> Option<Vec<f64>> {
    let steps = run.sender.samples.len().min(run.receiver.samples.len());
    let steps = steps.checked_sub(1)?;
    let length = batch_length(steps)?;
    let bare = [run.sender, run.receiver].map(|end| EndpointRecord {
        samples: Vec::new(),
        // Without these, the readings of a batch give what its background flows did.
        background: Vec::new(),
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
