//! Whether a drop of throughput comes from the queue limit of the link emulator, as sentences and
//! as JSON.

use bitcost_analysis::explain::{
    DropCaveat, QueueFinding, QueueLimits, QueueShare, QueueVerdict, ThroughputDrop,
};
use bitcost_analysis::statistics::Interval;
use bitcost_model::shaping::QueueLimit;
use bitcost_model::shaping::show_limit;
use bitcost_model::study::phrase;
use serde_json::{Value, json};

use crate::json_parts::levels_json;
use crate::number;
use crate::words::around;

/// Paragraphs for people: one per drop, then one per verdict.
pub(crate) fn queue_limits_text(found: &QueueLimits) -> Vec<String> {
    let drops = found.drops.iter().map(drop_sentence);
    drops
        .chain(found.verdicts.iter().map(verdict_sentence))
        .collect()
}

/// `drops`: each with `levels`, `limit`, `from_mbps`, `to_mbps`, `change_pct`, `interval_pct`,
/// `expected_pct`, `emulator_dropped_packets`, `retransmits`, `window_plateau_segments`, `caveats`;
/// and `verdicts`, one sentence each.
pub(crate) fn queue_limits_json(found: &QueueLimits) -> Value {
    let verdicts: Vec<String> = found.verdicts.iter().map(verdict_sentence).collect();
    json!({ "drops": found.drops.iter().map(drop_json).collect::<Vec<_>>(), "verdicts": verdicts })
}

fn drop_json(drop: &ThroughputDrop) -> Value {
    json!({
        "levels": levels_json(&drop.levels),
        "limit": drop.limit.map(show_limit),
        "from_mbps": drop.mbps[0],
        "to_mbps": drop.mbps[1],
        "change_pct": drop.change_pct,
        "interval_pct": drop.interval_pct,
        "expected_pct": drop.expected_pct,
        "emulator_dropped_packets": drop.dropped_packets,
        "retransmits": drop.retransmits,
        "window_plateau_segments": drop.window_segments,
        "caveats": drop.caveats.iter().map(|caveat| words(*caveat)).collect::<Vec<_>>(),
    })
}

fn words(caveat: DropCaveat) -> &'static str {
    match caveat {
        DropCaveat::SingleRun => "a cell with a single run",
        DropCaveat::Disturbed => "disturbed runs",
        DropCaveat::LinkEmulator => "a link emulator that was late or lost packets",
    }
}

fn listed(caveats: &[DropCaveat]) -> String {
    let words: Vec<&str> = caveats.iter().map(|caveat| words(*caveat)).collect();
    words.join(", ")
}

/// The change and what was measured with it.
fn drop_sentence(drop: &ThroughputDrop) -> String {
    let [from, to] = drop.mbps;
    let (low, high) = drop.interval_pct.map(<(f64, f64)>::from).unzip();
    let value = drop.change_pct;
    let change = number::signed(&Interval { value, low, high }, "%", 0);
    let document = drop
        .expected_pct
        .map_or_else(String::new, |pct| format!(" (document: {pct:+.0} %)"));
    let mut text = format!(
        "{}: {from:.0} → {to:.0} Mbit/s, {change}{document}",
        phrase(&drop.levels)
    );
    if let Some(packets) = drop.dropped_packets {
        let limit = drop
            .limit
            .map_or_else(|| "the lab's limit".to_owned(), show_limit);
        text += &format!("; the emulator's queue ({limit}) dropped {packets:.0} packets");
    }
    if let Some(count) = drop.retransmits {
        text += &format!("; {count:.0} segments were retransmitted");
    }
    if let Some(window) = drop.window_segments {
        text += &format!("; the congestion window settled at {window:.0} segments");
        if let Some(QueueLimit::Packets(limit)) = drop.limit {
            let share = window / f64::from(limit);
            text += &format!(", {share:.2} of the queue limit");
        }
    }
    if !drop.caveats.is_empty() {
        text += &format!("; caveat: {}", listed(&drop.caveats));
    }
    text
}

fn verdict_sentence(verdict: &QueueVerdict) -> String {
    let at = around("", &phrase(&verdict.levels), ": ");
    let [less, more] = verdict.limits_packets;
    let (change_pct, gone, cause) = match verdict.finding {
        QueueFinding::NoDrop => {
            return format!("{at}with a queue of {less} packets throughput does not drop");
        }
        QueueFinding::NothingDropped => {
            return format!(
                "{at}a queue of {less} packets dropped nothing: the queue limit does not cause the drop"
            );
        }
        QueueFinding::Compared {
            change_pct,
            gone,
            cause,
        } => (change_pct, gone, cause),
    };
    let [before, after] = change_pct;
    let left = if after < 0.0 {
        let gone = 100.0 * gone;
        format!("shrinks to {:.0} %, so {gone:.0} % of it is gone", -after)
    } else {
        format!("is gone, and throughput gains {after:.0} %")
    };
    let cause = cause_words(cause);
    let conclusion = match &verdict.caveats[..] {
        [] => cause,
        caveats => format!(
            "this suggests that {cause}; but it rests on {}",
            listed(caveats)
        ),
    };
    format!(
        "{at}with a queue of {more} instead of {less} packets the drop of {:.0} % {left}: {conclusion}",
        -before
    )
}

fn cause_words(cause: QueueShare) -> String {
    let packets = "the queue counts packets, and offloads make one packet of many segments";
    match cause {
        QueueShare::Most => {
            format!("the drop is caused by the emulator's queue limit, not by CPU: {packets}")
        }
        QueueShare::Part => {
            format!("the emulator's queue limit causes a part of the drop: {packets}")
        }
        QueueShare::None => "the emulator's queue limit does not cause the drop".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use bitcost_model::study::Label;

    use super::*;

    fn verdict(finding: QueueFinding, caveats: &[DropCaveat]) -> String {
        verdict_sentence(&QueueVerdict {
            levels: vec![("congestion_control".into(), Label::Text("cubic".into()))],
            limits_packets: [1000, 20_000],
            finding,
            caveats: caveats.to_vec(),
        })
    }

    #[test]
    fn a_verdict_names_the_cause_and_its_caveats() {
        let compared = |after, gone, cause| QueueFinding::Compared {
            change_pct: [-38.0, after],
            gone,
            cause,
        };
        let gains = verdict(compared(2.0, 1.0, QueueShare::Most), &[]);
        assert!(
            gains.starts_with(
                "cubic: with a queue of 20000 instead of 1000 packets the drop of 38 % is gone, \
                 and throughput gains 2 %: the drop is caused by"
            ),
            "{gains}"
        );
        let caveats = [DropCaveat::SingleRun, DropCaveat::LinkEmulator];
        let shrinks = verdict(compared(-0.2, 0.99, QueueShare::Most), &caveats);
        assert!(
            shrinks.contains("shrinks to 0 %, so 99 % of it is gone: this suggests that the drop"),
            "{shrinks}"
        );
        assert!(
            shrinks.ends_with(
                "but it rests on a cell with a single run, a link emulator that was late or lost packets"
            ),
            "{shrinks}"
        );
        let none = verdict(QueueFinding::NoDrop, &[]);
        assert_eq!(
            none,
            "cubic: with a queue of 1000 packets throughput does not drop"
        );
    }

    #[test]
    fn a_drop_names_what_was_measured() {
        let drop = ThroughputDrop {
            levels: vec![("queue".into(), Label::Text("short".into()))],
            limit: Some(QueueLimit::Packets(1000)),
            mbps: [950.0, 475.0],
            change_pct: -50.0,
            interval_pct: None,
            expected_pct: None,
            dropped_packets: Some(9.0),
            retransmits: None,
            window_segments: Some(900.0),
            caveats: vec![DropCaveat::SingleRun],
        };
        assert_eq!(
            drop_sentence(&drop),
            "short: 950 → 475 Mbit/s, -50 %; the emulator's queue (1000 packets) dropped 9 packets; \
             the congestion window settled at 900 segments, 0.90 of the queue limit; \
             caveat: a cell with a single run"
        );
    }
}
