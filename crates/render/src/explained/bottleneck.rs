//! What limited a cell or an execution, for programs.

use bitcost_analysis::explain::{
    Bound, Candidate, Evidence, ExplainedCell, Limiter, Others, Verdict, stop_others,
};
use bitcost_model::record::Role;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// What limited a cell, or where only `words` and `shares` are there, several cells.
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct Bottleneck {
    /// The limiter's name, as in docs/reference/limiters.md.
    pub limiter: Option<&'static str>,
    /// The limiter in words, with its place.
    pub words: String,
    /// More about it, in words.
    pub detail: Option<String>,
    /// The share of the time for which it was the limiter, from 0 to 1.
    pub share: Option<f64>,
    /// `low`, `medium`, `high` or `proved`.
    pub confidence: Option<&'static str>,
    /// The evidence for it.
    pub evidence: Option<Vec<Counted>>,
    /// The next best limiter.
    pub runner_up: Option<Other>,
    /// What to change to relax it.
    pub remedy: Option<String>,
    /// CPU time that other programs took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<OthersTime>,
    /// Every limiter with its share, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shares: Option<Vec<Share>>,
    /// What the experiments of `--prove` show of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Value>,
}

/// The value of a counter, and the bound that it must keep.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Counted {
    /// What was counted, in words.
    counter: String,
    /// Its value.
    value: f64,
    /// Its unit.
    unit: &'static str,
    /// The bound from which on it is evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_least: Option<f64>,
    /// The bound up to which it is evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_most: Option<f64>,
    /// Whether the value keeps the bound.
    holds: bool,
}

/// Another limiter that was considered.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Other {
    /// Its name.
    limiter: &'static str,
    /// The limiter in words.
    words: String,
    /// The evidence for and against it.
    evidence: Vec<Counted>,
}

/// CPU time of other programs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OthersTime {
    /// The role of the host on which they ran.
    role: Option<&'static str>,
    /// Their time, in percent of one CPU.
    pct_of_a_cpu: f64,
    /// The program that took most of it.
    most: Option<String>,
    /// The same in words.
    words: String,
    /// What to do before the remedy of the limiter.
    remedy: String,
}

/// A limiter with its share.
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
            shares: (shares.len() > 1).then(|| Share::all(&shares)),
            proof: cell.proof.as_ref().map(|proof| json!(proof)),
            ..Bottleneck::of_verdict(&cell.verdict()?)
        })
    }

    /// A verdict with its evidence.
    pub fn of_verdict(verdict: &Verdict) -> Bottleneck {
        Bottleneck {
            limiter: Some(verdict.limiter().name()),
            words: verdict.limiter().to_string(),
            detail: Some(verdict.chosen.detail.clone()),
            share: Some(verdict.share),
            confidence: Some(verdict.confidence.name()),
            evidence: Some(Counted::all(&verdict.chosen)),
            runner_up: verdict.runner_up.as_ref().map(|next| Other {
                limiter: next.limiter.name(),
                words: next.limiter.to_string(),
                evidence: Counted::all(next),
            }),
            remedy: Some(verdict.remedy().to_owned()),
            others: verdict
                .others
                .as_ref()
                .map(|others| OthersTime::of(others, verdict.limiter())),
            shares: None,
            proof: None,
        }
    }
}

impl Counted {
    fn all(candidate: &Candidate) -> Vec<Counted> {
        candidate.evidence.iter().map(Counted::of).collect()
    }

    fn of(evidence: &Evidence) -> Counted {
        let (at_least, at_most) = match evidence.bound {
            Bound::AtLeast(bound) => (Some(bound), None),
            Bound::AtMost(bound) => (None, Some(bound)),
        };
        Counted {
            counter: evidence.counter.clone(),
            value: evidence.value,
            unit: evidence.unit,
            at_least,
            at_most,
            holds: evidence.margin() >= 0.0,
        }
    }
}

impl OthersTime {
    fn of(others: &Others, limiter: &Limiter) -> OthersTime {
        OthersTime {
            role: others.role.map(Role::name),
            pct_of_a_cpu: others.pct,
            most: others.most.clone(),
            words: others.to_string(),
            remedy: stop_others(others, limiter),
        }
    }
}

impl Share {
    /// These limiters with their shares.
    pub fn all(shares: &[(Limiter, f64)]) -> Vec<Share> {
        let of = |(limiter, share): &(Limiter, f64)| Share {
            limiter: limiter.name(),
            words: limiter.to_string(),
            share: *share,
        };
        shares.iter().map(of).collect()
    }
}
