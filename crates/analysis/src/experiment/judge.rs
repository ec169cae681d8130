//! From the runs of a proof to what they prove.

use bitcost_stats::{Interval, LOOKED, median, trend};

use super::base::Base;
use super::change::{Change, PATH_RATE, RECEIVER_CPU, SEGMENTS, SENDER_CPU, Told, is_clamp};
use super::round::{Round, UNCHANGED};
use crate::explain::{Decision, Limiter, NotTried, ON_THE_PATH, Outcome, Proof, Tried, limiter};

/// The most changes that are tried without a screening block.
const FEW: usize = 3;

/// A resource limits where the throughput follows more of its change than this share; two that share a limit have about
/// a half each, and what does not limit has none.
const LIMITS_FROM: f64 = 0.3;

/// Without wake-ups, or with fuller packets, the throughput rises at least by this factor where they limit.
const RISES_FROM: f64 = 1.05;

/// The least change of a resource that is one, as a logarithm.
const LEAST: f64 = 0.03;

/// The factor by which packets are fuller at least where a setting fills them.
const FULLER: f64 = 1.1;

/// A background stream that lowers the throughput by more than this many times its share of the rate takes CPU time, too.
const SHARED_UP_TO: f64 = 3.0;

/// The factor by which the unchanged short runs may differ from the test, to either side.
const LIKE_THE_TEST: f64 = 1.33;

/// The unchanged runs drift where their trend is less likely by chance than this …
const DRIFT_CHANCE: f64 = 0.01;

/// … and changes them by more than this share from the first to the last.
const DRIFT: f64 = 0.1;

/// Whether one block of shorter runs is made first, in which the changes with an effect stand out: where nothing is
/// suspected, there are many.
pub fn needs_screening(base: &Base, changes: &[Change]) -> bool {
    base.named.is_none() && changes.len() > FEW
}

/// Those of the changes with which the throughput went when they were screened; all where it went with none.
pub fn standing_out(mut changes: Vec<Change>, tried: &[Tried]) -> Vec<Change> {
    let stood_out = |change: &Change| {
        let mut tried = tried.iter();
        tried.any(|one| one.label == change.name() && stands_out(one))
    };
    if changes.iter().any(stood_out) {
        changes.retain(stood_out);
    }
    changes
}

/// Whether the throughput went with the resource, by half of what limits or more, whatever the interval.
fn stands_out(tried: &Tried) -> bool {
    match tried.elasticity {
        Some(elasticity) => elasticity.value >= LIMITS_FROM / 2.0,
        None => tried.rate.value.ln() >= RISES_FROM.ln() / 2.0,
    }
}

/// What the runs of these rounds show of a test's verdict; `refused` is what was not tried. Where `is_looked`, more blocks
/// may follow, and an interval must be clear of the bound by a margin.
pub fn judge(base: &Base, refused: &[NotTried], rounds: &[&Round], is_looked: bool) -> Proof {
    let mut judged = Judged {
        base,
        tried: Vec::new(),
        untried: refused.to_vec(),
    };
    // A later round decides what one block left open.
    for (age, round) in rounds.iter().rev().enumerate() {
        for (place, change) in (1..).zip(&round.changes) {
            let mut known = judged.tried.iter().map(|(known, _, _)| known.name());
            if known.all(|name| name != change.name()) {
                match tried(round, place, is_looked) {
                    Some(Ok(found)) => judged.tried.push((change, found, age == 0)),
                    Some(Err(reason)) => {
                        judged
                            .untried
                            .push(NotTried::new(&*change.how.label, reason));
                    }
                    None => {}
                }
            }
        }
    }
    if base.own_lab().is_none() && judged.path_takes_cpu_time() {
        judged
            .tried
            .retain(|(change, ..)| change.name() != PATH_RATE);
        let why = "the background stream takes CPU time, too";
        judged.untried.push(NotTried::new("rate of the path", why));
    }
    judged
        .tried
        .sort_by_key(|(_, one, _)| one.limits != Decision::Limits);
    let unsound = unsound(base, rounds);
    let is_sound = unsound.is_none();
    Proof {
        named: base.named.clone(),
        is_sound,
        outcome: unsound.map_or_else(|| judged.outcome(), Outcome::Undecided),
        remedy: judged.fullest(),
        blocks: rounds.iter().map(|round| round.blocks()).sum(),
        tried: judged.tried.into_iter().map(|(_, one, _)| one).collect(),
        untried: judged.untried,
    }
}

/// Whether more blocks would change nothing: all is decided, or the verdict is proved. What a background stream shows
/// needs the decisions about the CPUs as well.
pub fn is_enough(base: &Base, proof: &Proof) -> bool {
    let is_shared = base.own_lab().is_none() && proof.has(PATH_RATE, Decision::Limits);
    let mut tried = proof.tried.iter();
    (proof.outcome == Outcome::Proved && !is_shared)
        || tried.all(|one| one.limits != Decision::Open)
}

/// What a change of a round shows, or why it was not tried; absent where there is no run of it yet.
fn tried(round: &Round, place: usize, is_looked: bool) -> Option<Result<Tried, String>> {
    let change = &round.changes[place - 1];
    let resource = change.resource();
    let one = match round.of_change(place)? {
        Ok(one) => one,
        Err(why) => return Some(Err(why)),
    };
    let left = round.pairs(place).filter_map(|(before, run)| {
        (resource.left)(&round.side(UNCHANGED, before), &round.side(place, run))
    });
    let left = median(&left.collect::<Vec<_>>());
    let size = match resource.told {
        Told::Without => Some(1.0),
        Told::With => left.filter(|times| *times >= FULLER),
        Told::Less | Told::More => left.filter(|left| left.ln() < -LEAST),
    };
    if size.is_none() {
        let why = match resource.told {
            Told::With => "packets were not fuller with it",
            _ => "the counters do not show the change",
        };
        return Some(Err(why.to_owned()));
    }
    // Where the resource has no size, the ratio alone counts.
    let left = left.filter(|_| matches!(resource.told, Told::Less | Told::More));
    let elasticity = left.map(|left| one.rate.map(|ratio| ratio.ln() / left.ln()));
    let (interval, bound) = elasticity.map_or((one.rate, RISES_FROM), |of| (of, LIMITS_FROM));
    let seen = interval.widened(if is_looked { LOOKED } else { 1.0 });
    let limits = match (seen.low, seen.high) {
        (Some(low), _) if low > bound => Decision::Limits,
        (_, Some(high)) if high < bound => Decision::DoesNot,
        _ => Decision::Open,
    };
    let more = more_blocks(&interval, bound, one.blocks).filter(|_| limits == Decision::Open);
    Some(Ok(Tried {
        changed: change.changed(left),
        elasticity,
        limits,
        more_s: more.map(|more| (round.block_time() * more).as_secs_f64()),
        ..one
    }))
}

/// Why the unchanged runs are no base of a proof.
fn unsound(base: &Base, rounds: &[&Round]) -> Option<String> {
    let unchanged = rounds.iter().flat_map(|round| round.results(UNCHANGED));
    let rates: Vec<f64> = unchanged.map(|run| run.rate).collect();
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
    let ratio = middle / base.rate;
    (!(1.0 / LIKE_THE_TEST..=LIKE_THE_TEST).contains(&ratio)).then(|| {
        format!(
            "the throughput of short runs is {:.0} % of the test's, so they may have another bottleneck",
            100.0 * ratio
        )
    })
}

/// What is said where smaller segments are slower, and nothing tells a window from packets.
const NOT_TOLD: &str =
    "smaller segments are slower, which a window shares with a limit of packets per second";

/// What is said where intervals do not decide.
const TOO_WIDE: &str = "the intervals are too wide to tell";

/// The changes of a proof with what they show, and whether the last round has them.
struct Judged<'a> {
    base: &'a Base,
    tried: Vec<(&'a Change, Tried, bool)>,
    untried: Vec<NotTried>,
}

impl Judged<'_> {
    fn has(&self, name: &str, decision: Decision) -> bool {
        let mut tried = self.tried.iter();
        tried.any(|(_, one, _)| one.label == name && one.limits == decision)
    }

    /// Whether what a background stream shows is not the rate of the path: a CPU limits, or throughput falls by much more
    /// than it takes.
    fn path_takes_cpu_time(&self) -> bool {
        let falls_more = |one: &Tried| {
            let low = one.elasticity.and_then(|found| found.low);
            one.label == PATH_RATE && low.is_some_and(|low| low > SHARED_UP_TO)
        };
        self.has(SENDER_CPU, Decision::Limits)
            || self.has(RECEIVER_CPU, Decision::Limits)
            || self.tried.iter().any(|(_, one, _)| falls_more(one))
    }

    /// The limiter that a resource which limits finds. Smaller segments are slower where a CPU or the path limits packets,
    /// and otherwise where the congestion window does, which is a number of segments.
    fn finds(&self, change: &Change) -> Option<Limiter> {
        let name = change.name();
        let limits = |name| self.has(name, Decision::Limits);
        if [SEGMENTS, PATH_RATE].contains(&name) && limits(SEGMENTS) && limits(PATH_RATE) {
            return limiter("packets_per_second", ON_THE_PATH);
        }
        let mut spared = [SENDER_CPU, RECEIVER_CPU, PATH_RATE].into_iter();
        // Slower links of a lab of our own leave a limit of packets as it is, which a background stream shares.
        if self.base.own_lab().is_none()
            && name == SEGMENTS
            && spared.all(|name| self.has(name, Decision::DoesNot))
        {
            return match self.base.is_lossy() {
                true => limiter("congestion_window_loss", ""),
                false => limiter("congestion_window_clamp", ""),
            };
        }
        (change.resource().finds)(&self.base.conditions)
    }

    /// The setting that fills packets which raised the throughput most, where the verdict's packets are not full.
    fn fullest(&self) -> Option<String> {
        let filling = self.tried.iter().filter(|(change, one, _)| {
            change.resource().told == Told::With && one.limits == Decision::Limits
        });
        let most = filling.max_by(|a, b| a.1.rate.value.total_cmp(&b.1.rate.value));
        most.map(|(change, one, _)| {
            let rose = 100.0 * (one.rate.value - 1.0);
            let how = &change.how;
            format!(
                "{} ({}), with which throughput rose by {rose:.0} %",
                how.label, how.keep
            )
        })
    }

    fn outcome(&self) -> Outcome {
        let limits = |one: &Tried| one.limits == Decision::Limits;
        // A setting that does not fill packets to effect refutes nothing.
        let is_own = |(change, one, _): &&(&Change, Tried, bool)| {
            change.is_own(self.base) && (limits(one) || change.resource().told != Told::With)
        };
        let own: Vec<_> = self.tried.iter().filter(is_own).collect();
        if own.iter().any(|(_, one, _)| limits(one)) {
            let named = self.base.named.as_ref();
            let segments = self
                .tried
                .iter()
                .find(|(change, ..)| change.name() == SEGMENTS);
            let finds = segments.and_then(|(change, ..)| self.finds(change));
            return match named.is_some_and(is_clamp) && finds.as_ref() != named {
                true => Outcome::Undecided(NOT_TOLD.to_owned()),
                false => Outcome::Proved,
            };
        }
        let strength = |one: &Tried| {
            let of = one.elasticity.map_or(0.0, |found| found.value);
            if of.is_finite() { of } else { 0.0 }
        };
        let others = self.tried.iter();
        let others = others.filter(|(change, one, _)| limits(one) && !change.is_own(self.base));
        let found = others
            .max_by(|a, b| strength(&a.1).total_cmp(&strength(&b.1)))
            .and_then(|(change, ..)| self.finds(change));
        // What was screened without effect is not in the last round, and leaves no proof open.
        let is_open =
            |(_, one, is_last): &(&Change, Tried, bool)| one.limits == Decision::Open && *is_last;
        let is_any_open = self.tried.iter().any(is_open);
        let nothing = || {
            Outcome::Undecided(match self.tried.is_empty() {
                _ if is_any_open => TOO_WIDE.to_owned(),
                true => "no resource could be changed".to_owned(),
                false => "throughput follows none of the resources that could be changed from here"
                    .to_owned(),
            })
        };
        let Some(named) = &self.base.named else {
            let found = found.map(Outcome::Found).or_else(|| self.likely());
            return found.unwrap_or_else(nothing);
        };
        if own.is_empty() {
            let follows = found.map(|found| format!("; throughput follows that of {found}"));
            return Outcome::Undecided(format!(
                "the resource of {named} could not be changed{}",
                follows.unwrap_or_default()
            ));
        }
        match found {
            Some(found) if !own.into_iter().any(is_open) => Outcome::Refuted(found),
            _ => nothing(),
        }
    }

    /// Of what is open, the limiter of the resource that the throughput follows most, clear of no effect.
    fn likely(&self) -> Option<Outcome> {
        let found = self.tried.iter().filter_map(|(change, one, _)| {
            let of = one.elasticity?;
            // Fewer data in a segment are more packets, or less of a congestion window.
            let leads = one.label != SEGMENTS && one.limits == Decision::Open && stands_out(one);
            let is_clear = of.widened(LOOKED).low.is_some_and(|low| low > 0.0);
            (leads && is_clear).then_some((of.value, &one.label, self.finds(change)?))
        });
        let most = found.max_by(|a, b| a.0.total_cmp(&b.0));
        most.map(|(_, name, limiter)| Outcome::Likely(limiter, name.clone()))
    }
}

/// Most blocks that are foreseen.
const BLOCKS_MOST: f64 = 1000.0;

/// How many more blocks settle on which side of a bound an interval of this many blocks is, if the
/// estimate stays where it is and the interval shrinks as 1 ÷ √n.
fn more_blocks(interval: &Interval, bound: f64, blocks: u32) -> Option<u32> {
    let half = (interval.high? - interval.low?) / 2.0;
    let distance = (interval.value - bound).abs();
    let needed = (f64::from(blocks) * (LOOKED * half / distance).powi(2)).ceil();
    (needed <= BLOCKS_MOST).then(|| (needed - f64::from(blocks)).max(1.0) as u32)
}
