//! A warning about offloads that are on and find nothing to merge.

use std::collections::BTreeMap;

use bitcost_model::host_settings::GSO_MAX_SEGS;

use super::found::{Study, Warning};

/// Segments per packet below which offloads save less than a third of the packets.
const FEW: f64 = 1.5;

/// Cells of TCP streams in which TCP may send super-packets and hardly does.
pub fn nothing_to_merge(study: &Study) -> Vec<Warning> {
    let cells = (0..study.cells.len()).filter(|cell| may_send_super_packets(study, *cell));
    let few = cells
        .filter_map(|cell| Some((cell, segments_per_packet(study, cell)?)))
        .filter(|(_, segments)| *segments < FEW);
    let warning = |(cell, segments): (usize, f64)| Warning {
        name: "nothing_to_merge",
        weight: 0.0,
        cells: vec![study.name(cell)],
        found: format!(
            "offloads are on, but packets carry {segments:.1} segments: no data waits to be merged"
        ),
        remedy: "expect no gain from offloads here; they save packets where data waits to be sent",
        headline: None,
    };
    few.map(warning).collect()
}

/// Whether every run had segmentation offload on at the sender, for a stream of TCP.
fn may_send_super_packets(study: &Study, cell: usize) -> bool {
    let conditions = &study.cells[cell].conditions;
    let is_limited = conditions
        .host_settings
        .iter()
        .any(|request| request.setting == GSO_MAX_SEGS);
    let is_on = |active: &BTreeMap<String, bool>| {
        let mut bits = active.iter();
        bits.any(|(name, on)| name == "tx-tcp-segmentation" && *on)
    };
    let runs = &study.runs[cell];
    conditions.workload.is_byte_stream()
        && !is_limited
        && !runs.is_empty()
        && runs.iter().all(|run| is_on(&run.active[0]))
}

/// The median over the runs of a cell.
fn segments_per_packet(study: &Study, cell: usize) -> Option<f64> {
    let figures = study.figures(cell);
    let found: Vec<f64> = figures
        .filter_map(|run| run.get("sender_segments_per_packet"))
        .collect();
    bitcost_stats::median(&found)
}
