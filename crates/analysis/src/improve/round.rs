//! What the runs of a round show of each change.

use std::cmp::Reverse;

use bitcost_stats::{Interval, LOOKED, Scale, change, paired_change};

use crate::cells::RunRow;
use crate::findings::Findings;
use crate::ladder::Measured;
use crate::metrics::metric;
use crate::prove::rate_metric;
use crate::trials::Trials;
use bitcost_model::conditions::Conditions;
use bitcost_model::search::Goal;

/// The factor of a round.
pub const FACTOR: &str = "change";

/// The most blocks of a round that drops the losers of many changes.
pub const SCREENING_BLOCKS: u32 = 2;

/// The most changes that go into the round that decides.
pub const FINALISTS: usize = 3;

/// The fewest blocks by which a change is kept, unless its gain is large, and the most that are made for it.
pub const BLOCKS_LEAST: u32 = 3;
/// See [`BLOCKS_LEAST`].
pub const BLOCKS_MOST: u32 = 12;

/// The least gain that is worth a change, as a ratio.
const WORTH: f64 = 1.03;

/// Where the interval of a gain excludes less than this ratio, fewer blocks are enough: runs that do not differ vary less.
const LARGE: f64 = 2.0;

/// A cheaper change has at least this share of the unchanged run's rate.
const SAME_RATE: f64 = 0.97;

impl Measured {
    /// How much better it is, as a ratio over 1.
    pub fn gain(&self, goal: Goal) -> Option<Interval> {
        match goal {
            Goal::Rate => Some(self.rate),
            Goal::Cost => self
                .cost
                .map(|cost| cost.map(f64::recip))
                .filter(|_| self.rate.value >= SAME_RATE),
        }
    }

    /// Whether it gains what a change is worth, with an interval that excludes no gain; of few blocks, one that is not
    /// large.
    pub fn is_gain(&self, goal: Goal) -> bool {
        let gain = self.gain(goal).filter(|gain| gain.value >= WORTH);
        let low = gain.and_then(|gain| gain.widened(LOOKED).low);
        let excluded = match self.blocks < BLOCKS_LEAST {
            true => LARGE,
            false => 1.0,
        };
        low.is_some_and(|low| low > excluded)
    }

    /// Whether the run was better with it.
    pub fn may_gain(&self, goal: Goal) -> bool {
        self.gain(goal).is_some_and(|gain| gain.value > 1.0)
    }

    /// Whether it was better by what a change is worth, whatever the interval.
    pub fn is_worth(&self, goal: Goal) -> bool {
        self.gain(goal).is_some_and(|gain| gain.value >= WORTH)
    }

    /// Whether its interval excludes a gain that a change is worth.
    pub fn is_none(&self, goal: Goal) -> bool {
        let high = self.gain(goal).map(|gain| gain.widened(LOOKED).high);
        high.is_none_or(|high| high.is_some_and(|high| high < WORTH))
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

/// The changes of a round, in the order of its levels; with the reason of each that has no result.
pub fn measured(round: &Findings) -> (Vec<Measured>, Vec<(String, String)>) {
    let (mut found, mut failed) = (Vec::new(), Vec::new());
    let Some(trials) = Trials::of(round, FACTOR) else {
        return (found, failed);
    };
    for (cell, label) in trials.levels() {
        match of_cell(trials, cell, &label) {
            Some(Ok(one)) => found.push(one),
            Some(Err(why)) => failed.push((label, why)),
            None => {}
        }
    }
    (found, failed)
}

/// What a change shows, or why it has no result; absent before its first run.
fn of_cell(trials: Trials, cell: usize, label: &str) -> Option<Result<Measured, String>> {
    let conditions = &trials.findings.summary.planned.get(cell)?.conditions;
    let metric_of = rate_metric(conditions)?;
    let rate = |row: &RunRow| row.used_value(metric_of);
    let cost = |row: &RunRow| cost_of(conditions, |name| row.used_value(metric(name)?));
    let latency = |row: &RunRow| row.used_value(metric("background_latency_mean_us")?);
    let mut none = trials.pairs(cell).filter_map(|(base, run)| {
        let why = run.not_in_effect.first()?;
        base.not_in_effect.is_empty().then_some(why)
    });
    if let Some(why) = none.next() {
        return Some(Err(format!("not in effect: {why}")));
    }
    let ratios = |of: &dyn Fn(&RunRow) -> Option<f64>| {
        let both = trials
            .pairs(cell)
            .filter_map(|(base, run)| of(base).zip(of(run)));
        both.filter(|(a, b)| *a > 0.0 && *b > 0.0)
            .collect::<Vec<_>>()
    };
    let (rates, failed) = (ratios(&rate), trials.failed(cell));
    let Some(rate) = ratio(&rates) else {
        return failed.map(Err);
    };
    Some(Ok(Measured {
        label: label.to_owned(),
        rate,
        cost: ratio(&ratios(&cost)),
        background: ratio(&ratios(&latency)),
        blocks: u32::try_from(rates.len()).unwrap_or(u32::MAX),
    }))
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
pub fn is_decided(round: &Findings, goal: Goal) -> bool {
    let (found, _) = measured(round);
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
    use crate::explain::LIMITERS;
    use crate::improve::interventions::INTERVENTIONS;

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

    #[test]
    fn interventions_are_of_limiters_that_exist() {
        for row in &INTERVENTIONS {
            for name in row.of {
                let mut known = LIMITERS.iter();
                assert!(
                    known.any(|limiter| limiter.name == *name),
                    "{}: {name}",
                    row.name
                );
            }
        }
    }
}
