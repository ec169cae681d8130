//! A plan: every run of an execution, in order.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::at_most::at_most;
use crate::conditions::Conditions;
use crate::study::Cell;

/// The changes of a study's lengths by the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lengths {
    /// Blocks, instead of the study's.
    pub blocks: Option<u32>,
    /// Measured window of each run, in milliseconds, instead of the study's.
    pub duration_ms: Option<u32>,
    /// Counts after which bounded runs end, in per cent of the study's counts.
    pub counts_pct: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedRun {
    /// Its place in the order, from 0.
    pub index: u32,
    /// The block that it belongs to, from 0.
    pub block: u32,
    /// Which of [`Plan::cells`] it runs.
    pub cell: usize,
}

/// Every run of an execution, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    pub seed: u64,
    pub blocks: u32,
    /// The changes of the study's lengths by the command line; absent in
    /// plans that no study made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lengths: Option<Lengths>,
    /// Whether each run is made once more to be profiled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_profiled: bool,
    #[serde(deserialize_with = "at_most::<100_000, _, _>")]
    pub cells: Vec<Cell>,
    /// The runs in the order of execution.
    #[serde(deserialize_with = "at_most::<200_000, _, _>")]
    pub runs: Vec<PlannedRun>,
}

impl Plan {
    /// The plan of one run under these conditions, without a study.
    pub fn of_one(conditions: Conditions) -> Plan {
        let cells = vec![Cell {
            levels: Vec::new(),
            conditions,
        }];
        let runs = vec![PlannedRun {
            index: 0,
            block: 0,
            cell: 0,
        }];
        Plan {
            seed: 0,
            blocks: 1,
            lengths: None,
            is_profiled: false,
            cells,
            runs,
        }
    }

    /// The place of the run with this number; absent where the plan has none.
    pub fn place_of(&self, run: u32) -> Option<usize> {
        let is_it = |place: &usize| self.runs.get(*place).is_some_and(|of| of.index == run);
        let usual = Some(run as usize).filter(is_it);
        usual.or_else(|| (0..self.runs.len()).find(is_it))
    }

    /// The cell of the run with this number; absent where the plan has none.
    pub fn cell_of(&self, run: u32) -> Option<&Cell> {
        self.cells.get(self.runs[self.place_of(run)?].cell)
    }

    /// The time that one run of a cell takes together with its profiled twin, if it has one.
    pub fn time_with_twin(&self, cell: usize) -> Duration {
        self.cells[cell].conditions.run_time() * (1 + u32::from(self.is_profiled))
    }

    /// The time that all runs take, including the idle measurement before each block.
    pub fn total_time(&self) -> Duration {
        let runs = self.runs.iter().map(|run| self.time_with_twin(run.cell));
        let runs: Duration = runs.sum();
        runs + self.idle_baseline() * self.blocks
    }

    /// The time for which the idle hosts are measured before each block: the longest of all cells.
    pub fn idle_baseline(&self) -> Duration {
        self.cells
            .iter()
            .map(|cell| cell.conditions.idle_baseline())
            .max()
            .unwrap_or_default()
    }
}
