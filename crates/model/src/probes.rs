//! The times at which a run reads the counters of its hosts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

words! {
    /// The times at which counters are read.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Probes {
        /// At the window's edges and every 100 ms between them.
        #[default]
        All = "all",
        /// At the window's edges alone.
        Edges = "edges",
    }
}
