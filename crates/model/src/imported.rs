//! The content of another program's result file about one run.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::as_map::as_map;
use crate::record::Role;
use crate::study::Label;

/// The level of a run whose file does not name it: a label in tables, and no value where values are
/// read.
pub const NOT_SAID: &str = "not said";

/// One run of another program. Everything that its file does not say is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedRun {
    /// The program: `netperf`, `iperf3`.
    pub tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_version: Option<String>,
    pub file: String,
    /// The place in the file: a line from 1, or the number of its document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
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
    /// Intervals of the run, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<ImportedInterval>,
    /// Caveats of the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedInterval {
    pub end: Role,
    /// Its start, in seconds after the start of the run.
    pub begin_s: f64,
    /// Its end, in seconds after the start of the run.
    pub end_s: f64,
    /// Metrics, by bitcost's names: few of many intervals, which maps would take more memory for.
    #[serde(serialize_with = "as_map", deserialize_with = "of_map")]
    #[schemars(with = "BTreeMap<String, f64>")]
    pub figures: Vec<(Cow<'static, str>, f64)>,
}

impl ImportedInterval {
    pub fn figure(&self, name: &str) -> Option<f64> {
        let of = self.figures.iter().find(|(known, _)| known == name);
        of.map(|(_, value)| *value)
    }
}

fn of_map<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(Cow<'static, str>, f64)>, D::Error> {
    let map = BTreeMap::<String, f64>::deserialize(from)?;
    let pairs = map.into_iter().map(|(name, value)| (name.into(), value));
    Ok(pairs.collect())
}
