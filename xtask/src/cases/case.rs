//! The public cases of a folder, and how `bitcost test` makes the traffic of each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::programs::output;

/// The length of a test, in seconds.
pub const SECONDS: f64 = 4.0;

/// What `case.toml` says.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Case {
    /// Such as `paths/03-window-scale-stripped`.
    pub name: String,
    pub class: String,
    pub cause: String,
    pub cure: String,
    /// Words of a right verdict, and of one that is true of a symptom but leads to another cure.
    pub accepted: Vec<String>,
    pub half_right: Vec<String>,
    /// `rate`, `latency` or `loss`.
    pub metric: String,
    /// How a test makes its traffic, where that is no row of `own.toml`.
    #[serde(skip_serializing)]
    pub bitcost: Own,
}

/// How a test makes the traffic, as `own.toml` describes it.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Own {
    #[serde(skip)]
    pub folder: PathBuf,
    pub test: String,
    pub cured: String,
    pub client: String,
    pub server: String,
    pub beside: String,
    pub cure_words: Vec<String>,
    /// The namespace and the connection of its own programs, as in `foreign.toml`.
    pub foreign: [String; 2],
}

/// The file of this name.
#[derive(Deserialize)]
pub struct Table {
    own: BTreeMap<String, Own>,
}

impl Table {
    /// The cases below a folder whose name contains this, in the order of their names.
    pub fn cases(&self, folder: &Path, only: &str) -> Result<Vec<(Case, Own)>> {
        let mut list = Command::new("sh");
        let list = list.args(["-c", "ls -d */cases/*/ [0-9]*/ 2>&-; :"]);
        let list = list.current_dir(folder);
        let mut cases = Vec::new();
        for line in output(list)?.lines() {
            let name = line.trim_end_matches('/').replacen("/cases/", "/", 1);
            if !name.contains(only) {
                continue;
            }
            let place = folder.join(line);
            let text = std::fs::read_to_string(place.join("case.toml")).context(name.clone())?;
            let case: Case = toml_edit::de::from_str(&text).context(name.clone())?;
            let row = self.own.get(name.split('-').next().unwrap_or_default());
            let mut own = row.unwrap_or(&case.bitcost).clone();
            own.folder = place;
            cases.push((Case { name, ..case }, own));
        }
        Ok(cases)
    }
}

impl Case {
    /// A healthy case, which has no cure.
    pub fn is_control(&self) -> bool {
        self.name.contains("/9")
    }
}
