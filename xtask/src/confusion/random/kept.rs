//! The folder of a series of situations: what was found of each, a line each, and the logs of the tests
//! that are judged. So a series is made in pieces, and judged again by another bitcost.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::truth::Truth;
use crate::programs::append;

const FILE: &str = "found.jsonl";

/// The first line: what is drawn depends on these.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Series {
    pub seed: u64,
    /// What a stream over the embedded wire reaches on this machine, in Mbit/s.
    pub able_mbps: f64,
}

/// What was found of a situation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Found {
    /// Its number, from 1 on.
    pub number: u32,
    pub situation: String,
    /// How its rate followed; absent where that is not known.
    pub truth: Option<Truth>,
    /// Why it is not known.
    pub why: String,
    /// How long it took, in seconds.
    pub seconds: f64,
}

pub struct Kept {
    folder: PathBuf,
    /// What it was begun with.
    pub series: Series,
    /// What was found so far.
    pub found: Vec<Found>,
}

impl Kept {
    /// The folder's series, which `begin` begins where there is none.
    pub fn open(folder: &Path, seed: u64, begin: impl FnOnce() -> Result<Series>) -> Result<Kept> {
        std::fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
        let path = folder.join(FILE);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let mut lines = text.lines();
        let series: Series = match lines.next() {
            Some(line) => serde_json::from_str(line)
                .with_context(|| format!("{} does not begin with a series", path.display()))?,
            None => {
                let series = begin()?;
                append(&path, &series)?;
                series
            }
        };
        let kept = series.seed;
        ensure!(kept == seed, "{} has seed {kept}", folder.display());
        // A line without its end is of a run that was killed.
        let whole = |line: &str| serde_json::from_str(line).ok();
        Ok(Kept {
            folder: folder.to_owned(),
            series,
            found: lines.filter_map(whole).collect(),
        })
    }

    /// The folder for the log of a situation.
    pub fn log(&self, number: u32) -> PathBuf {
        self.folder.join(number.to_string())
    }

    /// Adds what was found.
    pub fn add(&self, found: Found) -> Result<Found> {
        append(&self.folder.join(FILE), &found)?;
        Ok(found)
    }
}
