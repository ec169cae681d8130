//! Whether a run became what its scenario's name says, by what its records count.

use bitcost_analysis::explain::Signals;
use bitcost_model::record::Role;

use super::scenarios::{Between, Scenario};
use super::trial::Trial;

/// Share of a rate from which a link or a shaper was filled; a link emulator's rate counts headers,
/// and the receiver's rate does not.
const FILLED: f64 = 0.85;

/// Share of the time for which a quota must have held an endpoint back.
const THROTTLED: f64 = 0.1;

/// Loss in per cent from which datagrams count as lost.
const LOST_PCT: f64 = 2.0;

/// Share of the time for which an endpoint must have waited for a contended CPU.
const WAITED: f64 = 0.25;

/// The least and the greatest share of the time for which a bucket must have been empty.
const EMPTY: [f64; 2] = [0.2, 0.8];

/// Why the run did not become what the scenario's name says; absent where it did.
pub fn missing(scenario: &Scenario, trial: &Trial) -> Option<String> {
    let signals = trial.signals();
    let (value, least, what) = found(scenario, trial, &signals)?;
    (value < least).then(|| format!("{what}: {value:.2}, at least {least:.2}"))
}

/// What the records say of the scenario's limit: a value, the least that it must be, and its name.
fn found(
    scenario: &Scenario,
    trial: &Trial,
    signals: &Signals,
) -> Option<(f64, f64, &'static str)> {
    let lost = signals.loss.map(|loss| loss.pct);
    match scenario.group() {
        "rate" => filled(scenario, signals).map(|share| (share, FILLED, "share of the rate used")),
        "cpu_quota" => {
            let end = usize::from(scenario.quota?.0 == Role::Receiver);
            let held = signals.throttled[end].unwrap_or(0.0);
            Some((held, THROTTLED, "share of the time throttled"))
        }
        "divided" => {
            let empty = trial.share_held_back()?;
            let outside = (empty - EMPTY[0]).min(EMPTY[1] - empty);
            Some((
                outside,
                0.0,
                "bucket empty, share of the time inside 0.2 to 0.8",
            ))
        }
        "queue_overflow" | "path_loss" if lost.is_some() => {
            Some((lost?, LOST_PCT, "datagrams lost, %"))
        }
        "queue_overflow" => {
            let drops = signals.hops.iter().map(|hop| hop.drops).sum();
            Some((drops, 1.0, "packets dropped"))
        }
        "udp_receive_buffer" => Some((lost?, LOST_PCT, "datagrams lost, %")),
        "packets_per_second" => {
            let kept = lost.map_or(100.0, |lost| 100.0 - lost);
            Some((
                kept,
                100.0 - LOST_PCT,
                "datagrams that the receiver kept, %",
            ))
        }
        "congestion_window_loss" => Some((signals.tcp.retransmits?, 1.0, "segments retransmitted")),
        "slow_start" => {
            let is_growing = f64::from(u8::from(signals.tcp.in_slow_start?));
            Some((is_growing, 1.0, "in slow start at the end"))
        }
        "application_pacing" => Some((signals.rate_kept?, 0.98, "share of the rate kept")),
        "sender_cpu" if scenario.is_contended() => {
            Some((signals.sender?.wait, WAITED, "share of the time waiting"))
        }
        "receiver_cpu" if scenario.is_contended() => {
            Some((signals.receiver?.wait, WAITED, "share of the time waiting"))
        }
        _ => None,
    }
}

/// The share of the rate that was used: of a shaper by what passed it, of a link emulator by what
/// the receiver took.
fn filled(scenario: &Scenario, signals: &Signals) -> Option<f64> {
    if let Between::Emulator(path) = &scenario.between {
        return Some(signals.goodput_bps? / path.rate_bps? as f64);
    }
    let hop = signals.hops.iter().find(|hop| hop.kind == "tbf")?;
    let named = match &scenario.between {
        Between::Queue(text) => text
            .strip_prefix("tbf rate ")
            .and_then(|rate| bitcost_model::units::parse_rate(rate).ok())
            .map(|rate| rate as f64),
        _ => None,
    };
    Some(hop.passed_bps / hop.rate_bps.or(named)?)
}
