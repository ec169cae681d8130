//! The cost of a message at each endpoint: a fixed part, and a part that grows with its bytes.

use bitcost_stats::{Interval, LineFit, fit_line};

use crate::explain::figures::RunFigures;

/// Below this probability a line is said not to fit.
const FIT_MIN: f64 = 0.01;

/// Measured sizes of segments that differ by less than this share are one size.
const SAME_SIZE: f64 = 0.05;

bitcost_model::words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Spent {
        /// Time from one send call to the next.
        SendTime = "send_time",
        SendCpu = "send_cpu",
        ReceiveCpu = "receive_cpu",
    }
}

bitcost_model::words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Unit {
        /// A message that travels as one packet.
        Packet = "packet",
        /// What one send call hands over.
        Message = "message",
        /// A TCP segment.
        Segment = "segment",
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct CostModel {
    pub spent: Spent,
    pub unit: Unit,
    /// Cost in ns as a function of bytes.
    pub fit: LineFit,
    /// Number of runs that it comes from.
    pub runs: usize,
}

impl Spent {
    pub fn title(self) -> &'static str {
        match self {
            Spent::SendTime => "time of a send call",
            Spent::SendCpu => "sender's CPU time",
            Spent::ReceiveCpu => "receiver's CPU time",
        }
    }

    fn ns(self, run: &RunFigures, size_bytes: f64) -> Option<f64> {
        let demand = match self {
            Spent::SendTime => return run.send_time_ns(size_bytes),
            Spent::SendCpu => run.send_demand(),
            Spent::ReceiveCpu => run.receive_demand_by_received(),
        };
        Some(RunFigures::demand_ns(demand?, size_bytes))
    }
}

impl Unit {
    fn size(self, run: &RunFigures) -> Option<f64> {
        match self {
            Unit::Packet => run.message_size_bytes.filter(|_| run.is_datagram),
            Unit::Message => run.message_size_bytes.filter(|_| !run.is_datagram),
            Unit::Segment => run
                .segment_size_bytes
                .or_else(|| run.get("segment_size_bytes").map(f64::round)),
        }
    }
}

/// Every cost model that the runs allow: those with three sizes or more. The runs differ in nothing
/// but sizes.
pub fn cost_models(runs: &[RunFigures], seed: u64) -> Vec<CostModel> {
    let pairs = Unit::ALL
        .into_iter()
        .flat_map(|unit| Spent::ALL.map(|spent| (unit, spent)));
    pairs
        .filter_map(|(unit, spent)| cost_model(runs, unit, spent, seed))
        .collect()
}

fn cost_model(runs: &[RunFigures], unit: Unit, spent: Spent, seed: u64) -> Option<CostModel> {
    let point = |run: &RunFigures| {
        let size = unit.size(run)?;
        Some((size, spent.ns(run, size)?))
    };
    let mut points: Vec<(f64, f64)> = runs.iter().filter_map(point).collect();
    if unit == Unit::Segment {
        merge(&mut points);
    }
    let (least, most) = points
        .iter()
        .fold((f64::MAX, 0.0_f64), |(a, b), (size, _)| {
            (a.min(*size), b.max(*size))
        });
    // Segments of nearly one size do not determine a slope.
    let spread = most >= 1.5 * least;
    let fit = fit_line(&points, seed).filter(|_| spread)?;
    Some(CostModel {
        spent,
        unit,
        runs: points.len(),
        fit,
    })
}

/// Gives points of nearly the same size the mean of their sizes, and scales their costs in
/// proportion.
fn merge(points: &mut [(f64, f64)]) {
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let is_same = |a: &(f64, f64), b: &(f64, f64)| b.0 - a.0 <= SAME_SIZE * a.0;
    for group in points.chunk_by_mut(is_same) {
        let mean = (group.iter().map(|(size, _)| size).sum::<f64>() / group.len() as f64).round();
        group
            .iter_mut()
            .for_each(|(size, cost)| (*size, *cost) = (mean, *cost * mean / *size));
    }
}

/// What a packet costs the sender at the size of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketCost {
    /// The greatest share, from 0 to 1, that may grow with bytes: by the upper bound of the part
    /// per byte.
    pub per_byte: f64,
    /// The part that each packet costs, in ns.
    pub fixed_ns: Interval,
}

/// The sender's cost per packet at the size of a run: by messages for datagrams, by segments for
/// streams. Absent where no model gives it.
pub fn packet_cost(models: &[CostModel], run: &RunFigures) -> Option<PacketCost> {
    let unit = if run.is_datagram {
        Unit::Packet
    } else {
        Unit::Segment
    };
    let model = models
        .iter()
        .find(|model| (model.spent, model.unit) == (Spent::SendCpu, unit) && model.tells())?;
    let (fixed, slope) = (model.fit.intercept, model.fit.slope);
    let by_bytes = slope.high.unwrap_or(slope.value).max(0.0) * unit.size(run)?;
    let all = fixed.value.max(0.0) + by_bytes;
    (all > 0.0).then(|| PacketCost {
        per_byte: by_bytes / all,
        fixed_ns: fixed,
    })
}

impl CostModel {
    /// The share of the cost of this size that grows with its bytes, from 0 to 1.
    pub fn per_byte_share(&self, size_bytes: f64) -> f64 {
        self.fit.share_of_slope(size_bytes).clamp(0.0, 1.0)
    }

    /// True unless the lack of fit shows that the costs do not follow a line.
    pub fn fits(&self) -> bool {
        self.fit.lack_of_fit.is_none_or(|lack| lack.p >= FIT_MIN)
    }

    /// True where one of the two parts differs from 0: its interval lies above it.
    ///
    /// Where each packet costs the same, the line explains nothing of the differences between the
    /// sizes (R² is near 0), and the part per packet is known all the same.
    pub fn tells(&self) -> bool {
        self.parts_that_differ().contains(&true)
    }

    /// Whether the part per unit and the part per byte differ from 0.
    pub fn parts_that_differ(&self) -> [bool; 2] {
        [self.fit.intercept, self.fit.slope].map(|part| part.low.unwrap_or(part.value) > 0.0)
    }
}
