//! The whole explanation of an execution or of a table of runs.

use crate::explain::cells::ExplainedCell;
use crate::explain::cost::CostModel;
use crate::explain::warnings::Warning;

/// Why the runs were not faster, as far as it is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// What is explained.
    pub title: String,
    /// Its cells.
    pub cells: Vec<ExplainedCell>,
    /// Cost models, each with the names of its cells; an empty name means all cells.
    pub costs: Vec<(String, CostModel)>,
    /// Warnings for the reader of the result.
    pub warnings: Vec<Warning>,
    /// Further findings, one sentence each.
    pub remarks: Vec<String>,
}
