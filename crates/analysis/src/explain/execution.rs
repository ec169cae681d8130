//! How an execution is explained: by what is kept of its records, or by the figures of its runs.

use std::collections::BTreeMap;

use crate::cells::{CellSummary, RunRow};
use crate::evenly::evenly;
use crate::explain::cells::{ExplainedCell, ExplainedRun};
use crate::explain::cost::{CostModel, cost_models, packet_cost};
use crate::explain::decide::strongest;
use crate::explain::figures::RunFigures;
use crate::explain::kept::{Kept, MANY};
use crate::explain::limiter::Bound::{AtLeast, AtMost};
use crate::explain::limiter::{Evidence, LimiterRow, Verdict};
use crate::explain::limiters::{LOSS_PCT, RECEIVER_CPU, SENDER_CPU};
use crate::explain::warnings::{Study, Warning, warnings};
use crate::summary::Summary;
use bitcost_model::conditions::Conditions;
use bitcost_model::study::{Cell, Label};

/// Use of the busiest CPU in per cent from which it is full.
const FULL_PCT: f64 = 99.5;
const PROCESS_FULL_PCT: f64 = 95.0;

/// What is said where nothing is known but figures.
const TOO_FEW: &str =
    "these figures are not enough for a verdict; repeat the run with bitcost, and explain that run";

/// The most runs of a cell that are explained by figures.
const RUNS: usize = 200;

/// The most runs, where there are many, that are used to fit all cost models together.
const FITTED: usize = 4000;

/// The factor whose numbers are bytes per message.
const SIZE: &str = "message_size_bytes";

/// Why the runs of an execution were not faster, as far as it is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// What is explained.
    pub title: String,
    pub cells: Vec<ExplainedCell>,
    /// Cost models, each with the names of its cells; an empty name means all cells.
    pub costs: Vec<(String, CostModel)>,
    /// Warnings for the reader of the result.
    pub warnings: Vec<Warning>,
}

/// The explanation of an execution: by its records, or by the figures of its used runs if they are
/// another program's, or very many.
pub(crate) fn explanation(name: &str, summary: &Summary) -> Explanation {
    match summary.is_imported || summary.runs.len() > MANY {
        true => by_figures(name, summary),
        false => by_records(summary),
    }
}

fn by_records<'a>(summary: &'a Summary) -> Explanation {
    let cells = &summary.planned;
    let kept = |row: &'a RunRow| Some((row, &**row.kept.as_ref()?));
    let used = summary.used().into_iter();
    let mut runs: Vec<Vec<(&RunRow, &Kept)>> = used
        .map(|rows| rows.into_iter().filter_map(kept).collect())
        .collect();
    // A test from which nothing arrived has no result, and shows what was lost.
    if runs.len() == 1 && runs[0].is_empty() {
        let all = summary.runs.iter().filter_map(kept);
        runs[0].extend(all.filter(|(_, kept)| kept.signals.shows_why_nothing_came()));
    }
    let costs: Vec<(Vec<usize>, Vec<CostModel>)> = same_but_size(cells)
        .into_iter()
        .map(|group| {
            let figures = group.iter().flat_map(|cell| &runs[*cell]);
            let figures: Vec<RunFigures> = figures.map(|(_, kept)| kept.figures.clone()).collect();
            (group, cost_models(&figures, summary.seed))
        })
        .collect();
    let explained = |(index, cell): (usize, &Cell)| {
        let own = costs.iter().find(|(group, _)| group.contains(&index));
        let models = own.map_or(&[][..], |(_, models)| models);
        let run = |(_, kept): &(&RunRow, &Kept)| ExplainedRun {
            verdict: kept.signals.verdict(packet_cost(models, &kept.figures)),
            figures: kept.figures.clone(),
            others: Some(kept.signals.others.clone()),
        };
        ExplainedCell::new(cell_name(cell), runs[index].iter().map(run).collect())
    };
    let explained: Vec<ExplainedCell> = cells.iter().enumerate().map(explained).collect();
    let warnings = warnings(&Study {
        cells,
        runs: &runs,
        explained: &explained,
        ends: &summary.ends,
    });
    let named = |(group, models): (Vec<usize>, Vec<CostModel>)| {
        let name = common_levels(cells, &group);
        models.into_iter().map(move |model| (name.clone(), model))
    };
    let costs: Vec<_> = costs.into_iter().flat_map(named).collect();
    Explanation {
        title: format!("{}, {}", summary.study.name, summary.began_at),
        cells: explained,
        costs,
        warnings,
    }
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

/// The levels that all cells of a group have; the workload where there are none.
fn common_levels(cells: &[Cell], group: &[usize]) -> String {
    let first = &cells[group[0]];
    let is_common = |level: &&(String, Label)| {
        let mut group = group.iter();
        group.all(|index| cells[*index].levels.contains(level))
    };
    let common = first.levels.iter().filter(is_common);
    let labels: Vec<String> = common.map(|(_, label)| label.to_string()).collect();
    match labels.is_empty() {
        true => first.conditions.workload.name().to_owned(),
        false => labels.join(" · "),
    }
}

/// What limited the run by these figures alone: a full CPU; of datagrams the receiver's where many are lost, and else
/// the sender's.
fn of_figures_alone(run: &RunFigures) -> Verdict {
    let evidence = |counter: &str, unit, bound| {
        Some(Evidence {
            counter: counter.to_owned(),
            value: run.get(counter)?,
            unit,
            bound,
        })
    };
    // A process of one thread that uses a whole CPU is the limit; one of several threads uses more.
    let of_process = |end: &str| {
        let used = format!("{end}_process_cpu_pct");
        let is_one = (PROCESS_FULL_PCT..=200.0 - PROCESS_FULL_PCT).contains(&run.get(&used)?);
        let full = evidence(&used, "%", AtLeast(PROCESS_FULL_PCT)).filter(|_| is_one)?;
        Some((full, "the program's process used a whole CPU"))
    };
    let of_host = |end: &str| {
        let full = evidence(&format!("{end}_peak_cpu_pct"), "%", AtLeast(FULL_PCT))?;
        Some((full, "its busiest CPU is full"))
    };
    let full = |end: &str| of_process(end).or_else(|| of_host(end));
    let lost = evidence("loss_pct", "%", AtLeast(LOSS_PCT));
    let kept = evidence("loss_pct", "%", AtMost(LOSS_PCT));
    let of = |row: &'static LimiterRow, strength, (full, detail), of_loss: Option<Evidence>| {
        let evidence = [Some(full), of_loss].into_iter().flatten().collect();
        row.suspect(strength, evidence).with_detail(detail)
    };
    let mut found = Vec::new();
    if let Some(full) = full("receiver").filter(|_| lost.is_some()) {
        found.push(of(&RECEIVER_CPU, 0.9, full, lost));
    }
    if let Some(full) = full("sender") {
        found.push(of(&SENDER_CPU, 0.8, full, kept));
    }
    if let Some(full) = full("receiver").filter(|_| !run.is_datagram) {
        found.push(of(&RECEIVER_CPU, 0.7, full, None));
    }
    let why = match run.get("loss_pct").is_some_and(|lost| lost >= LOSS_PCT) {
        true => "datagrams were lost, and its figures do not say where: they show no full CPU",
        false => "its figures show no full CPU and no loss that a full CPU explains",
    };
    let mut verdict = strongest(found, why);
    if verdict.limiter().is_unknown() {
        verdict.chosen.remedy = Some(TOO_FEW.to_owned());
    }
    verdict
}

/// A cell of runs of which only figures are known.
fn of_figures(name: String, runs: Vec<RunFigures>) -> ExplainedCell {
    let explained = |figures: RunFigures| ExplainedRun {
        verdict: of_figures_alone(&figures),
        others: None,
        figures,
    };
    ExplainedCell::new(name, runs.into_iter().map(explained).collect())
}

fn by_figures(name: &str, summary: &Summary) -> Explanation {
    // At least two runs of a cell are used, so that their spread is known.
    let fitted = (FITTED / summary.cells.len().max(1)).max(2);
    let (mut cells, mut lines) = (Vec::new(), BTreeMap::<String, Vec<RunFigures>>::new());
    let used = summary.cells.iter().zip(summary.used());
    for (cell, runs) in used.filter(|(_, runs)| !runs.is_empty()) {
        let figures = |place: usize| match summary.planned.get(runs[place].cell) {
            Some(planned) if !summary.is_imported => {
                let run = runs[place];
                RunFigures::with(u64::from(run.run) + 1, &planned.conditions, &run.figures)
            }
            _ => foreign(cell, runs[place]),
        };
        let figures: Vec<RunFigures> = evenly(runs.len(), RUNS).map(figures).collect();
        let few = evenly(figures.len(), fitted).map(|place| figures[place].clone());
        // The name of the cells that a cost model is of; empty: all cells.
        let line = match cell.levels.iter().any(|(factor, _)| factor != SIZE) {
            true => cell.name_without(SIZE),
            false => String::new(),
        };
        lines.entry(line).or_default().extend(few);
        cells.push(of_figures(cell.name(), figures));
    }
    let models = |(name, runs): (&String, &Vec<RunFigures>)| {
        let name = name.clone();
        let models = cost_models(runs, summary.seed).into_iter();
        models.map(move |model| (name.clone(), model))
    };
    let costs: Vec<_> = lines.iter().flat_map(models).collect();
    Explanation {
        title: name.to_owned(),
        cells,
        costs,
        warnings: Vec::new(),
    }
}

/// A run of another program.
fn foreign(cell: &CellSummary, run: &RunRow) -> RunFigures {
    let size = |factor| cell.number(factor).map(|bytes| bytes as f64);
    let segment_size_bytes = size("mss_bytes");
    RunFigures {
        run: u64::from(run.run) + 1,
        message_size_bytes: size(SIZE),
        segment_size_bytes,
        is_datagram: segment_size_bytes.is_none() && run.figures.get("loss_pct").is_some(),
        is_paced: cell.number("rate_bps").is_some(),
        figures: run.figures.clone(),
    }
}
