//! Each planned run: what became of it, and its figures.

use std::collections::BTreeMap;
use std::rc::Rc;

use bitcost_model::Unavailable;
use bitcost_model::study::Label;
use schemars::JsonSchema;
use serde::Serialize;

use crate::explain::Kept;
use crate::metrics::{Figures, Method, Metric, SingleRun, SoftirqMeans};
use crate::profile::RunProfile;
use bitcost_model::as_map::as_map;

bitcost_model::words! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Status {
        Used = "used",
        LeftOut = "left_out",
        /// An endpoint died, hung, or could not do what was requested.
        Failed = "failed",
        Lost = "lost",
        Interrupted = "interrupted",
        #[default]
        Missing = "missing",
    }
}

/// What is said of a run, and often of many alike.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Told {
    /// Why its CPU time was not attributed.
    pub unattributed: Option<String>,
    pub notes: Vec<String>,
    /// Notes that are about its cell.
    pub of_cell: Vec<String>,
}

/// A run of the plan; what it does not have, or what its records do not give, is absent.
#[derive(Clone, Debug, Default)]
pub struct RunRow {
    /// Its place in the order, from 0.
    pub run: u32,
    /// Its block, from 0.
    pub block: u32,
    /// Its cell, as an index into [`crate::summary::Summary::cells`].
    pub cell: usize,
    pub status: Status,
    /// Why the run is not used in its cell.
    pub reason: Option<String>,
    /// Whether it failed because a host lacks something that it asks for.
    pub host_lacks: bool,
    /// Local time of its start, with offset (RFC 3339).
    pub began_at: Option<String>,
    pub method: Option<Method>,
    /// By which means the time of soft interrupts is known, where the method uses it.
    pub(crate) softirqs: Option<SoftirqMeans>,
    /// Whether other programs took much of the CPUs' time ([`crate::metrics::disturbance()`]).
    pub is_disturbed: bool,
    pub figures: Figures,
    /// The errors of figures that a plan of one block has.
    pub singles: BTreeMap<&'static str, SingleRun>,
    /// The width of the interval that another program gives a metric, in per cent of its figure.
    pub(crate) widths_pct: BTreeMap<String, f64>,
    /// The confidence level of these intervals, in per cent.
    pub(crate) level_pct: Option<f64>,
    /// The place of the event that holds its outcome ([`bitcost_model::event::Events::each`]).
    pub event: Option<usize>,
    /// Requested settings that are not in effect, a sentence each.
    pub not_in_effect: Vec<String>,
    /// Why and after which time it ended, where that was before its own.
    pub interrupted: Option<String>,
    /// What may change how its figures are read, a sentence each; for a plan of one cell.
    pub caveats: Vec<String>,
    /// What else is said of it.
    pub(crate) told: Option<Rc<Told>>,
    /// The CPU time of its profiled twin by layer, or why that is left out.
    pub profiled: Option<Result<Rc<RunProfile>, Unavailable>>,
    /// What explains it, unless there are very many runs.
    pub(crate) kept: Option<Rc<Kept>>,
}

impl RunRow {
    pub fn is_used(&self) -> bool {
        self.status == Status::Used
    }

    pub fn value(&self, metric: &Metric) -> Option<f64> {
        self.figures.get(metric.name)
    }

    pub fn used_value(&self, metric: &Metric) -> Option<f64> {
        self.value(metric).filter(|_| self.is_used())
    }
}

/// The used runs of each of so many cells, in order.
pub(crate) fn used_by_cell(rows: &[RunRow], cells: usize) -> Vec<Vec<&RunRow>> {
    let mut used = vec![Vec::new(); cells];
    let rows = rows.iter().filter(|row| row.is_used());
    rows.for_each(|row| used[row.cell].push(row));
    used
}

/// A run that is in no cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExcludedRun {
    /// Its place in the order, from 0.
    pub run: u32,
    /// Its block, from 0.
    pub block: u32,
    /// The levels of its cell.
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "BTreeMap<String, Label>")]
    pub levels: Vec<(String, Label)>,
    /// Why the run is in no cell.
    pub reason: String,
}
