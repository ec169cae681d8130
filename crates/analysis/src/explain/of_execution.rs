//! How an execution is explained: by its records, or by the figures of its runs.

use std::collections::BTreeMap;

use super::cells::{ExplainedCell, ExplainedRun};
use super::cost::{cost_models, no_cost_model};
use super::execution::{Explainer, MANY};
use super::explanation::Explanation;
use super::figures::RunFigures;
use super::sparse::explain_figures;
use crate::cells::{CellSummary, RunRow, Status};
use crate::evenly::evenly;
use crate::summary::Summary;

/// The most runs of a cell that are explained.
const RUNS: usize = 200;

/// The most runs, where there are many, that are used to fit all cost models together.
const FITTED: usize = 4000;

/// The factor whose numbers are bytes per message.
const SIZE: &str = "message_size_bytes";

/// The explanation of an execution: by its records, or by the figures of its used runs if they are
/// another program's, or very many.
pub fn explanation(name: &str, summary: &Summary) -> Explanation {
    if summary.is_imported || summary.runs.len() > MANY {
        return by_figures(name, summary);
    }
    let title = format!("{}, {}", summary.study.name, summary.began_at);
    let mut explainer = Explainer::new(
        title,
        &summary.planned,
        &summary.ends,
        &summary.constants,
        summary.seed,
    );
    for row in summary.runs.iter().filter(|row| used(row)) {
        if let Some(kept) = &row.kept {
            explainer.push(row.cell, kept.clone());
        }
    }
    explainer.explain()
}

fn used(run: &RunRow) -> bool {
    run.status == Status::Used
}

fn by_figures(name: &str, summary: &Summary) -> Explanation {
    let mut by_cell: Vec<Vec<&RunRow>> = vec![Vec::new(); summary.cells.len()];
    for run in summary.runs.iter().filter(|run| used(run)) {
        by_cell[run.cell].push(run);
    }
    // At least two runs of a cell are used, so that their spread is known.
    let fitted = (FITTED / summary.cells.len().max(1)).max(2);
    let (mut cells, mut lines) = (Vec::new(), BTreeMap::<String, Vec<RunFigures>>::new());
    for (cell, runs) in summary
        .cells
        .iter()
        .zip(&by_cell)
        .filter(|(_, runs)| !runs.is_empty())
    {
        let figures = |place: usize| match summary.planned.get(runs[place].cell) {
            Some(planned) if !summary.is_imported => {
                let run = runs[place];
                RunFigures::with(u64::from(run.run) + 1, &planned.conditions, &run.figures)
            }
            _ => foreign(cell, runs[place]),
        };
        let figures: Vec<RunFigures> = evenly(runs.len(), RUNS).map(figures).collect();
        let few = evenly(figures.len(), fitted).map(|place| figures[place].clone());
        lines.entry(line(cell)).or_default().extend(few);
        let explained = |figures: RunFigures| ExplainedRun {
            verdicts: vec![explain_figures(&figures)],
            in_effect: None,
            figures,
        };
        let runs = figures.into_iter().map(explained).collect();
        cells.push(ExplainedCell::new(cell.name(), runs));
    }
    let costs = lines.iter().flat_map(|(name, runs)| {
        cost_models(runs, summary.seed)
            .into_iter()
            .map(|model| (name.clone(), model))
    });
    let costs: Vec<_> = costs.collect();
    let remarks = no_cost_model(&costs, lines.values().flatten())
        .into_iter()
        .collect();
    Explanation {
        title: name.to_owned(),
        cells,
        costs,
        warnings: Vec::new(),
        remarks,
    }
}

/// The name of the cells that a cost model is of; empty: all cells.
fn line(cell: &CellSummary) -> String {
    match cell.levels.iter().any(|(factor, _)| factor != SIZE) {
        true => cell.name_without(SIZE),
        false => String::new(),
    }
}

/// A run of another program.
fn foreign(cell: &CellSummary, run: &RunRow) -> RunFigures {
    let size = |factor| cell.number(factor).map(|bytes| bytes as f64);
    let figures: BTreeMap<&'static str, f64> = run
        .figures
        .iter()
        .map(|(metric, value)| (metric.name, value))
        .collect();
    let segment_size_bytes = size("mss_bytes");
    RunFigures {
        run: u64::from(run.run) + 1,
        message_size_bytes: size(SIZE),
        segment_size_bytes,
        is_datagram: segment_size_bytes.is_none() && figures.contains_key("loss_pct"),
        is_paced: cell.number("rate_bps").is_some(),
        figures,
    }
}
