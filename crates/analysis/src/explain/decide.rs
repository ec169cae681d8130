//! From signals to a verdict; a run's time is divided between at most two limiters.

use bitcost_model::constants::HostConstants;
use bitcost_model::units::counted;

use crate::metrics::RunView;

use crate::explain::bounds::{INTERVALS_MIN, RETRANSMITTED, SECONDS_MIN, STEADY};
use crate::explain::cost::PacketCost;
use crate::explain::hops::Hop;
use crate::explain::in_effect::InEffect;
use crate::explain::levels::Levels;
use crate::explain::limiter::{Candidate, Confidence, Limiter, Step, Verdict};
use crate::explain::limiters::{
    PACKETS_PER_SECOND, RATE, RECEIVER_CPU, SENDER_CPU, asked, candidates, unknown,
};
use crate::explain::others::Others;
use crate::explain::signals::{Signals, intervals};

/// The margins from which a verdict has high, or at least medium, confidence.
const HIGH_MARGIN: f64 = 0.15;
const MEDIUM_MARGIN: f64 = 0.04;

/// The share of its rate that passes a link which limits a stream, also where losses interrupt it.
const MOST_OF_RATE: f64 = 0.8;

/// What limited a run: one verdict, or two with their shares of its time, the larger first.
///
/// `cost` is what a packet of the run's size costs by the sender's cost model, where there is one.
///
/// No verdict on a disturbed run ([`crate::metrics::disturbance()`]) has high confidence.
pub fn explain_run(run: &RunView, cost: Option<PacketCost>) -> Vec<Verdict> {
    RunSignals::of(run).verdicts(cost, None)
}

/// What is kept of a run until the cost model of its sender is known: numbers only, no samples.
#[derive(Clone, Debug)]
pub struct RunSignals {
    /// Whether other programs disturbed it.
    is_disturbed: bool,
    /// Those of them that a verdict names first.
    others: Option<Others>,
    pub(crate) in_effect: InEffect,
    evidence: Evidence,
}

#[derive(Clone, Debug)]
enum Evidence {
    /// The verdict, which does not depend on the cost model.
    Nothing(Box<Verdict>),
    /// Signals of the whole run, and of the levels of its rate where it has two.
    Signals(Box<Signals>, Option<Box<Levels>>),
}

impl RunSignals {
    /// The signals of a run.
    pub fn of(run: &RunView) -> RunSignals {
        RunSignals {
            is_disturbed: crate::metrics::disturbance(run).is_some(),
            others: Others::of(run),
            in_effect: InEffect::of(run),
            evidence: evidence(run),
        }
    }

    /// What limited the run, as in [`explain_run`]; `host` has the constants of its sender's host.
    pub fn verdicts(self, cost: Option<PacketCost>, host: Option<&HostConstants>) -> Vec<Verdict> {
        let mut verdicts = match self.evidence {
            Evidence::Nothing(verdict) => vec![*verdict],
            Evidence::Signals(whole, levels) => {
                let with = |signals: Signals| signals.with(cost, host);
                judge(with(*whole), levels.map(|levels| (*levels).map(with)))
            }
        };
        for verdict in &mut verdicts {
            self.in_effect.advise(verdict);
            verdict.others.clone_from(&self.others);
        }
        if self.is_disturbed {
            verdicts.iter_mut().for_each(|verdict| {
                verdict.confidence = verdict.confidence.min(Confidence::Medium)
            });
        }
        verdicts
    }
}

fn evidence(run: &RunView) -> Evidence {
    let none = |why: &str| Evidence::Nothing(Box::new(unknown(why, None)));
    let all: Vec<usize> = (0..intervals(run)).collect();
    let signals = Signals::of(run, &all);
    if signals.intervals < INTERVALS_MIN || signals.seconds < SECONDS_MIN {
        let else_look = if signals.transactions.is_some() {
            "; look at the latency of transactions"
        } else {
            ""
        };
        return none(&format!(
            "{} between samples in {:.2} s; needed: {INTERVALS_MIN} in {SECONDS_MIN} s{else_look}",
            counted(signals.intervals, "interval"),
            signals.seconds
        ));
    }
    if signals.goodput_bps.is_none() && signals.transactions.is_none() {
        return none("nothing was delivered");
    }
    Evidence::Signals(Box::new(signals), Levels::of(run).map(Box::new))
}

fn judge(signals: Signals, levels: Option<Levels>) -> Vec<Verdict> {
    let growth = asked(Step::Growth, &signals);
    if let Some(found) = growth.into_iter().find(Candidate::holds) {
        return vec![sure(found, &candidates(&signals))];
    }
    match levels {
        Some(Levels::Modes(parts)) => by_parts(parts),
        // What explains the change itself, such as a quota, is asked before what each part tells.
        Some(Levels::Change(parts)) => match decide(&signals) {
            whole if whole.limiter().is_unknown() => by_parts(parts),
            whole => vec![whole],
        },
        None => vec![decide(&signals)],
    }
}

/// The verdicts of both parts of a run, the longer first; one where both say the same.
fn by_parts(parts: [(f64, Signals); 2]) -> Vec<Verdict> {
    let mut both = parts.map(|(share, signals)| Verdict {
        share,
        ..decide(&signals)
    });
    both.sort_by(|a, b| b.share.total_cmp(&a.share));
    let [longer, shorter] = both;
    if longer.limiter() == shorter.limiter() {
        return vec![Verdict {
            share: 1.0,
            ..longer
        }];
    }
    vec![longer, shorter]
}

/// The verdict of steady signals.
pub fn decide(signals: &Signals) -> Verdict {
    let candidates = candidates(signals);
    if let Some(trend) = signals
        .trend
        .filter(|trend| !(1.0 / STEADY..=STEADY).contains(trend))
    {
        // If the rate changes, loss or a quota explains it, or the time until answers or
        // acknowledgements changes; a limiter that holds a steady rate does not.
        let changing = [
            Step::Loss,
            Step::Quota,
            Step::Held,
            Step::Clamp,
            Step::Congestion,
            Step::Latency,
        ];
        let mut changing = changing.into_iter().flat_map(|step| asked(step, signals));
        if let Some(found) = changing.find(Candidate::holds) {
            let verdict = sure(found, &candidates);
            return Verdict {
                confidence: verdict.confidence.min(Confidence::Medium),
                ..verdict
            };
        }
        let why =
            format!("the rate changed by a factor of {trend:.2} from the first third to the last");
        return unknown(why, next(&candidates, None));
    }
    match candidates.iter().find(|candidate| candidate.holds()) {
        Some(found) => {
            let mut verdict = sure(found.clone(), &candidates);
            let most = if let Some(recovering) = recovering(signals, &found.limiter) {
                let known = std::mem::take(&mut verdict.chosen.detail);
                let more = if known.is_empty() { "" } else { "; " };
                verdict.chosen.detail = format!("{known}{more}{recovering}");
                Confidence::Low
            } else if holds_back(signals, &found.limiter)
                || has_room(signals, &found.limiter)
                || is_inferred(signals, &verdict)
            {
                Confidence::Medium
            } else {
                Confidence::High
            };
            verdict.confidence = verdict.confidence.min(most);
            verdict
        }
        None => unknown("no rule has enough evidence", next(&candidates, None)),
    }
}

/// True where a verdict is by host constants, which differ from second to second, or by what no counter shows.
fn is_inferred(signals: &Signals, verdict: &Verdict) -> bool {
    let mut steps = [Step::WakeUps, Step::Held].into_iter();
    steps.any(|step| asked(step, signals).contains(&verdict.chosen))
}

/// True where a queue that the verdict does not name holds packets back to a rate: it may be what
/// an endpoint waits for while its thread spins or polls.
fn holds_back(signals: &Signals, limiter: &Limiter) -> bool {
    let mut hops = signals.hops.iter();
    hops.any(|hop| hop.is_shaping() && !limiter.is_hop(&hop.name))
}

/// True where a rate is named although no queue passed most of the rate that it is known to have: a queue also stands
/// before an emulator or a forwarder without CPU time.
fn has_room(signals: &Signals, limiter: &Limiter) -> bool {
    let used = |hop: &Hop| Some(hop.passed_bps / hop.rate_bps.filter(|rate| *rate > 0.0)?);
    let most = signals.hops.iter().filter_map(used).reduce(f64::max);
    limiter.name() == RATE.name && most.is_some_and(|most| most < MOST_OF_RATE)
}

/// What is said of a stream that retransmits where a CPU is named: recovery holds it back as well,
/// so that less work for that CPU need not make it faster. A path that only reorders does this.
fn recovering(signals: &Signals, limiter: &Limiter) -> Option<String> {
    let cpus = [SENDER_CPU.name, RECEIVER_CPU.name, PACKETS_PER_SECOND.name];
    let again = signals.tcp.retransmitted?;
    (again >= RETRANSMITTED && cpus.contains(&limiter.name())).then(|| {
        format!(
            "{:.1} % of segments are retransmitted, lost or out of order, which slows it down as well",
            100.0 * again
        )
    })
}

/// The candidate of another limiter than the chosen one with the best evidence.
pub(super) fn next(candidates: &[Candidate], chosen: Option<&Limiter>) -> Option<Candidate> {
    let others = candidates
        .iter()
        .filter(|candidate| Some(&candidate.limiter) != chosen);
    others
        .max_by(|a, b| a.strength().total_cmp(&b.strength()))
        .cloned()
}

/// A verdict with its confidence: by the worst margin of its evidence, and never high where another
/// limiter's evidence holds as well.
fn sure(chosen: Candidate, candidates: &[Candidate]) -> Verdict {
    let runner_up = next(candidates, Some(&chosen.limiter));
    let best = candidates
        .iter()
        .filter(|candidate| candidate.limiter == chosen.limiter);
    let strength = best
        .map(Candidate::strength)
        .fold(chosen.strength(), f64::max);
    let rival = runner_up.as_ref().is_some_and(Candidate::holds);
    let confidence = match strength {
        margin if margin >= HIGH_MARGIN && !rival => Confidence::High,
        margin if margin >= MEDIUM_MARGIN => Confidence::Medium,
        _ => Confidence::Low,
    };
    Verdict {
        chosen,
        confidence,
        runner_up,
        share: 1.0,
        by_figures: false,
        others: None,
    }
}
