//! The rate of a link, of a shaper at a named hop, or of a path whose queue is not seen.

use bitcost_model::record::Role;

use super::application::waits_here;
use super::evidence::{AT_WORK, EXPLAINED, LOSS_PCT, QUEUEING, SHARED, dropped, keeps_rate};
use super::evidence::{least, least_of, most, most_of};
use crate::explain::hops::Hop;
use crate::explain::limiter::{Candidate, Evidence, LimiterRow, ON_THE_PATH};
use crate::explain::signals::Signals;

/// The share of a set rate that may be missing where the queue limits.
const UNFILLED: f64 = 0.03;

/// What arrives may be this share of the rate less by chance: both ends are not read at once.
const BY_CHANCE: f64 = 0.005;

/// Below this share of its set rate, a queue is often empty.
const FAR_FROM_FULL: f64 = 0.85;

/// From this share, a sender is held up by what comes after its socket.
pub(super) const HELD_UP: f64 = 0.3;

pub static RATE: LimiterRow = LimiterRow {
    name: "rate",
    title: "link or shaper rate",
    remedy: "raise the rate of that link or shaper; more flows or larger buffers change nothing",
    evidence: "97 % of the rate that a queueing discipline or link emulator is set to passed, and a requested rate is not kept, or does not arrive; or (on the path, unless all known rates of a lab's path are filled by less than 85 %) the sender is blocked in send 30 %, and the round-trip time has grown (where both ends share CPUs: these at most 75 % in use), or the pacing rate 0.9 to 1.15 × goodput",
    suspects: |signals, found| {
        found.extend(signals.hops.iter().filter_map(|hop| filled(signals, hop)));
        found.extend(stands(signals));
        found.extend(paces(signals));
        found.extend(waits_here(signals, &RATE));
    },
};

/// A queue that passes all that its rate allows, however the sender spends its time: one that is
/// held back by its own interface may wait on its CPU.
pub(super) fn filled(signals: &Signals, hop: &Hop) -> Option<Candidate> {
    let passed = passed(hop)?;
    // What the sender hands over may wait in the queue, where nothing else fills it.
    let is_lossy = signals.loss.is_some_and(|loss| loss.pct > LOSS_PCT);
    let beside = signals.beside_bps[Role::Sender as usize].filter(|_| hop.is_own);
    let others = beside.unwrap_or(hop.passed_bps / 2.0);
    let is_own = signals.goodput_bps >= Some(others);
    let is_less = |arrived: f64| arrived < passed - BY_CHANCE;
    let waits = !is_lossy && is_own && signals.arrived.is_some_and(is_less);
    if keeps_rate(signals) && !waits {
        return None;
    }
    let missing = format!("set rate of {} at {} that did not pass", hop.kind, hop.name);
    let evidence = vec![most(missing, (1.0 - passed).max(0.0), UNFILLED)];
    let found = RATE.suspect(0.95, evidence).of_steady();
    Some(found.at(format!("at {}", hop.name)))
}

/// The share of its set rate that passed a hop.
fn passed(hop: &Hop) -> Option<f64> {
    let rate_bps = hop.rate_bps.filter(|rate| *rate > 0.0)?;
    Some(hop.passed_bps / rate_bps)
}

/// A queue whose counters are not known, and which is never empty: the round-trip time grew.
pub(super) fn stands(signals: &Signals) -> Option<Candidate> {
    let grows = grows(signals).filter(|_| signals.transactions.is_none());
    let mut evidence = vec![grows?];
    // Packets also wait for a full CPU.
    let shared = signals.shared_cpus;
    evidence.extend(shared.map(|share| most(AT_WORK, share, SHARED)));
    on_the_path(signals, evidence, "a queue builds up there")
}

const ROUND_TRIP: &str = "round-trip time ÷ its minimum";

/// Evidence that the round-trip time grew, and so a queue somewhere.
pub(super) fn grows(signals: &Signals) -> Option<Evidence> {
    Some(least_of(ROUND_TRIP, signals.tcp.queueing?, "", QUEUEING))
}

/// Evidence that it did not.
pub(super) fn stays(signals: &Signals) -> Option<Evidence> {
    Some(most_of(ROUND_TRIP, signals.tcp.queueing?, "", QUEUEING))
}

/// The connection found the path's rate.
fn paces(signals: &Signals) -> Option<Candidate> {
    let pacing = signals.tcp.pacing_use?;
    let counter = "rate at which the connection paces itself ÷ goodput";
    let evidence = vec![
        least_of(counter, pacing, "", 0.9),
        most_of(counter, pacing, "", 1.15),
    ];
    let detail = "the connection paces itself at the rate that it finds";
    on_the_path(signals, evidence, detail)
}

fn on_the_path(signals: &Signals, mut evidence: Vec<Evidence>, detail: &str) -> Option<Candidate> {
    // Of the path of a lab all rates are known.
    let of_lab = signals.hops.iter().filter(|hop| hop.is_of_lab());
    let known: Vec<f64> = of_lab.filter_map(passed).collect();
    if !known.is_empty() && known.iter().all(|passed| *passed < FAR_FROM_FULL) {
        return None;
    }
    let blocked = signals.sender?.blocked;
    evidence.push(least("sender blocked in send", blocked, HELD_UP));
    let explains = |hop: &&Hop| dropped(hop, &signals.tcp) >= Some(EXPLAINED);
    let mut dropping = signals.hops.iter().filter(explains);
    let place = match (dropping.next(), dropping.next()) {
        (Some(hop), None) => format!("at {}", hop.name),
        _ => ON_THE_PATH.to_owned(),
    };
    let found = RATE.suspect(0.55, evidence).of_steady();
    Some(found.at(place).with_detail(detail))
}
