//! What is doubtful about the result of a study: one sentence each, with the remedy.

mod factors;
mod hosts;
mod order;
mod runs;

use std::collections::BTreeMap;

use metrics::{LineTrouble, RunView};
use model::event::EndDescription;
use model::study::Cell;
use serde_json::{Value, json};

use crate::cells::ExplainedCell;
use crate::figures::RunFigures;

/// A doubt about a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lint {
    /// Which check found it.
    pub name: &'static str,
    /// The cell, or several, or nothing where it is of all.
    pub cell: String,
    /// What was found, with its numbers.
    pub found: String,
    /// What to do.
    pub remedy: &'static str,
}

/// What the checks must know of a run beside its figures.
#[derive(Clone, Debug)]
pub struct RunFacts {
    /// Its number in the order of execution, from 1.
    number: u64,
    /// The active offload bits of sender and receiver.
    active: [BTreeMap<String, bool>; 2],
    /// How far a CPU's frequency changed at each end, as a share; of ends that tell it.
    frequency_changes: Vec<f64>,
    /// Whether something else took much of the CPUs' time.
    is_disturbed: bool,
    /// What the lab's delay lines did wrong.
    line_trouble: Option<LineTrouble>,
}

impl RunFacts {
    /// Those of a run.
    pub fn of(number: u64, view: &RunView) -> RunFacts {
        let ends = [view.sender, view.receiver];
        RunFacts {
            number,
            active: ends.map(|end| end.offloads.active.clone()),
            frequency_changes: ends.into_iter().filter_map(hosts::change).collect(),
            is_disturbed: metrics::foreign_pct(view).is_some(),
            line_trouble: metrics::line_trouble(view),
        }
    }
}

/// What the checks look at.
pub struct Study<'a> {
    /// Its cells.
    pub cells: &'a [Cell],
    /// The runs of each cell in the order of execution.
    pub runs: &'a [Vec<RunFacts>],
    /// The same with their figures.
    pub explained: &'a [ExplainedCell],
    /// Both ends.
    pub ends: &'a [EndDescription],
    /// The seed of the execution.
    pub seed: u64,
}

/// A check.
type Check = fn(&Study) -> Vec<Lint>;

/// Every check.
const CHECKS: [Check; 9] = [
    runs::too_few,
    order::drift,
    factors::together,
    factors::without_effect,
    runs::rate_missed,
    runs::foreign_load,
    runs::line_trouble,
    hosts::governor,
    hosts::frequency,
];

/// Every doubt.
pub fn lints(study: &Study) -> Vec<Lint> {
    CHECKS.iter().flat_map(|check| check(study)).collect()
}

impl Study<'_> {
    /// The figures of a cell's runs.
    fn figures(&self, cell: usize) -> impl Iterator<Item = &RunFigures> {
        self.explained[cell].runs.iter().map(|run| &run.figures)
    }

    fn name(&self, cell: usize) -> String {
        crate::execution::name(&self.cells[cell])
    }

    /// Names of cells for one line; nothing where it is all of them.
    fn list(&self, cells: &[usize]) -> String {
        let names: Vec<String> = cells.iter().map(|cell| self.name(*cell)).collect();
        if cells.len() == self.cells.len() { String::new() } else { crate::alike::list(&names) }
    }
}

impl Lint {
    /// One line.
    pub fn line(&self) -> String {
        let cell = if self.cell.is_empty() { String::new() } else { format!("{}: ", self.cell) };
        format!("doubt: {cell}{}; {}\n", self.found, self.remedy)
    }

    /// For programs.
    pub fn json(&self) -> Value {
        json!({ "lint": self.name, "cell": self.cell, "found": self.found, "remedy": self.remedy })
    }
}
