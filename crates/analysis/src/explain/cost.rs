//! What a packet costs its sender: a fixed part, and a part that grows with its bytes.

use bitcost_model::conditions::Conditions;
use bitcost_model::units::KIB;
use bitcost_stats::{Interval, LineFit, fit_line};

use crate::metrics::Figures;

/// Measured sizes that differ by less than this share are one size.
const SAME_SIZE: f64 = 0.05;

/// The largest size ÷ the smallest from which sizes determine a slope.
const APART: f64 = 1.5;

/// A packet of a run: a datagram, or a segment of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// Its user data, in bytes.
    pub size: f64,
    /// CPU time of the sender for it, in ns.
    pub cost_ns: f64,
}

impl Packet {
    /// By the whole host's CPU time where that of the end is not known; absent where neither is, and of transactions.
    pub fn of(conditions: &Conditions, figures: &Figures) -> Option<Packet> {
        let size = match conditions.workload.is_datagram() {
            true => f64::from(conditions.message_size_bytes),
            false => figures.get("segment_size_bytes")?.round(),
        };
        let of_kib = figures
            .get("send_service_demand_us_per_kib")
            .or_else(|| figures.get("netperf_send_service_demand_us_per_kib"))?;
        (!conditions.workload.is_transactional()).then_some(Packet {
            size,
            cost_ns: of_kib * 1e3 * size / KIB,
        })
    }
}

/// What packets of these cost as a function of their bytes, in ns: absent with fewer than three sizes, and where neither of the
/// two parts differs from 0.
pub fn packet_line(mut packets: Vec<Packet>, seed: u64) -> Option<LineFit> {
    packets.sort_by(|a, b| a.size.total_cmp(&b.size));
    let is_apart = packets.last()?.size >= APART * packets.first()?.size;
    let is_same = |a: &Packet, b: &Packet| b.size - a.size <= SAME_SIZE * a.size;
    let mut points = Vec::new();
    for group in packets.chunk_by(is_same) {
        let sum: f64 = group.iter().map(|packet| packet.size).sum();
        let mean = (sum / group.len() as f64).round();
        points.extend(
            group
                .iter()
                .map(|one| (mean, one.cost_ns * mean / one.size)),
        );
    }
    let line = fit_line(&points, seed).filter(|_| is_apart)?;
    let differs = |part: Interval| part.low.unwrap_or(part.value) > 0.0;
    (differs(line.intercept) || differs(line.slope)).then_some(line)
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

impl PacketCost {
    /// That of a packet, by the line through those of several sizes.
    pub fn of(packet: Packet, line: &LineFit) -> Option<PacketCost> {
        let (fixed, slope) = (line.intercept, line.slope);
        let by_bytes = slope.high.unwrap_or(slope.value).max(0.0) * packet.size;
        let all = fixed.value.max(0.0) + by_bytes;
        (all > 0.0).then(|| PacketCost {
            per_byte: by_bytes / all,
            fixed_ns: fixed,
        })
    }
}
