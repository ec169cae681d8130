//! How an execution is explained: by what is kept of the records of its runs, or by their figures.

use std::collections::BTreeMap;

use bitcost_model::conditions::Conditions;
use bitcost_model::study::{Cell, Label};
use bitcost_stats::LineFit;

use crate::cells::RunRow;
use crate::explain::cells::{ExplainedCell, ExplainedRun};
use crate::explain::cost::{PacketCost, packet_line};
use crate::explain::figures::by_figures;
use crate::explain::kept::Kept;
use crate::explain::warnings::{Study, Warning, warnings};
use crate::summary::Summary;

/// Why the runs of an execution were not faster, as far as it is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// What is explained.
    pub title: String,
    /// Every cell of the plan.
    pub cells: Vec<ExplainedCell>,
    /// Warnings for the reader of the result.
    pub warnings: Vec<Warning>,
}

/// The explanation of an execution by what is kept of its used runs; of another program's by their figures.
pub(crate) fn explanation(summary: &Summary) -> Explanation {
    let title = format!("{}, {}", summary.study.name, summary.began_at);
    if summary.is_imported {
        return Explanation {
            title,
            cells: by_figures(summary),
            warnings: Vec::new(),
        };
    }
    let cells = &summary.planned;
    let used = summary.used().into_iter();
    let used = used.map(|rows| rows.into_iter().filter_map(kept).collect());
    let mut runs: Vec<Vec<(&RunRow, &Kept)>> = used.collect();
    // A test from which nothing arrived has no result, and shows what was lost.
    if runs.len() == 1 && runs[0].is_empty() {
        let all = summary.runs.iter().filter_map(kept);
        runs[0].extend(all.filter(|(_, kept)| kept.signals.shows_why_nothing_came()));
    }
    let lines = same_but_size(cells).into_iter().map(|group| {
        let kept = group.iter().flat_map(|cell| &runs[*cell]);
        let packets = kept.filter_map(|(_, kept)| kept.packet);
        let line = packet_line(packets.collect(), summary.seed);
        group.into_iter().zip(std::iter::repeat(line))
    });
    let lines: BTreeMap<usize, Option<LineFit>> = lines.flatten().collect();
    let explained = |(index, cell): (usize, &Cell)| {
        let line = lines.get(&index).and_then(Option::as_ref);
        let run = |(row, kept): &(&RunRow, &Kept)| {
            let cost = kept.packet.zip(line);
            let cost = cost.and_then(|(packet, line)| PacketCost::of(packet, line));
            ExplainedRun {
                run: row.run,
                verdict: kept.signals.verdict(cost),
                others: kept.signals.others.clone(),
            }
        };
        ExplainedCell::new(cell_name(cell), runs[index].iter().map(run).collect())
    };
    let explained: Vec<ExplainedCell> = cells.iter().enumerate().map(explained).collect();
    let warnings = warnings(&Study {
        runs: &runs,
        explained: &explained,
    });
    Explanation {
        title,
        cells: explained,
        warnings,
    }
}

fn kept(row: &RunRow) -> Option<(&RunRow, &Kept)> {
    Some((row, &**row.kept.as_ref()?))
}

/// The cell's name, preceded by the factor's name where the cell's name is only a number; the
/// cell's conditions where a study has no factors.
fn cell_name(cell: &Cell) -> String {
    match cell.levels.as_slice() {
        [] => cell.conditions.phrase(),
        [(factor, Label::Number(number))] => format!("{factor} {number}"),
        _ => cell.name(),
    }
}

/// Groups of cells that differ only in the size of messages.
fn same_but_size(cells: &[Cell]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(Conditions, Vec<usize>)> = Vec::new();
    let streams = cells.iter().enumerate();
    let streams = streams.filter(|(_, cell)| !cell.conditions.workload.is_transactional());
    for (index, cell) in streams {
        let key = Conditions {
            message_size_bytes: 0,
            ..cell.conditions.clone()
        };
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(index),
            None => groups.push((key, vec![index])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}
