//! The times at which a run reads the counters of its hosts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The times at which counters are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Probes {
    /// At the window's edges and every 100 ms between them.
    #[default]
    All,
    /// At the window's edges alone.
    Edges,
}

impl Probes {
    /// The words that studies use.
    pub const WORDS: [&str; 2] = ["all", "edges"];

    /// The word that studies use.
    pub fn name(self) -> &'static str {
        match self {
            Probes::All => "all",
            Probes::Edges => "edges",
        }
    }

    /// The value of this name.
    pub fn named(word: &str) -> Option<Probes> {
        [Probes::All, Probes::Edges]
            .into_iter()
            .find(|probes| probes.name() == word)
    }
}
