//! Warnings about single runs and their number.

use std::collections::BTreeMap;

use crate::cells::coverage_pct;
use crate::metrics::EmulatorTrouble;

use super::found::{RunFacts, Study, Warning};

/// With fewer runs, an interval says little.
const RUNS_MIN: usize = 5;

/// A rate that is off by more than this, in per cent, was not kept.
const RATE_ERROR_PCT: f64 = 2.0;

/// Cells with few runs, those with the same number together.
pub fn too_few(study: &Study) -> Vec<Warning> {
    let few = |runs: usize| {
        let cells: Vec<usize> = (0..study.cells.len())
            .filter(|cell| study.runs[*cell].len() == runs)
            .collect();
        let word = if runs == 1 { "run" } else { "runs" };
        let found = match runs {
            0 | 1 => format!("{runs} {word}: nothing is known about the spread"),
            _ => format!(
                "{runs} {word}: the interval of a median is from the minimum to the maximum, and covers it in {:.0} % of all cases instead of 95 %",
                coverage_pct(runs)
            ),
        };
        let remedy = "run more blocks (--blocks), at least 10 for an interval that is quoted";
        (!cells.is_empty()).then(|| Warning {
            name: "few_runs",
            weight: 1.0 / (runs + 1) as f64,
            cells: study.names(&cells),
            found,
            remedy,
            headline: None,
        })
    };
    (0..RUNS_MIN).filter_map(few).collect()
}

/// The requested rate was not achieved.
pub fn rate_missed(study: &Study) -> Vec<Warning> {
    let of_cell = |cell: usize| {
        let errors = study
            .figures(cell)
            .filter_map(|run| run.get("rate_error_pct"));
        let missed: Vec<f64> = errors
            .filter(|error| error.abs() > RATE_ERROR_PCT)
            .collect();
        let worst = missed
            .iter()
            .copied()
            .max_by(|a, b| a.abs().total_cmp(&b.abs()))?;
        let (count, all) = (missed.len(), study.runs[cell].len());
        Some(Warning {
            name: "rate_missed",
            weight: worst.abs() / 100.0,
            cells: vec![study.name(cell)],
            found: format!(
                "the rate differs from the requested one in {count} of {all} runs, worst {worst:+.1} %"
            ),
            remedy: "compare it with what the limiter allows, or request a lower rate",
            headline: None,
        })
    };
    (0..study.cells.len()).filter_map(of_cell).collect()
}

/// The warning of a check on the runs of which something is true, given its words: how many these
/// are of all, and `in 2 of 10 runs` of the cells that have them.
fn of_runs(
    study: &Study,
    is_true: fn(&RunFacts) -> bool,
    words: impl FnOnce([usize; 2], &str) -> Warning,
) -> Vec<Warning> {
    let of_cell = |cell: usize| study.runs[cell].iter().filter(|run| is_true(run)).count();
    let cells: Vec<usize> = (0..study.cells.len())
        .filter(|cell| of_cell(*cell) > 0)
        .collect();
    let count: usize = cells.iter().map(|cell| of_cell(*cell)).sum();
    if count == 0 {
        return Vec::new();
    }
    let of_cells: usize = cells.iter().map(|cell| study.runs[*cell].len()).sum();
    let all = study.runs.iter().flatten().count();
    vec![Warning {
        cells: study.names(&cells),
        weight: count as f64 / all as f64,
        ..words([count, all], &format!("in {count} of {of_cells} runs"))
    }]
}

/// Other programs took CPU time.
pub fn foreign_load(study: &Study) -> Vec<Warning> {
    let words = |[disturbed, all]: [usize; 2], runs: &str| Warning {
        name: "foreign_load",
        found: format!("{} {runs}", crate::metrics::disturbance_bounds()),
        remedy: "measure on an idle machine, or leave these runs out",
        headline: (2 * disturbed > all).then(|| {
            format!(
                "other programs used the CPUs in {disturbed} of {all} runs; use a quiet machine"
            )
        }),
        ..Warning::default()
    };
    of_runs(study, |run| run.is_disturbed, words)
}

/// The wire of the lab filled an endpoint's CPU.
pub fn limited_by_wire(study: &Study) -> Vec<Warning> {
    let words = |_, runs: &str| Warning {
        name: "wire_limits",
        headline: Some(format!(
            "{runs} the lab's wire filled an endpoint's CPU: the throughput is what this machine's lab carries"
        )),
        found: format!("the lab's wire did most of the work on an endpoint's full CPU {runs}"),
        remedy: "the lab limits these throughputs: with less work for its wire (larger packets, topology = \"pair\") they would be higher",
        ..Warning::default()
    };
    of_runs(study, |run| run.is_limited_by_wire, words)
}

/// Link emulators of the lab did not work as requested.
pub fn emulator_trouble(study: &Study) -> Vec<Warning> {
    let of_cell = |cell: usize| {
        let of_run = |run: &RunFacts| Some((cell, run.number, run.emulator_trouble?));
        study.runs[cell]
            .iter()
            .filter_map(of_run)
            .collect::<Vec<_>>()
    };
    let everything = study.runs.iter().flatten().count().max(1) as f64;
    let mut kinds: BTreeMap<String, Vec<(usize, u64, EmulatorTrouble)>> = BTreeMap::new();
    for found in (0..study.cells.len()).flat_map(of_cell) {
        kinds.entry(found.2.kind()).or_default().push(found);
    }
    let much = |trouble: &EmulatorTrouble| match *trouble {
        EmulatorTrouble::Late(us, _) | EmulatorTrouble::Failed(us) => us,
    };
    let warning = |found: Vec<(usize, u64, EmulatorTrouble)>| {
        let mut cells: Vec<usize> = found.iter().map(|(cell, ..)| *cell).collect();
        cells.dedup();
        let all: usize = cells.iter().map(|cell| study.runs[*cell].len()).sum();
        let (_, run, worst) = found
            .iter()
            .max_by(|a, b| much(&a.2).total_cmp(&much(&b.2)))?;
        Some(Warning {
            name: "emulator_trouble",
            weight: found.len() as f64 / everything,
            cells: study.names(&cells),
            found: format!(
                "in {} of {all} runs {worst} (run {run}, the worst)",
                found.len()
            ),
            remedy: "these runs measure this machine and not the path: keep it idle, request a lower rate, or leave them out",
            headline: Some(format!(
                "in {} of {all} runs {}: these figures show this machine, not the path",
                found.len(),
                worst.in_short()
            )),
        })
    };
    kinds.into_values().filter_map(warning).collect()
}
