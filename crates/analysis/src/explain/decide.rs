//! From the facts of a run to a verdict.

use bitcost_model::record::Role;
use bitcost_model::units::counted;

use crate::explain::cost::PacketCost;
use crate::explain::limiter::{Candidate, Confidence, Limiter, Verdict};
use crate::explain::limiters::{STEADY, UNKNOWN, suspects};
use crate::explain::others::Others;
use crate::explain::signals::Signals;

/// Least number of intervals between samples, and their least length in seconds.
const INTERVALS_MIN: usize = 8;
const SECONDS_MIN: f64 = 0.8;

/// The most suspects of a verdict, and the least strength of one.
const SUSPECTS: usize = 3;
const NEAR: f64 = 0.25;

/// The share of the time of its CPUs that an end must have lost to other programs for a verdict to say so.
const LOST: f64 = 0.1;

impl Signals {
    /// Whether nothing arrived, and it shows what was lost.
    pub(super) fn shows_why_nothing_came(&self) -> bool {
        let lost_all = self.loss.is_some_and(|loss| loss.pct >= 100.0);
        lost_all || self.packets.unheard.is_some()
    }

    /// What limited the run; `cost` is what a packet of the run's size costs where that is known.
    pub fn verdict(&self, cost: Option<PacketCost>) -> Verdict {
        let signals = Signals {
            cost,
            ..self.clone()
        };
        let mut verdict = match too_little(&signals) {
            Some(why) => unknown(why, Vec::new()),
            None => decide(&signals),
        };
        if signals.is_moving() {
            self.others.tell(&mut verdict);
        }
        if self.is_foreign() {
            let remedy = for_any_program(verdict.remedy());
            verdict.chosen.remedy = Some(remedy);
        }
        verdict
    }
}

impl Others {
    /// Adds to a verdict what they mean for it, and of a full CPU which offloads its end lacks.
    pub fn tell(&self, verdict: &mut Verdict) {
        let detail = std::mem::take(&mut verdict.chosen.detail);
        let is_own = |end: Role| verdict.limiter().name() == format!("{}_cpu", end.name());
        let off = self.off.iter().filter(|(end, _)| is_own(*end));
        let off: Vec<&str> = off.map(|(_, name)| *name).collect();
        let off = (!off.is_empty()).then(|| format!("{} off", off.join(", ")));
        let all = [Some(detail), off, self.matters(verdict.limiter())];
        let said = all.into_iter().flatten().filter(|words| !words.is_empty());
        verdict.chosen.detail = said.collect::<Vec<_>>().join("; ");
    }

    /// How much faster a full CPU would be without them, or that one of them may be what is full between the ends.
    fn matters(&self, limiter: &Limiter) -> Option<String> {
        let end = match limiter.name() {
            _ if limiter.is_on_the_path() => None,
            "sender_cpu" | "packets_per_second" => Some(Role::Sender),
            "receiver_cpu" => Some(Role::Receiver),
            _ => None,
        };
        if let Some(end) = end {
            let lost = self.lost[end as usize];
            let (pct, times) = (100.0 * lost, 1.0 / (1.0 - lost));
            return (LOST..1.0).contains(&lost).then(|| {
                format!("without other programs, which took up to {pct:.0} % of its time, the rate could be {times:.1} times as high")
            });
        }
        let is_between = limiter.is_on_the_path()
            || limiter.is_unknown()
            || ["path_loss", "congestion_window_loss"].contains(&limiter.name());
        let (name, pct) = self.full.as_ref().filter(|_| is_between)?;
        Some(format!(
            "{name} used {pct:.0} % of a CPU: if it forwards the packets of this test in one thread, that is the limit"
        ))
    }
}

/// A remedy without the options of bitcost's own traffic, which stand in brackets.
fn for_any_program(remedy: &str) -> String {
    let mut parts = remedy.split(" (-");
    let first = parts.next().unwrap_or_default().to_owned();
    let rests = parts.map(|part| part.split_once(')').map_or("", |(_, rest)| rest));
    rests.fold(first, |text, rest| text + rest)
}

/// Why nothing can be said of so few samples.
fn too_little(signals: &Signals) -> Option<String> {
    if signals.intervals < INTERVALS_MIN || signals.seconds < SECONDS_MIN {
        let else_look = match signals.transactions.is_some() {
            true => "; look at the latency of transactions",
            false => "",
        };
        return Some(format!(
            "{} between samples in {:.2} s; needed: {INTERVALS_MIN} in {SECONDS_MIN} s{else_look}",
            counted(signals.intervals, "interval"),
            signals.seconds
        ));
    }
    let nothing =
        signals.goodput_bps.is_none() && signals.transactions.is_none() && !signals.is_foreign();
    let shows_none = signals.loss.is_none() && signals.packets.unheard.is_none();
    (nothing && shows_none).then(|| "nothing was delivered".to_owned())
}

pub fn decide(signals: &Signals) -> Verdict {
    if !signals.is_moving() {
        let mut all = suspects(signals);
        all.retain(Candidate::holds);
        return strongest(
            all,
            "nothing moved on the connections meanwhile: each program may wait for the other",
        );
    }
    let change = signals.trend.unwrap_or(1.0);
    let why = match (1.0 / STEADY..=STEADY).contains(&change) {
        true => "no limiter has all its evidence".to_owned(),
        false => {
            format!("the rate changed by a factor of {change:.2} from the first third to the last")
        }
    };
    strongest(suspects(signals), why)
}

/// The verdict that names the strongest of these where all of its evidence holds; otherwise `why` none is named.
pub(super) fn strongest(mut all: Vec<Candidate>, why: impl Into<String>) -> Verdict {
    all.sort_by(|a, b| b.strength().total_cmp(&a.strength()));
    let mut suspects: Vec<Candidate> = Vec::new();
    for found in all {
        if !suspects.iter().any(|known| known.limiter == found.limiter) {
            suspects.push(found);
        }
    }
    if !suspects.first().is_some_and(Candidate::holds) {
        return unknown(why, suspects);
    }
    let chosen = suspects.remove(0);
    Verdict {
        confidence: Confidence::Likely,
        chosen,
        ..unknown("", suspects)
    }
}

/// The verdict that no limiter can be named, why, and what is suspected.
fn unknown(why: impl Into<String>, suspects: Vec<Candidate>) -> Verdict {
    let near = suspects.into_iter().filter(|one| one.strength() >= NEAR);
    Verdict {
        chosen: Candidate::named(UNKNOWN.limiter(), Vec::new()).with_detail(why),
        confidence: Confidence::Unknown,
        share: 1.0,
        suspects: near.take(SUSPECTS).collect(),
    }
}
