//! The time series of a run, second by second, and what each queue on its path dropped.

use bitcost_model::study::Label;
use serde::Serialize;

use crate::as_map::as_map;
use crate::metrics::{QueueDrops, RunView, Second, figure_of, queue_drops, seconds};

/// The run of a cell with the median throughput, or with the next lower one.
#[derive(Clone, Debug, Serialize)]
pub struct TimeSeries {
    #[serde(serialize_with = "as_map")]
    pub levels: Vec<(String, Label)>,
    /// The run's place in the order, from 0.
    pub run: u32,
    pub seconds: Vec<Second>,
    /// Throughput at the sender and at the receiver, in Mbit/s.
    pub mbps: [Option<f64>; 2],
    pub drops: Vec<QueueDrops>,
}

impl TimeSeries {
    pub(super) fn of(levels: &[(String, Label)], run: u32, view: &RunView) -> TimeSeries {
        let figure = |name: &str| figure_of(view, name);
        TimeSeries {
            levels: levels.to_vec(),
            run,
            seconds: seconds(view),
            mbps: [figure("send_throughput_mbps"), figure("throughput_mbps")],
            drops: queue_drops(view),
        }
    }
}
