//! Experiments on a run: short trials with a change, what they show, and what they decided.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

words! {
    /// What a search looks for.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Goal {
        /// The highest throughput.
        #[default]
        Rate = "rate",
        /// The least CPU time of both endpoints per KiB.
        Cost = "cost",
    }
}

/// Settings of a run that an experiment changes: name to value, as on the command line.
pub type Changes = BTreeMap<String, String>;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// What was delivered, in Mbit/s; of transactions, their number per second.
    pub rate: f64,
    /// CPU time of both endpoints, in µs per KiB received, or per transaction; absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_us: Option<f64>,
}

/// One short run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// The round, from 0.
    pub round: u32,
    /// The settings that differ from those of the test; none: it is unchanged.
    pub settings: Changes,
    /// Length of its window, in milliseconds.
    pub window_ms: u32,
    /// What it measured; absent where it has no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
    /// Why it has no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "what", content = "because", rename_all = "snake_case")]
pub enum Decision {
    /// What limits the test: `bitcost_analysis::explain::Proof`.
    Bottleneck(Value),
    /// What makes the test, or a cell that asks for it, faster or cheaper: `bitcost_analysis::experiment::Ladder`.
    Changes(Value),
}
