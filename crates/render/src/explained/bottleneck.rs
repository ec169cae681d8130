//! What limited a cell or an execution, for programs.

use bitcost_analysis::explain::{ExplainedCell, Limiter, Remedy, Verdict};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::text::remedy;

/// What limited a cell, or where only `words` and `shares` are there, several cells.
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct Bottleneck {
    /// The limiter with its evidence.
    #[serde(flatten)]
    pub verdict: Option<Verdict>,
    /// What limited several cells, in words.
    #[serde(rename = "words", skip_serializing_if = "Option::is_none")]
    pub of_cells: Option<String>,
    /// What to change to relax it, in words.
    pub remedy: Option<String>,
    /// What to change to relax it, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<Remedy>,
    /// Every limiter with its share, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shares: Option<Vec<Share>>,
    /// What the experiments of `--prove` show of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Value>,
}

/// A limiter with its share of the runs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Share {
    /// Its name.
    limiter: &'static str,
    /// The limiter in words.
    words: String,
    /// Its share, from 0 to 1.
    share: f64,
}

impl Bottleneck {
    /// What limited a cell; absent where no run of it can be explained.
    pub fn of(cell: &ExplainedCell) -> Option<Bottleneck> {
        let shares = cell.shares();
        Some(Bottleneck {
            verdict: Some(cell.verdict()?),
            of_cells: None,
            remedy: remedy(cell),
            remedies: cell.remedies.clone(),
            shares: (shares.len() > 1).then(|| Share::all(&shares)),
            proof: cell.proof.as_ref().map(|proof| json!(proof)),
        })
    }
}

impl Share {
    pub fn all(shares: &[(Limiter, f64)]) -> Vec<Share> {
        let of = |(limiter, share): &(Limiter, f64)| Share {
            limiter: limiter.name(),
            words: limiter.to_string(),
            share: *share,
        };
        shares.iter().map(of).collect()
    }
}
