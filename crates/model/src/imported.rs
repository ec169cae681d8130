//! The content of another program's result file about one run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::study::Label;

/// The level of a run whose file does not name it: a label in tables, and no value where values are
/// read.
pub const NOT_SAID: &str = "not said";

/// One run of another program. Everything that its file does not say is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedRun {
    /// The program: `netperf`, `iperf3`.
    pub tool: String,
    pub file: String,
    /// The settings of the run by the names of factors, including settings that are no factor
    /// because all runs of the execution share them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, Label>,
    /// The start of the run, as the file writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_at: Option<String>,
    /// Metrics, by bitcost's names.
    pub figures: BTreeMap<String, f64>,
    /// The width of the interval that the program itself gives a metric, in per cent of its figure.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub widths_pct: BTreeMap<String, f64>,
    /// The confidence level of these intervals, in per cent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level_pct: Option<f64>,
    /// Caveats of the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
