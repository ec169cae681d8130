//! A run as its figures alone, by the names of the metrics: this is all that imported runs have,
//! and our own runs have it too.

use crate::metrics::{Figures, RunView};
use bitcost_model::conditions::Conditions;
use bitcost_model::units::KIB;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunFigures {
    /// The number that identifies the run: its place in the order, or its line in a file; both
    /// from 1.
    pub run: u64,
    /// Bytes that a send call handed over, on average.
    pub message_size_bytes: Option<f64>,
    /// User data per TCP segment, if the run asked for one size, in bytes.
    pub segment_size_bytes: Option<f64>,
    /// True where each message is one packet.
    pub is_datagram: bool,
    /// True where a rate was requested, which then determines the time per message.
    pub is_paced: bool,
    pub figures: Figures,
}

impl RunFigures {
    /// The figures of a run of ours; `run` is its number from 1.
    pub fn of(run: u64, view: &RunView) -> RunFigures {
        let figures = Figures::of(|metric| (metric.compute)(view));
        RunFigures::with(run, view.conditions, &figures)
    }

    /// The figures of a run of ours which has these metrics.
    pub fn with(run: u64, conditions: &Conditions, figures: &Figures) -> RunFigures {
        RunFigures {
            run,
            message_size_bytes: (!conditions.workload.is_transactional())
                .then(|| f64::from(conditions.message_size_bytes)),
            segment_size_bytes: None,
            is_datagram: conditions.workload.is_datagram(),
            is_paced: conditions.is_paced(),
            figures: figures.clone(),
        }
    }

    pub fn get(&self, name: &str) -> Option<f64> {
        self.figures.get(name).filter(|value| value.is_finite())
    }

    /// Bytes that reached the receiver ÷ bytes sent; 1 where one of them is not known.
    fn delivered(&self) -> f64 {
        let sent = self.get("send_throughput_mbps").filter(|sent| *sent > 0.0);
        let both = self.get("throughput_mbps").zip(sent);
        both.map_or(1.0, |(received, sent)| (received / sent).min(1.0))
    }

    /// netperf's receive service demand, which is by bytes sent, converted to bytes received, in
    /// µs/KiB.
    pub fn receive_demand_by_received(&self) -> Option<f64> {
        let ours = self.get("receive_service_demand_us_per_kib");
        ours.or_else(|| {
            Some(self.get("netperf_receive_service_demand_us_per_kib")? / self.delivered())
        })
    }

    /// The sender's service demand in µs/KiB: ours where it is known, otherwise netperf's.
    pub fn send_demand(&self) -> Option<f64> {
        self.get("send_service_demand_us_per_kib")
            .or_else(|| self.get("netperf_send_service_demand_us_per_kib"))
    }

    /// Time from one send call to the next, in ns per `size_bytes`.
    pub fn send_time_ns(&self, size_bytes: f64) -> Option<f64> {
        let sent = self.get("send_throughput_mbps");
        let mbps = sent.or_else(|| self.get("throughput_mbps"))?;
        (mbps > 0.0 && !self.is_paced).then(|| 8e3 * size_bytes / mbps)
    }

    /// A service demand as ns per `size_bytes`.
    pub fn demand_ns(demand_us_per_kib: f64, size_bytes: f64) -> f64 {
        demand_us_per_kib * 1e3 * size_bytes / KIB
    }
}
