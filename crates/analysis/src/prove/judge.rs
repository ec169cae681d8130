//! From the runs of a study of perturbations to what they prove.

use std::time::Duration;

use bitcost_model::plan::{Lengths, RUN_OVERHEAD};
use bitcost_stats::{Interval, LOOKED, elasticity, median, trend};

use super::choose::is_of;
use super::found::{as_packets, finds, has, is_clamp, remedy_of};
use super::ordinary::{Ordinary, load, rate_metric};
use super::perturbation::{Before, FACTOR, Perturbation, Told};
use super::perturbations::{PATH_RATE, PERTURBATIONS, RECEIVER_CPU, SEGMENTS, SENDER_CPU};
use crate::cells::RunRow;
use crate::explain::{
    Candidate, Confidence, Decision, Outcome, Proof, RECEIVE_BUFFER, Tried, Untried, Verdict,
};
use crate::findings::Findings;
use crate::trials::Trials;

/// A resource limits where the throughput follows more of its change than this share; two that share a limit have about
/// a half each, and what does not limit has none.
pub const LIMITS_FROM: f64 = 0.3;

/// Without wake-ups, or with fuller packets, the throughput rises at least by this factor where they limit.
const RISES_FROM: f64 = 1.05;

/// The factor by which packets are fuller at least where a setting fills them.
const FULLER: f64 = 1.1;

/// A background stream that lowers the throughput by more than this many times its share of the rate takes CPU time, too.
const SHARED_UP_TO: f64 = 3.0;

/// The transactions that an unchanged short run has at least: one more or less is no difference of its rate.
const FEWEST: f64 = 8.0;

/// The factor by which the unchanged short runs may differ from the test, to either side.
const LIKE_THE_TEST: f64 = 1.33;

/// The unchanged runs drift where their trend is less likely by chance than this …
const DRIFT_CHANCE: f64 = 0.01;

/// … and changes them by more than this share from the first to the last.
const DRIFT: f64 = 0.1;

/// What the runs of these studies, one for each stage, show of a test's verdict; `refused` is what was not tried. Where
/// `is_looked`, more blocks may follow, and an interval must be clear of the bound by a margin.
pub fn judge(
    ordinary: &Ordinary,
    refused: &[Untried],
    stages: &[&Findings],
    is_looked: bool,
) -> Proof {
    let (mut tried, mut untried) = (Vec::new(), refused.to_vec());
    for row in PERTURBATIONS {
        // A later stage decides what one block left open.
        let of = |stage: &&Findings| Stage::of(ordinary, stage)?.tried(row, is_looked);
        match stages.iter().rev().find_map(of) {
            Some(Ok(found)) => tried.push(found),
            Some(Err(reason)) => untried.push(Untried {
                name: row.name,
                resource: row.resource,
                reason,
            }),
            None => {}
        }
    }
    if ordinary.shares_the_path() && takes_cpu_time(&tried) {
        tried.retain(|one| one.name != PATH_RATE.name);
        untried.push(Untried {
            name: PATH_RATE.name,
            resource: PATH_RATE.resource,
            reason: "the background stream takes CPU time, too".to_owned(),
        });
    }
    tried.sort_by_key(|one| one.decision != Decision::Limits);
    let unsound = unsound(ordinary, stages);
    let is_sound = unsound.is_none();
    let outcome = match unsound {
        Some(why) => Outcome::Undecided(why),
        None => {
            let last = stages.last().and_then(|last| Trials::of(last, FACTOR));
            outcome(ordinary, &tried, &untried, last)
        }
    };
    let blocks = stages.iter().map(|stage| stage.summary.runs.iter());
    let blocks = blocks.map(|runs| {
        let used = runs.filter(|row| load(row).is_some());
        used.map(|row| row.block + 1).max().unwrap_or(0)
    });
    Proof {
        named: ordinary.named.clone(),
        is_sound,
        outcome,
        blocks: blocks.sum(),
        tried,
        untried,
    }
}

/// Whether what a background stream shows is not the rate of the path: a CPU limits, or throughput falls by much more than
/// it takes.
fn takes_cpu_time(tried: &[Tried]) -> bool {
    let is_cpu = |row| has(tried, row, Decision::Limits);
    let falls_more = |one: &Tried| {
        let low = one.elasticity.and_then(|found| found.low);
        one.name == PATH_RATE.name && low.is_some_and(|low| low > SHARED_UP_TO)
    };
    is_cpu(&SENDER_CPU) || is_cpu(&RECEIVER_CPU) || tried.iter().any(falls_more)
}

/// Whether more blocks would change nothing: all is decided, or the verdict is proved. What a background stream shows
/// needs the decisions about the CPUs as well.
pub fn is_enough(ordinary: &Ordinary, proof: &Proof) -> bool {
    let is_shared = ordinary.shares_the_path() && has(&proof.tried, &PATH_RATE, Decision::Limits);
    let mut tried = proof.tried.iter();
    (proof.outcome == Outcome::Proved && !is_shared)
        || tried.all(|one| one.decision != Decision::Open)
}

impl Tried {
    /// Whether the throughput went with the resource, by half of what limits or more, whatever the interval.
    pub(super) fn stands_out(&self) -> bool {
        match self.elasticity {
            Some(elasticity) => elasticity.value >= LIMITS_FROM / 2.0,
            None => self.ratio.value.ln() >= RISES_FROM.ln() / 2.0,
        }
    }
}

/// The runs of one stage.
struct Stage<'a> {
    ordinary: &'a Ordinary,
    trials: Trials<'a>,
}

impl<'a> Stage<'a> {
    fn of(ordinary: &'a Ordinary, findings: &'a Findings) -> Option<Stage<'a>> {
        let trials = Trials::of(findings, FACTOR)?;
        Some(Stage { ordinary, trials })
    }

    fn rate(&self, row: &RunRow) -> Option<f64> {
        row.used_value(rate_metric(&self.ordinary.conditions)?)
    }

    /// What a perturbation shows, or why it was not tried; absent where the stage does not have it, or no run of it yet.
    fn tried(&self, row: &'static Perturbation, is_looked: bool) -> Option<Result<Tried, String>> {
        let cell = self.trials.cell(row.name)?;
        let planned = &self.trials.findings.summary.planned;
        let window_s = f64::from(planned.get(cell)?.conditions.duration_ms) / 1e3;
        let is_transactional = self.ordinary.conditions.workload.is_transactional();
        let (mut rates, mut left) = (Vec::new(), Vec::new());
        let mut failed = self.trials.failed(cell);
        let side = |run: &'a RunRow| {
            Some(Before {
                conditions: &planned.get(run.cell)?.conditions,
                load: load(run)?,
                lab: self.ordinary.lab.as_ref(),
            })
        };
        for (before, run) in self.trials.pairs(cell) {
            let (Some(a), Some(b)) = (self.rate(before), self.rate(run)) else {
                continue;
            };
            if is_transactional && a * window_s < FEWEST {
                failed = Some(format!("a short run has fewer than {FEWEST} transactions"));
                continue;
            }
            rates.push((a, b));
            let both = side(before).zip(side(run));
            left.extend(both.and_then(|(a, b)| (row.left)(&a, &b)));
        }
        if rates.is_empty() {
            return failed.map(Err);
        }
        let left = median(&left);
        let size = match row.told {
            Told::Without => Some(1.0),
            Told::With => left.filter(|times| *times >= FULLER).map(|_| 1.0),
            Told::Less | Told::More => left.map(f64::ln).filter(|size| *size < 0.0),
        };
        // Where the resource has no size, the ratio alone counts.
        let left = left.filter(|_| matches!(row.told, Told::Less | Told::More));
        Some(match size.and_then(|size| elasticity(&rates, size)) {
            None => Err(match row.told {
                Told::With => "packets were not fuller with it",
                _ => "the counters do not show the change",
            }
            .to_owned()),
            Some(found) => {
                let of = left.map(|_| found.elasticity);
                Ok(self.decided(row, (left, found.ratio, of), rates.len(), is_looked))
            }
        })
    }

    fn decided(
        &self,
        row: &'static Perturbation,
        (left, ratio, elasticity): (Option<f64>, Interval, Option<Interval>),
        blocks: usize,
        is_looked: bool,
    ) -> Tried {
        let (interval, bound) = match elasticity {
            Some(elasticity) => (elasticity, LIMITS_FROM),
            None => (ratio, RISES_FROM),
        };
        let seen = interval.widened(if is_looked { LOOKED } else { 1.0 });
        let decision = match (seen.low, seen.high) {
            (Some(low), _) if low > bound => Decision::Limits,
            (_, Some(high)) if high < bound => Decision::DoesNot,
            _ => Decision::Open,
        };
        let more = more_blocks(&interval, bound, blocks).map(|more| self.block_time() * more);
        Tried {
            name: row.name,
            changed: row.changed(left),
            ratio,
            elasticity,
            decision,
            blocks,
            more: more.filter(|_| decision == Decision::Open),
        }
    }

    fn block_time(&self) -> Duration {
        let one = Lengths {
            blocks: Some(1),
            ..Lengths::default()
        };
        let plan = self.trials.findings.summary.study.plan(0, one);
        plan.total_time().max(RUN_OVERHEAD)
    }
}

/// Why the unchanged runs are no base of a proof.
fn unsound(ordinary: &Ordinary, stages: &[&Findings]) -> Option<String> {
    let stages = stages.iter().filter_map(|one| Stage::of(ordinary, one));
    let rates: Vec<f64> = stages
        .flat_map(|stage| {
            let runs = stage.trials.runs(stage.trials.unchanged);
            runs.filter_map(|row| stage.rate(row)).collect::<Vec<_>>()
        })
        .collect();
    let Some(middle) = median(&rates) else {
        return Some("no unchanged run has a result".to_owned());
    };
    let points: Vec<(f64, f64)> = (0..).map(f64::from).zip(rates.iter().copied()).collect();
    let drift = trend(&points, 0).filter(|found| found.chance < DRIFT_CHANCE);
    let moved = drift.map_or(0.0, |found| found.slope * (rates.len() - 1) as f64 / middle);
    if moved.abs() > DRIFT {
        return Some(format!(
            "the unchanged runs drift by {:+.0} % from the first to the last: something else changes meanwhile",
            100.0 * moved
        ));
    }
    let ratio = middle / ordinary.rate;
    (!(1.0 / LIKE_THE_TEST..=LIKE_THE_TEST).contains(&ratio)).then(|| {
        format!(
            "the throughput of short runs is {:.0} % of the test's, so they may have another bottleneck",
            100.0 * ratio
        )
    })
}

/// Whether a perturbation fills packets.
fn fills(tried: &Tried) -> bool {
    let mut rows = PERTURBATIONS.into_iter();
    rows.any(|row| row.name == tried.name && matches!(row.told, Told::With))
}

/// What the setting that fills packets did which raised the throughput most.
fn fullest(proof: &Proof) -> Option<String> {
    let tried = proof.tried.iter();
    let limit = tried.filter(|one| fills(one) && one.decision == Decision::Limits);
    let most = limit.max_by(|a, b| a.ratio.value.total_cmp(&b.ratio.value))?;
    let rose = 100.0 * (most.ratio.value - 1.0);
    Some(format!(
        "{}, with which throughput rose by {rose:.0} %",
        most.changed
    ))
}

fn outcome(
    ordinary: &Ordinary,
    tried: &[Tried],
    untried: &[Untried],
    last: Option<Trials>,
) -> Outcome {
    let row = |name: &str| PERTURBATIONS.into_iter().find(|row| row.name == name);
    let is_own = |name: &str| row(name).is_some_and(|row| is_of(ordinary, row));
    let limits = |one: &&Tried| one.decision == Decision::Limits;
    // A setting that does not fill packets to effect refutes nothing.
    let own: Vec<&Tried> = tried
        .iter()
        .filter(|one| is_own(one.name) && (limits(one) || !fills(one)))
        .collect();
    if own.iter().any(limits) {
        let clamp = ordinary.named.as_ref().filter(|named| is_clamp(named));
        return match clamp.map(|named| (named, finds(&SEGMENTS, ordinary, tried))) {
            Some((named, found)) if found.as_ref() != Some(named) => {
                Outcome::Undecided(NOT_TOLD.to_owned())
            }
            _ => Outcome::Proved,
        };
    }
    let strength = |one: &&Tried| {
        let of = one.elasticity.map_or(0.0, |found| found.value);
        if of.is_finite() { of } else { 0.0 }
    };
    let others = tried.iter().filter(limits).filter(|one| !is_own(one.name));
    let found = others
        .max_by(|a, b| strength(a).total_cmp(&strength(b)))
        .and_then(|one| finds(row(one.name)?, ordinary, tried));
    // What was screened without effect is not in the last stage, and leaves no proof open.
    let is_decided_last = |one: &Tried| last.is_some_and(|last| last.cell(one.name).is_some());
    let is_open = |one: &Tried| one.decision == Decision::Open && is_decided_last(one);
    let Some(named) = &ordinary.named else {
        let found = found.map(Outcome::Found);
        return found
            .or_else(|| likely(ordinary, tried))
            .unwrap_or_else(|| {
                Outcome::Undecided(match tried.iter().any(is_open) {
                    true => TOO_WIDE.to_owned(),
                    false => nothing(tried),
                })
            });
    };
    let refused = || {
        let own = untried.iter().find(|one| is_own(one.name));
        let why = own.map_or(String::new(), |one| format!(": {}", one.reason));
        format!("the resource of {named} could not be changed{why}")
    };
    match found {
        Some(found) if !own.is_empty() && own.iter().all(|one| !is_open(one)) => {
            Outcome::Refuted(found)
        }
        Some(found) if own.is_empty() => {
            Outcome::Undecided(format!("{}; throughput follows that of {found}", refused()))
        }
        _ if own.is_empty() => Outcome::Undecided(refused()),
        _ if tried.iter().any(is_open) => Outcome::Undecided(TOO_WIDE.to_owned()),
        _ => Outcome::Undecided(nothing(tried)),
    }
}

/// Of what is open, the limiter of the resource that the throughput follows most, clear of no effect.
fn likely(ordinary: &Ordinary, tried: &[Tried]) -> Option<Outcome> {
    let leads = |one: &&Tried| {
        let low = one.elasticity.and_then(|found| found.widened(LOOKED).low);
        // Fewer data in a segment are more packets, or less of a congestion window.
        one.name != SEGMENTS.name
            && one.decision == Decision::Open
            && one.stands_out()
            && low.is_some_and(|low| low > 0.0)
    };
    let found = tried.iter().filter(leads).filter_map(|one| {
        let row = PERTURBATIONS.into_iter().find(|row| row.name == one.name)?;
        Some((
            one.elasticity?.value,
            one.name,
            finds(row, ordinary, tried)?,
        ))
    });
    let most = found.max_by(|a, b| a.0.total_cmp(&b.0));
    most.map(|(_, name, limiter)| Outcome::Likely(limiter, name))
}

/// What is said where smaller segments are slower, and nothing tells a window from packets.
const NOT_TOLD: &str =
    "smaller segments are slower, which a window shares with a limit of packets per second";

/// What is said where intervals do not decide.
const TOO_WIDE: &str = "the intervals are too wide to tell";

fn nothing(tried: &[Tried]) -> String {
    match tried {
        [] => "no resource could be changed".to_owned(),
        _ => "throughput follows none of the resources that could be changed from here".to_owned(),
    }
}

/// Findings of a test with what experiments say of its verdict: a verdict that is proved says so, and one that is refuted
/// is replaced.
pub(super) fn with_proof(findings: &mut Findings, proof: Proof) {
    let Some(cell) = findings.explanation.cells.first_mut() else {
        return;
    };
    let found = match &proof.outcome {
        Outcome::Refuted(found) | Outcome::Found(found) => Some((found, Confidence::Proved)),
        Outcome::Likely(found, _) => Some((found, Confidence::Low)),
        Outcome::Proved | Outcome::Undecided(_) => None,
    };
    for run in &mut cell.runs {
        if let (Some((found, confidence)), Some(first)) = (found, run.verdicts.first()) {
            let instead = proof
                .named
                .as_ref()
                .map(|named| format!("not {named}, which the counters name"));
            let mut verdict = Verdict {
                chosen: Candidate {
                    limiter: found.clone(),
                    detail: instead.unwrap_or_default(),
                    evidence: Vec::new(),
                    remedy: remedy_of(found),
                    rival: None,
                },
                confidence,
                share: 1.0,
                ..first.clone()
            };
            if let Some(in_effect) = &run.in_effect {
                in_effect.advise(&mut verdict);
            }
            without_guess(&mut verdict);
            run.verdicts = vec![verdict];
        }
        if proof.outcome == Outcome::Proved {
            let proved = run.verdicts.iter_mut();
            proved
                .filter(|verdict| proof.named.as_ref() == Some(verdict.limiter()))
                .for_each(|verdict| {
                    verdict.confidence = Confidence::Proved;
                    if verdict.limiter().is_on_the_path()
                        && has(&proof.tried, &SEGMENTS, Decision::Limits)
                    {
                        as_packets(&mut verdict.chosen);
                    }
                    if let Some(remedy) = fullest(&proof) {
                        verdict.chosen.remedy = Some(remedy);
                    }
                    without_guess(verdict);
                });
        }
    }
    cell.proof = Some(proof);
}

/// Less of the receive buffer was slower, so that its usual remedy is no guess.
fn without_guess(verdict: &mut Verdict) {
    let is_of_buffer = verdict.limiter().name() == RECEIVE_BUFFER.name;
    verdict.chosen.remedy.take_if(|_| is_of_buffer);
}

/// Most blocks that are foreseen.
const BLOCKS_MOST: f64 = 1000.0;

/// How many more blocks settle on which side of a bound an interval of this many blocks is, if the
/// estimate stays where it is and the interval shrinks as 1 ÷ √n.
fn more_blocks(interval: &Interval, bound: f64, blocks: usize) -> Option<u32> {
    let half = (interval.high? - interval.low?) / 2.0;
    let distance = (interval.value - bound).abs();
    let needed = (blocks as f64 * (LOOKED * half / distance).powi(2)).ceil();
    (needed <= BLOCKS_MOST).then(|| (needed - blocks as f64).max(1.0) as u32)
}
