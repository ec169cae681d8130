//! The time series of a run, second by second, and what each queue on its path dropped.

use bitcost_model::study::Label;

use crate::metrics::{QueueDrops, RunView, Second, metric, queue_drops, seconds};

/// The run of a cell with the median throughput, or with the next lower one.
#[derive(Clone, Debug)]
pub struct TimeSeries {
    /// Factor and level.
    pub levels: Vec<(String, Label)>,
    /// The run's place in the order, from 0.
    pub run: u32,
    /// Its seconds.
    pub seconds: Vec<Second>,
    /// Throughput at the sender and at the receiver, in Mbit/s.
    pub mbps: [Option<f64>; 2],
    /// Retransmitted segments.
    pub retransmits: Option<f64>,
    /// What each queue between the endpoints dropped.
    pub drops: Vec<QueueDrops>,
}

impl TimeSeries {
    pub(super) fn of(levels: &[(String, Label)], run: u32, view: &RunView) -> TimeSeries {
        let figure = |name: &str| metric(name).and_then(|metric| (metric.compute)(view));
        TimeSeries {
            levels: levels.to_vec(),
            run,
            seconds: seconds(view),
            mbps: [figure("send_throughput_mbps"), figure("throughput_mbps")],
            retransmits: figure("retransmits"),
            drops: queue_drops(view),
        }
    }
}
