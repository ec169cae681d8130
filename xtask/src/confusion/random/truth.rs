//! What limits a situation: what its rate follows, found by changing one factor after the other.

use std::path::Path;

use anyhow::{Context, Result};
use bitcost_stats::median;

use super::command::test;
use super::draw::Situation;
use super::factor::{Factor, Kind};

/// Length of a run, in seconds.
const SECONDS: &str = "1";
/// Repeats of each change, interleaved with runs that are not changed.
const REPEATS: usize = 2;
/// How much more and how much less of a resource is tried. A small step down does not make a resource
/// the limiter that had some left; a large step up shows also what another limit soon ends.
const MORE: f64 = 2.0;
const LESS: f64 = 1.25;
/// By how much less CPU time a message has: the sender's or the receiver's work makes it this much
/// longer.
const WORK: f64 = 1.3;
/// Elasticity from which a factor limits: with more of it, and with less of it.
const FOLLOWS_MORE: f64 = 0.25;
const FOLLOWS_LESS: f64 = 0.5;

/// A factor with how the rate followed it, as elasticities.
#[derive(Debug)]
pub struct Response {
    /// What was changed.
    pub kind: Kind,
    /// With more of it; absent where there can be no more.
    pub more: Option<f64>,
    /// With less of it.
    pub less: Option<f64>,
}

impl Response {
    /// Whether the rate follows it.
    pub fn limits(&self) -> bool {
        self.more.is_some_and(|more| more >= FOLLOWS_MORE)
            || self.less.is_some_and(|less| less >= FOLLOWS_LESS)
    }
}

/// A change of a situation: of which kind, which situation, and by what the resource is multiplied.
struct Change {
    kind: Kind,
    situation: Situation,
    ratio: f64,
}

/// Changes each factor, and each end's CPU time.
///
/// # Errors
/// When a run fails.
pub fn responses(bitcost: &Path, situation: &Situation) -> Result<Vec<Response>> {
    let base = test(bitcost, situation, SECONDS, false)?;
    let changes = changes(situation, base.messages);
    let mut unchanged = vec![base.rate];
    let mut rates = vec![Vec::new(); changes.len()];
    for _ in 0..REPEATS {
        for (change, rates) in changes.iter().zip(&mut rates) {
            rates.push(test(bitcost, &change.situation, SECONDS, false)?.rate);
        }
        unchanged.push(test(bitcost, situation, SECONDS, false)?.rate);
    }
    let base = median(&unchanged).context("no rate")?;
    let mut responses: Vec<Response> = Vec::new();
    for (change, rates) in changes.into_iter().zip(rates) {
        let elasticity = (median(&rates).context("no rate")? / base).ln() / change.ratio.ln();
        let place = responses.iter().position(|known| known.kind == change.kind);
        let place = place.unwrap_or_else(|| {
            responses.push(Response {
                kind: change.kind,
                more: None,
                less: None,
            });
            responses.len() - 1
        });
        match change.ratio > 1.0 {
            true => responses[place].more = Some(elasticity),
            false => responses[place].less = Some(elasticity),
        }
    }
    Ok(responses)
}

fn changes(situation: &Situation, messages_per_second: f64) -> Vec<Change> {
    let mut changes = Vec::new();
    for factor in &situation.factors {
        for ratio in [MORE, 1.0 / LESS] {
            let value = factor.kind.scaled(factor.value, ratio);
            if value != factor.value {
                let kind = factor.kind;
                changes.push(Change {
                    kind,
                    situation: situation.with(Factor { kind, value }),
                    ratio,
                });
            }
        }
    }
    let flows = situation.value(Kind::Flows).unwrap_or(1.0);
    let added_ns = (WORK - 1.0) * flows * 1e9 / messages_per_second.max(1.0);
    let ends = [
        (Kind::SenderCpu, Kind::SendWork),
        (Kind::ReceiverCpu, Kind::ReceiveWork),
    ];
    // Of transactions each waits for both ends, however idle these are.
    for (kind, work) in ends.into_iter().filter(|_| situation.workload != "rr") {
        let value = situation.value(work).unwrap_or(0.0) + added_ns;
        changes.push(Change {
            kind,
            situation: situation.with(Factor { kind: work, value }),
            ratio: 1.0 / WORK,
        });
    }
    changes
}
