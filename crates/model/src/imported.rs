//! What the file of another program tells of a run that it made.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::Role;
use crate::study::Label;

/// The level of a run whose file does not say it: a label in tables, nothing where values are read.
pub const NOT_SAID: &str = "not said";

/// One run of another program. What its file does not say is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImportedRun {
    /// The program: `netperf`, `iperf3`.
    pub tool: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_version: Option<String>,
    /// The file.
    pub file: String,
    /// Where in the file: a line from 1, or which of its documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// What was set, by the names of factors, also where it is no factor of the execution because all its runs have the same.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, Label>,
    /// When the run began, as the file says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_at: Option<String>,
    /// Metrics by the names of our own.
    pub figures: BTreeMap<String, f64>,
    /// What the file says beside them, by the names that it uses.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
    /// Stretches of the run, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<ImportedInterval>,
    /// What a reader of the figures must know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One stretch of a run at one end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedInterval {
    /// The end that saw it.
    pub end: Role,
    /// Its begin, in seconds since the run's.
    pub begin_s: f64,
    /// Its end.
    pub end_s: f64,
    /// Figures by the names of the columns of intervals.
    pub figures: BTreeMap<String, f64>,
}
