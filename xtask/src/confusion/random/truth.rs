//! What limits a situation: what its rate follows, found by changing one factor after the other.
//!
//! Runs of all changes are interleaved with unchanged ones. Each change is repeated until it is decided,
//! so what plainly does not matter costs one run. A factor is tightened only where relaxing it did not
//! already show that it limits, and what the verdict does not name is changed only where the rate does not
//! follow what it names.

use std::path::Path;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use super::command::{Answer, Measured, short};
use super::draw::Situation;
use super::factor::{Factor, Kind};
use super::remedy;

/// Most rounds over the changes that are not decided.
const ROUNDS: usize = 9;
/// How much more and how much less of a resource is tried. A small step down does not make a resource
/// the limiter that had some left; a large step up shows also what another limit soon ends.
const MORE: f64 = 2.0;
const LESS: f64 = 1.35;
/// Elasticity from which a factor limits: with more of it, and with less of it.
const FOLLOWS_MORE: f64 = 0.25;
const FOLLOWS_LESS: f64 = 0.3;
/// The least difference of two rates that counts, as a logarithm, whatever the spread of the runs.
const NOISE: f64 = 0.04;
/// The most by which unchanged runs may differ (twice their standard deviation), and by which they may differ from the test that is
/// judged, as logarithms: beyond that there is no truth.
const DRIFT: f64 = 0.3;
const APART: f64 = 0.3;

/// The most work on a message that a test takes, in ns.
const MOST_WORK_NS: f64 = 1e6;

/// What a change shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    Follows,
    DoesNot,
    /// The runs differ too much to tell.
    Open,
    /// A test with it is refused.
    Refused,
}

/// What the rate did when something was changed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Response {
    /// What was changed; absent of what the verdict advises.
    pub kind: Option<Kind>,
    pub words: String,
    /// By what the resource was multiplied.
    pub ratio: f64,
    /// The logarithm of the rate with the change ÷ that without it, of each pair of runs.
    pub logs: Vec<f64>,
    pub decision: Decision,
}

impl Response {
    /// The mean of its logarithms; absent where it was not tried.
    pub fn mean(&self) -> Option<f64> {
        let sum: f64 = self.logs.iter().sum();
        (!self.logs.is_empty()).then(|| sum / self.logs.len() as f64)
    }

    /// By how much the mean may be wrong, where unchanged runs differ by `noise`.
    fn margin(&self, noise: f64) -> f64 {
        let spread = spread(&self.logs).max(noise).max(NOISE);
        spread / (self.logs.len() as f64).sqrt()
    }

    /// Whether the rate rises with more of it.
    pub fn is_followed(&self) -> bool {
        let bound = FOLLOWS_MORE * self.ratio.ln();
        self.mean().is_some_and(|mean| mean >= bound)
    }

    /// Whether the rate is lower with it, beyond what runs differ by.
    pub fn lowers(&self, noise: f64) -> bool {
        let margin = self.margin(noise);
        self.logs.len() > 1 && self.mean().is_some_and(|mean| mean < -margin)
    }

    /// One more pair of runs. That the rate follows is believed only twice.
    fn add(&mut self, log: f64, noise: f64) {
        self.logs.push(log);
        let share = match self.ratio > 1.0 {
            true => FOLLOWS_MORE,
            false => FOLLOWS_LESS,
        };
        let bound = share * self.ratio.ln().abs();
        let towards = self.mean().unwrap_or(0.0) * self.ratio.ln().signum();
        let margin = self.margin(noise);
        self.decision = match self.kind {
            None if self.logs.len() > 1 => Decision::DoesNot,
            None => Decision::Open,
            Some(_) if towards + margin < bound => Decision::DoesNot,
            Some(_) if towards - margin > bound && self.logs.len() > 1 => Decision::Follows,
            Some(_) => Decision::Open,
        };
    }
}

/// What was found of a situation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Truth {
    pub responses: Vec<Response>,
    /// The rates of unchanged runs.
    pub unchanged: Vec<f64>,
    /// By how much these differ, as a logarithm.
    pub noise: f64,
}

/// Changes what the verdict names, and what it advises; where the rate does not follow what is named, each
/// other factor, and each end's CPU time.
pub fn truth(bitcost: &Path, situation: &Situation, answer: &Answer) -> Result<Truth> {
    let first = short(bitcost, situation)?;
    let judged = answer.rate;
    if (first.rate / judged).ln().abs() > APART {
        bail!(
            "no truth: short runs have {:.1}, the test {judged:.1}",
            first.rate
        );
    }
    let mut changes = changes(situation, &first);
    if Kind::WakeUps.names().contains(&answer.limiter.as_str()) {
        let kind = Kind::WakeUps;
        let factor = Factor { kind, value: 0.0 };
        let changed = situation.with(factor);
        changes.push(change(Some(kind), factor.to_string(), changed, MORE));
    }
    let advised = remedy::made(situation, &answer.remedies).into_iter();
    changes.extend(advised.map(|(words, situation)| change(None, words, situation, MORE)));
    let is_named = |response: &Response| {
        let mut kinds = response.kind.into_iter();
        kinds.all(|kind| kind.names().contains(&answer.limiter.as_str()))
    };
    let mut unchanged = vec![first.rate];
    let mut is_all = false;
    for _ in 0..ROUNDS {
        let wanted = |changes: &[(Response, Situation)], is_all: bool| -> Vec<usize> {
            let all = 0..changes.len();
            all.filter(|index| is_all || is_named(&changes[*index].0))
                .filter(|index| is_wanted(changes, *index))
                .collect()
        };
        let mut now = wanted(&changes, is_all);
        let mut responses = changes.iter().map(|(response, _)| response);
        if now.is_empty() && !responses.any(|one| one.decision == Decision::Follows) {
            is_all = true;
            now = wanted(&changes, true);
        }
        if now.is_empty() {
            break;
        }
        let mut made = Vec::new();
        for index in now {
            match short(bitcost, &changes[index].1) {
                Ok(measured) => made.push((index, measured.rate)),
                Err(_) => changes[index].0.decision = Decision::Refused,
            }
        }
        let before = unchanged[unchanged.len() - 1];
        let after = short(bitcost, situation)?.rate;
        unchanged.push(after);
        let noise = noise(&unchanged);
        if noise > DRIFT {
            bail!("no truth: unchanged runs differ: {unchanged:.1?}");
        }
        for (index, rate) in made {
            let log = (rate / (before * after).sqrt()).ln();
            changes[index].0.add(log, noise);
        }
    }
    Ok(Truth {
        responses: changes.into_iter().map(|(response, _)| response).collect(),
        noise: noise(&unchanged),
        unchanged,
    })
}

/// Whether a change is still to be tried: it is open, and more of the same did not show that it limits.
fn is_wanted(changes: &[(Response, Situation)], index: usize) -> bool {
    let this = &changes[index].0;
    if this.decision != Decision::Open {
        return false;
    }
    let mut more = changes[..index].iter().map(|(response, _)| response);
    this.kind.is_none()
        || more.all(|other| {
            other.kind != this.kind
                || matches!(other.decision, Decision::DoesNot | Decision::Refused)
        })
}

/// Twice the standard deviation of logarithms; of two the whole difference.
fn spread(logs: &[f64]) -> f64 {
    let count = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    match logs {
        [] | [_] => 0.0,
        [one, other] => (one - other).abs(),
        _ => 2.0 * (squares / (count - 1.0)).sqrt(),
    }
}

fn noise(rates: &[f64]) -> f64 {
    let logs: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
    spread(&logs)
}

fn change(
    kind: Option<Kind>,
    words: String,
    situation: Situation,
    ratio: f64,
) -> (Response, Situation) {
    let response = Response {
        kind,
        words,
        ratio,
        logs: Vec::new(),
        decision: Decision::Open,
    };
    (response, situation)
}

fn changes(situation: &Situation, unchanged: &Measured) -> Vec<(Response, Situation)> {
    let mut changes = Vec::new();
    for factor in &situation.factors {
        let kind = factor.kind;
        for ratio in [MORE, 1.0 / LESS] {
            let value = kind.scaled(factor.value, ratio);
            if value != factor.value {
                let factor = Factor { kind, value };
                let changed = situation.with(factor);
                changes.push(change(Some(kind), factor.to_string(), changed, ratio));
            }
        }
    }
    // An end has a CPU, whatever the number of its flows.
    let added_ns = (LESS - 1.0) * 1e9 / unchanged.messages.max(1.0);
    let ends = [
        (Kind::SenderCpu, Kind::SendWork),
        (Kind::ReceiverCpu, Kind::ReceiveWork),
    ];
    // Of transactions each waits for both ends, however idle these are.
    for (kind, work) in ends.into_iter().filter(|_| situation.workload != "rr") {
        let worked = situation.value(work).unwrap_or(0.0);
        let value = (worked + added_ns).min(MOST_WORK_NS);
        if value - worked < added_ns / 2.0 {
            // Of so few messages none takes as much CPU time as there is.
            continue;
        }
        let factor = Factor { kind: work, value };
        let changed = situation.with(factor);
        let each_ns = added_ns / (LESS - 1.0);
        let ratio = each_ns / (each_ns + value - worked);
        changes.push(change(Some(kind), factor.to_string(), changed, ratio));
    }
    changes
}
