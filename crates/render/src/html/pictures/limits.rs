//! Theoretical limits on a curve of throughput against message size: the link's rate, and the user
//! data that it carries if messages travel alone and if they share full packets.

use std::collections::BTreeMap;

use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::Value;
use bitcost_analysis::metrics::Metric;
use bitcost_analysis::summary::LineOfCells;
use bitcost_analysis::theory::{Counted, Framing, Goodput, Transport};
use bitcost_model::conditions::Conditions;
use bitcost_model::study::Cell;

use crate::html::svg::{Ink, Marks, Trace, range};

/// The metric that has limits, and the factor along which they are known.
const METRIC: &str = "throughput_mbps";
const FACTOR: &str = "message_size_bytes";

/// The ending of the name of a line for full packets.
const COALESCED: &str = ", coalesced";

/// The number of sizes of a smooth line.
const STEPS: u32 = 80;

/// The number of dashes that distinguish lines of the same grey.
const DASHES: usize = 5;

#[derive(Clone, Debug)]
pub(crate) struct Limit {
    name: String,
    /// Message size in bytes, and user data in Mbit/s.
    pub points: Vec<(f64, f64)>,
    /// Its number among the limits.
    place: usize,
}

impl Limit {
    pub fn trace(&self) -> Trace {
        let mut trace = Trace::new(&self.name, 0, Marks::Curve(self.points.clone()));
        trace.ink = Ink::Named("limit");
        trace.dash = match self.place {
            0 => 0,
            place => 1 + (place - 1) % (DASHES - 1),
        };
        trace
    }

    /// The rows of the line in the file, without values in the columns for measured figures.
    pub fn rows(&self) -> impl Iterator<Item = Vec<Value>> {
        self.points.iter().map(|(size, mbps)| {
            let measured = std::iter::repeat_n(Value::Absent, 7);
            let begin = [Value::from(self.name.as_str()), Value::Whole(*size as i64)];
            begin
                .into_iter()
                .chain(measured)
                .chain([Value::Number(*mbps)])
                .collect()
        })
    }
}

/// The limits of the lines of a curve; none if the link's rate is not known, and for other curves.
pub(crate) fn of(
    execution: &Findings,
    factor: &str,
    metric: &Metric,
    lines: &[LineOfCells],
) -> Vec<Limit> {
    let Some(rate_bps) = execution
        .summary
        .link_rate_bps
        .filter(|_| factor == FACTOR && metric.name == METRIC)
    else {
        return Vec::new();
    };
    let cells = planned(execution);
    let mut found: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    let sizes = lines
        .iter()
        .flat_map(|(_, cells)| cells.iter().map(|(size, _)| *size as f64));
    let (least, most) = range(sizes);
    let most = most.max(0.0);
    let rate_mbps = rate_bps as f64 / 1e6;
    found.push((
        format!("link: {rate_mbps} Mbit/s"),
        vec![(least, rate_mbps), (most, rate_mbps)],
    ));
    for (_, cells_of_line) in lines {
        let framing =
            |cell: &CellSummary| Some(framing(execution, &cells.get(&cell.name())?.conditions));
        let known: Vec<(u32, Framing)> = cells_of_line
            .iter()
            .filter_map(|(size, cell)| Some((u32::try_from(*size).ok()?, framing(cell)?)))
            .collect();
        found.extend(of_line(&known, rate_bps));
    }
    let mut limits: Vec<Limit> = Vec::new();
    for (name, points) in found {
        if limits
            .iter()
            .all(|known| known.name != name || known.points != points)
        {
            let place = limits.len();
            limits.push(Limit {
                name,
                points,
                place,
            });
        }
    }
    limits
}

/// Sentences for the caption, if there are limits.
pub(crate) fn caption(limits: &[Limit]) -> String {
    if limits.is_empty() {
        return String::new();
    }
    let theory = " Grey lines are theory: the link's rate, and the user data that it carries in packets of this size with their \
                  headers (bitcost limits goodput).";
    let joined = limits.iter().any(|limit| limit.name.ends_with(COALESCED));
    let tcp = " TCP joins small messages while it waits, and so lies between messages alone and coalesced.";
    format!("{theory}{}", if joined { tcp } else { "" })
}

/// The planned cells by their names; none if another program made the runs, because their packets
/// are not known.
fn planned(execution: &Findings) -> BTreeMap<String, &Cell> {
    let own = execution
        .summary
        .planned
        .iter()
        .filter(|_| !execution.summary.is_imported);
    own.map(|cell| (cell.name(), cell)).collect()
}

/// The packets of a cell's flow.
fn framing(execution: &Findings, conditions: &Conditions) -> Framing {
    let summary = &execution.summary;
    let timestamps = summary.ends.iter().all(|end| {
        end.host
            .sysctls
            .get("net.ipv4.tcp_timestamps")
            .is_none_or(|value| value != "0")
    });
    let transport = if conditions.workload.is_datagram() {
        Transport::Udp
    } else {
        Transport::Tcp { timestamps }
    };
    let ends = summary
        .ends
        .iter()
        .map(|end| end.host.device.mtu_bytes)
        .filter(|mtu| *mtu > 0);
    let on_the_way = summary.lab.as_ref().map(|lab| lab.mtu_bytes);
    let mtu_bytes = conditions
        .asked_mtu_bytes()
        .or(ends.chain(on_the_way).min())
        .unwrap_or(1500);
    let counted = if summary.lab.is_some() {
        Counted::Queue
    } else {
        Counted::Wire
    };
    let mut framing = Framing {
        ip: conditions.ip_version(),
        transport,
        vlan: false,
        mtu_bytes,
        counted,
    };
    if let Some(segment) = conditions.segment_bytes() {
        framing.mtu_bytes = mtu_bytes.min(segment.saturating_add(framing.packet_header_bytes()));
    }
    framing
}

/// The limits of one line: the whole curve if its packets are the same at every size, otherwise
/// points at the sizes of its cells.
fn of_line(cells: &[(u32, Framing)], rate_bps: u64) -> Vec<(String, Vec<(f64, f64)>)> {
    let Some((least, first)) = cells.first() else {
        return Vec::new();
    };
    let is_one = cells.iter().all(|(_, framing)| framing == first);
    let most = cells.iter().map(|(size, _)| *size).max().unwrap_or(*least);
    let places: Vec<(u32, Framing)> = match is_one {
        true => sizes(*least, most, first)
            .into_iter()
            .map(|size| (size, *first))
            .collect(),
        false => cells.to_vec(),
    };
    let point = |(size, framing): &(u32, Framing)| {
        Goodput {
            framing: *framing,
            rate_bps,
            message_size_bytes: None,
        }
        .point(*size)
    };
    let points: Vec<_> = places.iter().map(point).collect();
    let line = |of: fn(&bitcost_analysis::theory::Point) -> Option<f64>| -> Vec<(f64, f64)> {
        points
            .iter()
            .filter_map(|point| Some((f64::from(point.message_size_bytes), of(point)? / 1e6)))
            .collect()
    };
    let (alone, full) = (
        line(|point| Some(point.goodput_bps)),
        line(|point| point.coalesced_goodput_bps),
    );
    let transport = match first.transport {
        Transport::Udp => "UDP",
        Transport::Tcp { .. } => "TCP",
    };
    let packets = if is_one {
        format!("{} B", first.mtu_bytes)
    } else {
        "each its MSS".to_owned()
    };
    let name = format!("limit: {transport}/IPv{}, {packets}", first.ip.name());
    if full.is_empty() || are_alike(&full, &alone) {
        return vec![(name, alone)];
    }
    vec![
        (format!("{name}, alone"), alone),
        (format!("{name}{COALESCED}"), full),
    ]
}

/// Whether two lines coincide.
fn are_alike(one: &[(f64, f64)], other: &[(f64, f64)]) -> bool {
    one.iter()
        .zip(other)
        .all(|((_, a), (_, b))| (a - b).abs() <= 1e-6 * a.abs())
}

/// Sizes from the least to the most at equal ratios, and those at which one more packet begins.
fn sizes(least: u32, most: u32, framing: &Framing) -> Vec<u32> {
    let ratio = f64::from(most) / f64::from(least.max(1));
    let step = |step: u32| {
        (f64::from(least.max(1)) * ratio.powf(f64::from(step) / f64::from(STEPS))).round() as u32
    };
    let full = framing.full_payload_bytes().max(1);
    let edges = (1..=8).flat_map(|packets| [packets * full, packets * full + 1]);
    let mut sizes: Vec<u32> = (0..=STEPS)
        .map(step)
        .chain(edges.filter(|size| (least..=most).contains(size)))
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use bitcost_model::place::IpVersion;

    use super::*;

    fn framing(transport: Transport, mtu_bytes: u32) -> Framing {
        Framing {
            ip: IpVersion::V4,
            transport,
            vlan: false,
            mtu_bytes,
            counted: Counted::Wire,
        }
    }

    fn at(points: &[(f64, f64)], size: f64) -> f64 {
        points
            .iter()
            .find(|(known, _)| *known == size)
            .map(|(_, mbps)| mbps.round())
            .expect("the size")
    }

    #[test]
    fn packets_of_one_kind_have_the_whole_curve() {
        let tcp = framing(Transport::Tcp { timestamps: true }, 1500);
        let lines = of_line(&[(64, tcp), (8192, tcp)], 1_000_000_000);
        let names: Vec<&str> = lines.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "limit: TCP/IPv4, 1500 B, alone",
                "limit: TCP/IPv4, 1500 B, coalesced"
            ]
        );
        let (alone, full) = (&lines[0].1, &lines[1].1);
        // 64 of 154 bytes on the wire; 1448 of 1538.
        assert_eq!((at(alone, 64.0), at(full, 64.0)), (416.0, 941.0));
        assert_eq!(
            (at(alone, 1448.0), at(alone, 1449.0)),
            (941.0, 890.0),
            "one byte more is a packet more"
        );
    }

    #[test]
    fn a_datagram_has_one_line_and_an_mss_for_each_size_its_cells_alone() {
        let udp = framing(Transport::Udp, 9000);
        assert_eq!(of_line(&[(64, udp), (8192, udp)], 1_000_000_000).len(), 1);
        let tcp = |size: u32| {
            (
                size,
                framing(Transport::Tcp { timestamps: true }, size + 52),
            )
        };
        let lines = of_line(&[tcp(1024), tcp(8192)], 1_000_000_000);
        assert_eq!(lines.len(), 1, "alone is full");
        assert_eq!(
            lines[0].1.iter().map(|(size, _)| *size).collect::<Vec<_>>(),
            [1024.0, 8192.0]
        );
        assert!(of_line(&[], 1).is_empty());
    }
}
