//! The caveats and notes under the tables.

use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::summary::{Summary, shown_metrics};
use bitcost_model::constants::{HostConstants, MachineConstants};
use bitcost_model::harmless;
use bitcost_model::study::phrase;
use bitcost_model::units::counted;

use crate::block::Block;
use crate::number;
use crate::stop_rule::stop_rule_text;
use crate::words::{by_cell, softirqs_words, why_missing};

/// What is doubtful of a whole execution.
pub(crate) fn caveats(summary: &Summary) -> impl Iterator<Item = Block> {
    let caveats = summary.caveats.iter();
    caveats.map(|words| Block::Note("caveat: ".to_owned(), words.clone()))
}

/// The runs without a result.
pub(crate) fn without_result(summary: &Summary) -> Vec<Block> {
    let left_out = summary.excluded.iter();
    let left_out = left_out.map(|run| (run.reason.clone(), 1, Some(phrase(&run.levels))));
    let (lost, planned) = (summary.incomplete.len(), summary.runs.len());
    let lost = (lost > 0).then(|| format!("{} of {planned} planned", counted(lost, "run")));
    marked([
        ("left out: ", by_cell(summary, left_out)),
        ("missing: ", Vec::from_iter(lost)),
    ])
}

/// A note for each of the words, after their mark.
fn marked<const N: usize>(groups: [(&str, Vec<String>); N]) -> Vec<Block> {
    let blocks = groups.into_iter().flat_map(|(mark, all)| {
        all.into_iter()
            .map(move |words| Block::Note(mark.to_owned(), words))
    });
    blocks.collect()
}

/// All caveats and notes, in order.
pub fn notes(summary: &Summary) -> Vec<Block> {
    let idle = summary.idle_rtt_us.map(|rtt| {
        let [least, mean] = [rtt.min_us, rtt.avg_us].map(|us| us / 1000.0);
        format!("shortest {least:.3} ms, mean {mean:.3} ms, before the first run")
    });
    let rule = summary.precision.as_ref().map(stop_rule_text);
    let of_runs = summary.notes.iter();
    let of_runs = of_runs.map(|note| (note.text.clone(), note.runs, note.cell.clone()));
    let mut blocks = marked([
        ("caveat: ", summary.caveats.clone()),
        ("no value: ", missing(summary)),
        ("CPU time: ", attribution(summary)),
        ("note: ", summary.place_notes.clone()),
        ("note: ", by_cell(summary, of_runs)),
        ("host constants: ", constants(&summary.constants)),
        ("idle round trip: ", Vec::from_iter(idle)),
        ("stop rule: ", Vec::from_iter(rule)),
    ]);
    blocks.extend(without_result(summary));
    blocks
}

/// The shown metrics for which cells have no value, by reason.
fn missing(summary: &Summary) -> Vec<String> {
    // The heading of the tables already says so.
    if !summary.has_used() {
        return Vec::new();
    }
    let facts = shown_metrics(summary).into_iter().flat_map(|name| {
        let lacks = move |cell: &&CellSummary| cell.figure(name).is_none();
        let without = summary.cells.iter().filter(lacks);
        without.map(move |cell| (why_missing(cell, name), 0, Some(cell.name())))
    });
    by_cell(summary, facts)
}

/// How CPU time was attributed, with the means by which the time of soft interrupts is known.
fn attribution(summary: &Summary) -> Vec<String> {
    let facts = summary.cells.iter().flat_map(|cell| {
        let means = cell.softirqs.iter();
        let means: String = means.map(|(means, _)| softirqs_words(*means)).collect();
        cell.methods.iter().map(move |(method, _)| {
            let means = if method.uses_softirqs() { &means } else { "" };
            let words = format!("{}{means}", method.doc());
            (words, 0, Some(cell.name()))
        })
    });
    by_cell(summary, facts)
}

fn constants(machines: &[MachineConstants]) -> Vec<String> {
    let of = |machine: &MachineConstants| {
        let name = match (&machine.roles[..], machines.len()) {
            ([role], 2..) => format!("{}: ", role.name()),
            _ => String::new(),
        };
        let absent = || {
            let why = machine.absent.as_deref();
            let why = why.unwrap_or("the log names no reason");
            format!("not measured ({})", harmless(why))
        };
        let words = machine.host.as_ref().map_or_else(absent, of_host);
        format!("{name}{words}")
    };
    machines.iter().map(of).collect()
}

fn of_host(host: &HostConstants) -> String {
    let takes = |what, ns: Option<f64>| Some(format!("{what} takes {} ns", number::plain(ns?)));
    let copy = takes("copying a KiB", host.copy_kib_ns).into_iter();
    let packet = takes("sending and receiving a packet", host.packet_ns);
    match Vec::from_iter(copy.chain(packet)) {
        found if found.is_empty() => "not measured (the machine is busy)".to_owned(),
        found => found.join("; "),
    }
}
