//! A round: the runs of some changes, interleaved with unchanged ones, and what they show of each change.

use std::time::Duration;

use bitcost_model::Unavailable;
use bitcost_model::conditions::Conditions;
use bitcost_model::record::{EndpointRecord, ThreadKind};
use bitcost_stats::{Interval, Scale, Sides, median, median_interval};

use super::base::{Side, rate_of};
use super::change::Change;
use crate::explain::{Decision, Load, Tried};
use crate::log::{PartsInEffect, PlaceFacts, left_out};
use crate::metrics::{RunView, cpu, figure_of};

/// The shortest window, in milliseconds, whose time the ticks of a CPU attribute to an endpoint.
const TICKS_MS: u32 = 100;

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
            not_in_effect: PartsInEffect::of(&view).settings,
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
        self.conditions.iter().map(Conditions::run_time).sum()
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

    /// What a change shows, or why it has no result; absent before its first run.
    pub(super) fn of_change(&self, place: usize) -> Option<Result<Tried, String>> {
        let change = &self.changes[place - 1];
        let mut not_in_effect = self.pairs(place).filter_map(|(unchanged, run)| {
            let why = run.not_in_effect.first()?;
            unchanged.not_in_effect.is_empty().then_some(why)
        });
        // What is left of a resource is read back.
        let is_read_back = !change.row.relaxes();
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
    let sides = Sides::of(&without, &with, Scale::Ratio)?;
    let places: Vec<(usize, usize)> = (0..pairs.len()).map(|place| (place, place)).collect();
    let found = sides.paired_change(&places).unwrap_or(sides.change());
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
