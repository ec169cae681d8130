//! What the log says of an execution.

use bitcost_model::constants::MachineConstants;
use bitcost_model::event::EndpointDescription;
use bitcost_model::ping::RttFigures;
use bitcost_model::study::{Cell, LabSpec, Label};
use bitcost_study::Study;
use schemars::JsonSchema;
use serde::Serialize;

use super::answered::Answered;
use super::improvement::ImprovementSummary;
use super::precision::Precision;
use crate::cells::{CellSummary, ExcludedRun, Places, RunRow, used_by_cell};
use crate::checks::CheckSummary;

/// A note for the reader of the figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Note {
    /// The name of the cell that it is about; absent if it is not about a single cell.
    pub cell: Option<String>,
    /// One sentence.
    #[serde(rename = "note")]
    pub text: String,
    /// The number of used runs for which it holds.
    pub runs: usize,
}

/// What the log says of an execution: the reader fills what is known before any run, and
/// `complete` adds the figures.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Summary {
    /// The study, read again from the log.
    #[serde(skip)]
    pub study: Study,
    /// Seed of the order of runs.
    pub seed: u64,
    /// Planned blocks.
    pub blocks: u32,
    /// Version of bitcost that wrote the log.
    pub bitcost_version: String,
    /// Local time of the start, with offset (RFC 3339).
    pub began_at: String,
    /// The command line.
    pub command_line: Vec<String>,
    /// The lab; absent between named hosts.
    pub lab: Option<Box<LabSpec>>,
    /// Whether the runs are of other programs, read from their files.
    #[serde(skip)]
    pub is_imported: bool,
    /// Whether the execution came to its end.
    #[serde(skip)]
    pub is_ended: bool,
    /// Whether the hosts of every run with a result of our own were described before the run.
    #[serde(skip)]
    pub is_placed: bool,
    /// The cells as they were planned.
    #[serde(skip)]
    pub planned: Vec<Cell>,
    /// Caveats of the log itself, such as damage, a sentence each.
    #[serde(skip)]
    pub caveats: Vec<String>,
    /// Whether both endpoints run on the same CPUs.
    #[serde(skip)]
    pub shared_cpus: bool,
    /// Both endpoints; empty where the execution stopped before it found them.
    #[serde(skip)]
    pub ends: Vec<EndpointDescription>,
    /// Every cell of the plan.
    #[serde(skip)]
    pub cells: Vec<CellSummary>,
    /// How much better one level of a factor is than another, where the study asks for that.
    pub improvements: Vec<ImprovementSummary>,
    /// The figures of each of the study's sentences; absent where they are not all measured.
    #[serde(skip)]
    pub answers: Vec<Option<Answered>>,
    /// The document's statements and whether they hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub checks: Vec<CheckSummary>,
    /// Runs that are in no cell.
    pub excluded: Vec<ExcludedRun>,
    /// Requests on the place that are not in effect, a sentence each.
    pub place_notes: Vec<String>,
    /// The constants of the hosts, measured before the first run.
    #[serde(rename = "host_constants", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub constants: Vec<MachineConstants>,
    /// The round trip of the lab's path before the first run, in microseconds; absent where none was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_rtt_us: Option<RttFigures>,
    /// Requests that are not in effect, and other notes on the runs.
    pub notes: Vec<Note>,
    /// The result of the study's stop rule; absent where it has none.
    #[serde(rename = "until_interval", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub precision: Option<Precision>,
    /// Planned runs without a result that did not fail, by their place in the order, from 0.
    #[serde(rename = "incomplete_runs")]
    pub incomplete: Vec<u32>,
    /// Every planned run, in order.
    #[serde(skip)]
    pub runs: Vec<RunRow>,
    #[serde(skip)]
    pub(crate) places: Places,
}

impl Summary {
    pub fn used(&self) -> Vec<Vec<&RunRow>> {
        used_by_cell(&self.runs, self.cells.len())
    }

    pub fn has_used(&self) -> bool {
        self.cells.iter().any(|cell| cell.runs > 0)
    }

    pub fn has(&self, name: &str) -> bool {
        let mut cells = self.cells.iter();
        cells.any(|cell| cell.figures.contains_key(name))
    }

    /// The place of the cell with these levels.
    pub(crate) fn place(&self, levels: &[(String, Label)]) -> Option<usize> {
        self.places.index(&self.cells, levels)
    }

    pub fn cell(&self, levels: &[(String, Label)]) -> Option<&CellSummary> {
        self.cells.get(self.place(levels)?)
    }
}
