//! A round: the runs of some changes, interleaved with unchanged ones, and what they show of each change.

use std::cmp::Reverse;
use std::time::Duration;

use bitcost_model::Unavailable;
use bitcost_model::conditions::Conditions;
use bitcost_model::plan::RUN_OVERHEAD;
use bitcost_model::record::EndpointRecord;
use bitcost_model::search::Goal;
use bitcost_stats::{Interval, Scale, change, median, median_interval, paired_change};

use super::base::{Side, rate_metric};
use super::change::Change;
use super::ladder::{BLOCKS_LEAST, FINALISTS, LARGE, Measured, WORTH};
use crate::explain::Load;
use crate::log::{PlaceFacts, left_out, not_in_effect};
use crate::metrics::metric;

/// The place of the unchanged runs.
pub(super) const UNCHANGED: usize = 0;

/// What a short run shows.
#[derive(Clone, Debug)]
pub struct Run {
    /// In the unit of the workload's main metric.
    pub rate: f64,
    /// CPU time of both endpoints for each KiB or transaction, in µs.
    pub cost: Option<f64>,
    /// Mean latency of background transactions, in µs.
    pub latency: Option<f64>,
    pub load: Load,
    /// Requested settings that are not in effect, a sentence each.
    pub not_in_effect: Vec<String>,
}

impl Run {
    /// What the records of sender and receiver show.
    ///
    /// # Errors
    /// Why it has no result.
    pub fn of(
        facts: PlaceFacts,
        ends: [&EndpointRecord; 2],
        conditions: &Conditions,
    ) -> Result<Run, Unavailable> {
        let view = facts.view(ends, conditions, None);
        if let Some(reason) = left_out(&view) {
            return Err(Unavailable(reason));
        }
        let figure = |name: &str| metric(name).and_then(|metric| (metric.compute)(&view));
        let rate = rate_metric(conditions).and_then(|metric| figure(metric.name));
        let rate = rate.filter(|rate| *rate > 0.0);
        Ok(Run {
            rate: rate.ok_or_else(|| Unavailable("nothing was received in its window".into()))?,
            cost: cost_of(conditions, figure),
            latency: figure("background_latency_mean_us"),
            load: Load::of(&view),
            not_in_effect: not_in_effect(&view),
        })
    }
}

/// The runs of a round: of the unchanged test, and then of each change.
#[derive(Debug)]
pub struct Round {
    pub changes: Vec<Change>,
    /// The conditions of the unchanged run, and of each change.
    pub conditions: Vec<Conditions>,
    /// Their outcomes, one for each block.
    pub runs: Vec<Vec<Result<Run, Unavailable>>>,
}

impl Round {
    /// A round without runs. `conditions` are those of the unchanged run, and of each change.
    pub fn new(changes: Vec<Change>, conditions: Vec<Conditions>) -> Round {
        Round {
            runs: vec![Vec::new(); conditions.len()],
            changes,
            conditions,
        }
    }

    /// The time of one block.
    pub fn block_time(&self) -> Duration {
        let ms = |one: &Conditions| u64::from(one.warmup_ms + one.duration_ms);
        let each = self.conditions.iter();
        each.map(|one| Duration::from_millis(ms(one)) + RUN_OVERHEAD)
            .sum()
    }

    /// The blocks that have a run with a result.
    pub fn blocks(&self) -> u32 {
        let has_result =
            |runs: &Vec<Result<Run, Unavailable>>| runs.iter().rposition(Result::is_ok);
        let last = self.runs.iter().filter_map(has_result).max();
        last.map_or(0, |last| last as u32 + 1)
    }

    /// The results of a place, each after the unchanged one of its block.
    pub(super) fn pairs(&self, place: usize) -> impl Iterator<Item = (&Run, &Run)> {
        let both = self.runs[UNCHANGED].iter().zip(&self.runs[place]);
        both.filter_map(|(unchanged, run)| unchanged.as_ref().ok().zip(run.as_ref().ok()))
    }

    /// The results of a place.
    pub(super) fn results(&self, place: usize) -> impl Iterator<Item = &Run> {
        self.runs[place].iter().flatten()
    }

    /// Why a run of a place has no result.
    pub(super) fn failed(&self, place: usize) -> Option<&str> {
        self.runs[place]
            .iter()
            .find_map(|run| run.as_ref().err())
            .map(|why| &*why.0)
    }

    /// A run of a place, as a row of the table compares it.
    pub(super) fn side<'a>(&'a self, place: usize, run: &'a Run) -> Side<'a> {
        Side {
            conditions: &self.conditions[place],
            load: &run.load,
        }
    }

    /// The changes with a result, in their order; with the reason of each that has none.
    pub fn measured(&self) -> (Vec<Measured>, Vec<(String, String)>) {
        let (mut found, mut failed) = (Vec::new(), Vec::new());
        for (place, change) in (1..).zip(&self.changes) {
            match self.of_change(place, &change.how.label) {
                Some(Ok(one)) => found.push(one),
                Some(Err(why)) => failed.push((change.how.label.clone(), why)),
                None => {}
            }
        }
        (found, failed)
    }

    /// What a change shows, or why it has no result; absent before its first run.
    fn of_change(&self, place: usize, label: &str) -> Option<Result<Measured, String>> {
        let mut not_in_effect = self.pairs(place).filter_map(|(unchanged, run)| {
            let why = run.not_in_effect.first()?;
            unchanged.not_in_effect.is_empty().then_some(why)
        });
        if let Some(why) = not_in_effect.next() {
            return Some(Err(format!("not in effect: {why}")));
        }
        let pairs = |of: fn(&Run) -> Option<f64>| {
            let both = self.pairs(place);
            let both = both.filter_map(|(unchanged, run)| of(unchanged).zip(of(run)));
            both.filter(|(a, b)| *a > 0.0 && *b > 0.0)
                .collect::<Vec<_>>()
        };
        let rates = pairs(|run| Some(run.rate));
        let Some(rate) = ratio(&rates) else {
            return self.failed(place).map(|why| Err(why.to_owned()));
        };
        Some(Ok(Measured {
            label: label.to_owned(),
            rate,
            cost: ratio(&pairs(|run| run.cost)),
            background: ratio(&pairs(|run| run.latency)),
            blocks: rates.len() as u32,
        }))
    }

    /// The rate of a place, and its CPU time.
    pub(super) fn figures(&self, place: usize) -> (Option<Interval>, Option<f64>) {
        let rates: Vec<f64> = self.results(place).map(|run| run.rate).collect();
        let costs: Vec<f64> = self.results(place).filter_map(|run| run.cost).collect();
        (median_interval(&rates, 0), median(&costs))
    }
}

/// CPU time of both endpoints for each KiB or transaction of a run.
pub(super) fn cost_of(conditions: &Conditions, value: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let unit = match conditions.workload.is_transactional() {
        true => "transaction",
        false => "kib",
    };
    let end = |end: &str| value(&format!("{end}_service_demand_us_per_{unit}"));
    Some(end("send")? + end("receive")?)
}

fn ratio(pairs: &[(f64, f64)]) -> Option<Interval> {
    let (without, with): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let paired = paired_change(pairs, Scale::Ratio);
    let found = paired.or_else(|| change(&without, &with, Scale::Ratio))?;
    Some(found.interval)
}

/// The changes that go on after a round that drops losers: the best ones with at least half of the gain of the best.
pub fn screened(found: &[Measured], goal: Goal) -> Vec<String> {
    let better = found.iter().filter_map(|one| {
        let gain = one.gain(goal)?.value;
        (gain > 1.0).then_some((gain, one.label.as_str()))
    });
    let mut ranked: Vec<(f64, &str)> = better.collect();
    // Of equal changes those that come first in the table, which are the smaller ones.
    let place = |gain: f64| (gain.ln() / WORTH.ln()) as i64;
    ranked.sort_by_key(|(gain, _)| Reverse(place(*gain)));
    let best = ranked.first().map_or(1.0, |(gain, _)| *gain);
    ranked.retain(|(gain, _)| gain.ln() >= best.ln() / 2.0);
    ranked.truncate(FINALISTS);
    ranked
        .into_iter()
        .map(|(_, label)| label.to_owned())
        .collect()
}

/// Whether more blocks of a round would change nothing: the best change gains, or none does.
pub fn is_decided(round: &Round, goal: Goal) -> bool {
    let (found, _) = round.measured();
    let has_least = found.iter().any(|one| one.blocks >= BLOCKS_LEAST);
    best(&found, goal).is_some_and(|one| one.is_gain(goal))
        || (has_least && found.iter().all(|one| one.is_none(goal)))
}

/// The blocks that are planned to decide about changes of which this is known.
pub fn blocks_planned(found: &[Measured], goal: Goal) -> u32 {
    let gain = best(found, goal).and_then(|one| one.gain(goal));
    match gain.is_some_and(|gain| gain.value >= LARGE * LARGE) {
        true => BLOCKS_LEAST - 1,
        false => BLOCKS_LEAST,
    }
}

fn best(found: &[Measured], goal: Goal) -> Option<&Measured> {
    let value = |one: &&Measured| one.gain(goal).map_or(0.0, |gain| gain.value);
    found.iter().max_by(|a, b| value(a).total_cmp(&value(b)))
}

/// The change that a round keeps: of those that gain, the first in the order of its levels that is as good as the best
/// one, within what a change is worth.
pub fn winner(found: &[Measured], goal: Goal) -> Option<&Measured> {
    let gain = |one: &Measured| one.gain(goal).map_or(0.0, |gain| gain.value);
    let kept = || found.iter().filter(|one| one.is_gain(goal));
    let best = kept().map(gain).fold(0.0, f64::max);
    kept().find(|one| gain(one) * WORTH >= best)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(label: &str, rate: f64, cost: f64, blocks: u32) -> Measured {
        let about = |value: f64| Interval {
            value,
            low: Some(value * 0.99),
            high: Some(value * 1.01),
        };
        Measured {
            label: label.to_owned(),
            rate: about(rate),
            cost: Some(about(cost)),
            background: None,
            blocks,
        }
    }

    #[test]
    fn smallest_of_equal_changes_is_kept() {
        let found = [
            one("a little", 1.01, 1.0, 4),
            one("2 times", 1.49, 1.0, 4),
            one("4 times", 1.5, 1.0, 4),
        ];
        assert_eq!(
            winner(&found, Goal::Rate).expect("one gains").label,
            "2 times"
        );
        assert_eq!(screened(&found, Goal::Rate), ["2 times", "4 times"]);
        let early = [one("2 times", 1.5, 1.0, BLOCKS_LEAST - 1)];
        assert_eq!(winner(&early, Goal::Rate), None, "too few blocks");
        let large = [one("20 times", 20.0, 1.0, BLOCKS_LEAST - 1)];
        assert!(
            winner(&large, Goal::Rate).is_some(),
            "enough blocks for so much"
        );
        assert!(blocks_planned(&large, Goal::Rate) < blocks_planned(&early, Goal::Rate));
    }

    #[test]
    fn cheaper_change_keeps_the_rate() {
        let found = [one("slow", 0.9, 0.5, 4), one("cheap", 1.0, 0.8, 4)];
        assert_eq!(
            winner(&found, Goal::Cost).expect("one is cheaper").label,
            "cheap"
        );
        assert!(found[0].is_none(Goal::Cost));
        assert_eq!(winner(&found, Goal::Rate), None);
    }
}
