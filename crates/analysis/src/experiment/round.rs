//! A round: the runs of some changes, interleaved with unchanged ones, and what they show of each change.

use std::cmp::Reverse;
use std::time::Duration;

use bitcost_model::Unavailable;
use bitcost_model::conditions::Conditions;
use bitcost_model::plan::RUN_OVERHEAD;
use bitcost_model::record::{EndpointRecord, ThreadKind};
use bitcost_stats::{Interval, LOOKED, Scale, change, median, median_interval, paired_change};

use super::base::{Side, rate_of};
use super::change::{Change, Kind};
use super::ladder::{Aim, BLOCKS_LEAST, FINALISTS, SCREENING_BLOCKS};
use crate::explain::{Decision, Load, Tried};
use crate::log::{PlaceFacts, left_out, not_in_effect};
use crate::metrics::{RunView, cpu, figure_of};

/// The shortest window, in milliseconds, whose time the ticks of a CPU attribute to an endpoint.
const TICKS_MS: u32 = 100;

/// The least gain that is worth a change, as a ratio.
const WORTH: f64 = 1.03;

/// Where the interval of a gain excludes less than this ratio, fewer blocks are enough: runs that do not differ vary less.
const LARGE: f64 = 2.0;

/// The transactions that an unchanged short run has at least: one more or less is no difference of its rate.
const FEWEST: f64 = 8.0;

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
        let figure = |name: &str| figure_of(&view, name);
        let rate = rate_of(conditions, figure);
        let rate = rate.filter(|rate| *rate > 0.0);
        Ok(Run {
            rate: rate.ok_or_else(|| Unavailable("nothing was received in its window".into()))?,
            cost: match conditions.duration_ms < TICKS_MS {
                true => short_cost(&view),
                false => cost_of(conditions, figure),
            },
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
            .filter(move |(unchanged, _)| {
                let conditions = &self.conditions[place];
                let window_s = f64::from(conditions.duration_ms) / 1e3;
                let is_counted =
                    conditions.workload.is_transactional() && conditions.transaction_rate.is_none();
                !is_counted || unchanged.rate * window_s >= FEWEST
            })
    }

    pub(super) fn results(&self, place: usize) -> impl Iterator<Item = &Run> {
        self.runs[place].iter().flatten()
    }

    /// A run of a place, as a row of the table compares it.
    pub(super) fn side<'a>(&'a self, place: usize, run: &'a Run) -> Side<'a> {
        Side {
            conditions: &self.conditions[place],
            load: &run.load,
        }
    }

    /// The changes with a result, in their order; with the reason of each that has none. `aim` is what they are tried for.
    pub fn tried(&self, aim: Aim) -> (Vec<Tried>, Vec<(&Change, String)>) {
        let (mut found, mut failed) = (Vec::new(), Vec::new());
        for (place, change) in (1..).zip(&self.changes) {
            match self.of_change(place) {
                Some(Ok(one)) => found.push(Tried {
                    limits: gains(&one, aim),
                    ..one
                }),
                Some(Err(why)) => failed.push((change, why)),
                None => {}
            }
        }
        (found, failed)
    }

    /// What a change shows, or why it has no result; absent before its first run.
    pub(super) fn of_change(&self, place: usize) -> Option<Result<Tried, String>> {
        let change = &self.changes[place - 1];
        let mut not_in_effect = self.pairs(place).filter_map(|(unchanged, run)| {
            let why = run.not_in_effect.first()?;
            unchanged.not_in_effect.is_empty().then_some(why)
        });
        // What is left of a resource is read back.
        let is_read_back = matches!(change.row.kind, Kind::Tightens(_));
        if let Some(why) = not_in_effect.next().filter(|_| !is_read_back) {
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
            let few = || format!("a short run has fewer than {FEWEST} transactions");
            let has_results = self
                .results(place)
                .next()
                .and(self.results(UNCHANGED).next());
            let failed = self.runs[place].iter().find_map(|run| run.as_ref().err());
            let failed = failed.map(|why| why.0.clone());
            return has_results.map(|_| few()).or(failed).map(Err);
        };
        Some(Ok(Tried {
            label: change.name().to_owned(),
            changed: change.how.label.clone(),
            rate,
            cost: ratio(&pairs(|run| run.cost)),
            background: ratio(&pairs(|run| run.latency)),
            elasticity: None,
            limits: Decision::Open,
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

/// CPU time of both endpoints for each KiB of a run that is too short for ticks, by the clocks of all their threads; these
/// need no attribution where the endpoints share CPUs, and elsewhere all busy time is taken.
fn short_cost(view: &RunView) -> Option<f64> {
    let ends = [view.sender, view.receiver];
    let clocks = ends.into_iter().map(|end| {
        let napi = cpu::of_threads(end, ThreadKind::Napi);
        let napi = napi.or((!view.napi_threaded).then_some(0.0))?;
        Some(cpu::of_threads(end, ThreadKind::Traffic)? + napi)
    });
    let cpus: Option<f64> = match view.shared_cpus {
        true => clocks
            .sum::<Option<f64>>()
            .or_else(|| cpu::busy_cpus(view.sender)),
        false => ends.into_iter().map(cpu::busy_cpus).sum(),
    };
    Some(8192.0 * cpus? / figure_of(view, "throughput_mbps").filter(|mbps| *mbps > 0.0)?)
}

/// Whether a change gains what it is worth, with an interval that excludes no gain, and of few blocks one that is not
/// large; or its interval excludes such a gain. Few blocks rank, and do not bound. The interval of a search counts as it is.
fn gains(tried: &Tried, aim: Aim) -> Decision {
    let (widened, large) = match aim.is_search {
        true => (1.0, 1.0),
        false => (LOOKED, LARGE),
    };
    let seen = aim.gain(tried).map(|gain| gain.widened(widened));
    let excluded = match tried.blocks < BLOCKS_LEAST {
        true => large,
        false => 1.0,
    };
    let is_gain = aim.value(tried) >= WORTH && seen.and_then(|seen| seen.low) > Some(excluded);
    let is_none = match tried.blocks > SCREENING_BLOCKS {
        true => seen.is_none_or(|seen| seen.high.is_some_and(|high| high < WORTH)),
        false => aim.value(tried) < WORTH,
    };
    match (is_gain, is_none) {
        (true, _) => Decision::Limits,
        (false, true) => Decision::DoesNot,
        (false, false) => Decision::Open,
    }
}

/// The changes that go on after a round that drops losers: the best ones with at least half of the gain of the best.
pub fn screened(found: &[Tried], aim: Aim) -> Vec<String> {
    let mut ranked: Vec<&Tried> = found.iter().filter(|one| aim.value(one) > 1.0).collect();
    // Of equal changes those that come first in the table, which are the smaller ones.
    ranked.sort_by_key(|one| Reverse((aim.value(one).ln() / WORTH.ln()) as i64));
    let best = ranked.first().map_or(1.0, |one| aim.value(one));
    ranked.retain(|one| aim.value(one).ln() >= best.ln() / 2.0);
    ranked.truncate(FINALISTS);
    ranked.into_iter().map(|one| one.label.clone()).collect()
}

/// Whether more blocks of a round would change nothing: the best change gains, or none does.
pub fn is_decided(round: &Round, aim: Aim) -> bool {
    let (found, _) = round.tried(aim);
    let has_least = found.iter().any(|one| one.blocks >= BLOCKS_LEAST);
    let best = found
        .iter()
        .max_by(|a, b| aim.value(a).total_cmp(&aim.value(b)));
    best.is_some_and(|one| one.limits == Decision::Limits)
        || (has_least && found.iter().all(|one| one.limits == Decision::DoesNot))
}

/// The blocks that are planned to decide about changes of which this is known.
pub fn blocks_planned(found: &[Tried], aim: Aim) -> u32 {
    let best = found.iter().map(|one| aim.value(one)).fold(0.0, f64::max);
    match best >= LARGE * LARGE {
        true => BLOCKS_LEAST - 1,
        false => BLOCKS_LEAST,
    }
}

/// The change that a round keeps: of those that gain, the first in the order of its levels that is as good as the best one.
pub(super) fn winner(found: &[Tried], aim: Aim) -> Option<&Tried> {
    let kept = found.iter().filter(|one| one.limits == Decision::Limits);
    first_of_best(kept, aim)
}

/// The first change that is as good as the best one, within what a change is worth.
pub(super) fn first_of_best<'a>(
    mut all: impl Iterator<Item = &'a Tried> + Clone,
    aim: Aim,
) -> Option<&'a Tried> {
    let values = all.clone().map(|one| aim.value(one));
    let best = values.fold(0.0, f64::max);
    all.find(|one| aim.value(one) * WORTH >= best)
}

/// Whether the run was not better with a change.
pub fn is_loser(tried: &Tried, aim: Aim) -> bool {
    aim.value(tried) <= 1.0
}

#[cfg(test)]
mod tests {
    use bitcost_model::search::Goal;

    use super::*;

    const RATE: Aim = Aim {
        goal: Goal::Rate,
        is_search: false,
    };
    const COST: Aim = Aim {
        goal: Goal::Cost,
        ..RATE
    };

    fn one(label: &str, rate: f64, cost: f64, blocks: u32, aim: Aim) -> Tried {
        let about = |value: f64| Interval {
            value,
            low: Some(value * 0.99),
            high: Some(value * 1.01),
        };
        let one = Tried {
            label: label.to_owned(),
            changed: label.to_owned(),
            rate: about(rate),
            cost: Some(about(cost)),
            background: None,
            elasticity: None,
            limits: Decision::Open,
            blocks,
        };
        Tried {
            limits: gains(&one, aim),
            ..one
        }
    }

    #[test]
    fn smallest_of_equal_changes_is_kept() {
        let found = [
            one("a little", 1.01, 1.0, 4, RATE),
            one("2 times", 1.49, 1.0, 4, RATE),
            one("4 times", 1.5, 1.0, 4, RATE),
        ];
        assert_eq!(winner(&found, RATE).expect("one gains").label, "2 times");
        assert_eq!(screened(&found, RATE), ["2 times", "4 times"]);
        let early = [one("2 times", 1.5, 1.0, BLOCKS_LEAST - 1, RATE)];
        assert_eq!(winner(&early, RATE), None, "too few blocks");
        let large = [one("20 times", 20.0, 1.0, BLOCKS_LEAST - 1, RATE)];
        assert!(winner(&large, RATE).is_some(), "enough blocks for so much");
        assert!(blocks_planned(&large, RATE) < blocks_planned(&early, RATE));
    }

    #[test]
    fn cheaper_change_keeps_the_rate() {
        let found = |aim| {
            [
                one("slow", 0.9, 0.5, 4, aim),
                one("cheap", 1.0, 0.8, 4, aim),
            ]
        };
        let cheaper = found(COST);
        let won = winner(&cheaper, COST).expect("one is cheaper");
        assert_eq!(won.label, "cheap");
        assert_eq!(cheaper[0].limits, Decision::DoesNot);
        assert_eq!(winner(&found(RATE), RATE), None);
    }
}
