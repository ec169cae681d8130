//! Why one level of a factor is worse than another: drops in the queue that delays, and whether more room there ends them.
//!
//! Everything said is computed from the cells' figures.

use model::shaping::QueueLimit;
use model::study::{Label, phrase};
use model::topology::show_limit;
use serde_json::{Value, json};
use stats::Interval;

use crate::improvement::ImprovementSummary;
use crate::json::levels_json;
use crate::number;
use crate::summary::{CellSummary, Summary};

/// The figure that falls.
const FIGURE: &str = "throughput_mbps";

/// From this part of a fall on, what more room takes away is most of it, or a part of it.
const MOST: f64 = 0.75;
const PART: f64 = 0.25;

/// A fall from one level to another, at given levels of the other factors.
#[derive(Clone, Debug)]
pub struct Fall {
    /// Levels of the other factors.
    pub levels: Vec<(String, Label)>,
    /// What may wait in the queue that delays; absent: what the lab says.
    pub limit: Option<QueueLimit>,
    /// Throughput at both levels, in Mbit/s.
    pub mbps: [f64; 2],
    /// Change in per cent, below 0 where it falls; and its interval.
    pub change_pct: f64,
    /// As `change_pct`; absent where one run says nothing about the spread.
    pub interval_pct: Option<[f64; 2]>,
    /// Change in per cent by the author's figures.
    pub expected_pct: Option<f64>,
    /// At the level that is fallen to: packets that the queue dropped, segments sent again, segments of the window.
    pub evidence: [Option<f64>; 3],
    /// Why it may be another, of either level.
    pub doubts: Vec<Doubt>,
}

/// What makes a fall doubtful.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubt {
    /// One run says nothing about the spread.
    OneRun,
    /// Something else used the CPUs.
    Disturbed,
    /// The delay line was late, or dropped what it should have carried.
    Line,
}

impl Doubt {
    fn words(self) -> &'static str {
        match self {
            Doubt::OneRun => "one run of a cell",
            Doubt::Disturbed => "disturbed runs",
            Doubt::Line => "a delay line that did not keep its times",
        }
    }

    fn all(cells: [&CellSummary; 2]) -> Vec<Doubt> {
        let is = |of: fn(&CellSummary) -> bool| cells.into_iter().any(of);
        let known = [
            (is(|cell| cell.runs < 2), Doubt::OneRun),
            (is(|cell| cell.disturbed > 0), Doubt::Disturbed),
            (is(|cell| cell.line_troubled > 0), Doubt::Line),
        ];
        known.into_iter().filter_map(|(is, doubt)| is.then_some(doubt)).collect()
    }
}

/// `one run of a cell, disturbed runs`.
fn listed(doubts: &[Doubt]) -> String {
    doubts.iter().map(|doubt| doubt.words()).collect::<Vec<_>>().join(", ")
}

impl Fall {
    fn of(
        summary: &Summary,
        improvement: &ImprovementSummary,
        limits: &[(String, Option<QueueLimit>)],
    ) -> Option<Fall> {
        let at = |label: &Label| {
            let mut levels = improvement.levels.clone();
            levels.push((improvement.factor.clone(), label.clone()));
            summary.cell(&levels)
        };
        let (from, to) = (at(&improvement.from)?, at(&improvement.to)?);
        let value = |cell: &CellSummary, name: &str| cell.figure(name).map(|figure| figure.value);
        let (_, ratio) = improvement.figures.iter().find(|(known, _)| *known == FIGURE)?;
        let percent = |ratio: f64| 100.0 * (ratio - 1.0);
        let expected = from.expected(FIGURE).zip(to.expected(FIGURE));
        Some(Fall {
            levels: improvement.levels.clone(),
            limit: limits.iter().find(|(cell, _)| *cell == to.name()).and_then(|(_, limit)| *limit),
            mbps: [value(from, FIGURE)?, value(to, FIGURE)?],
            change_pct: percent(ratio.value),
            interval_pct: ratio.low.zip(ratio.high).map(|(low, high)| [percent(low), percent(high)]),
            expected_pct: expected.map(|(from, to)| percent(to / from)),
            evidence: ["emulator_dropped_packets", "retransmits", "window_plateau_segments"]
                .map(|name| value(to, name)),
            doubts: Doubt::all([from, to]),
        })
    }

    /// Whether it is one: the interval, where there is one, lies below 0.
    fn is_real(&self) -> bool {
        self.interval_pct.map_or(self.change_pct, |[_, high]| high) < 0.0
    }

    fn room(&self) -> String {
        self.limit.map_or_else(|| "what the lab says".to_owned(), show_limit)
    }

    /// One sentence with the change and what was seen.
    fn sentence(&self) -> String {
        let Fall { levels, mbps: [from, to], change_pct, interval_pct, expected_pct, evidence, .. } = self;
        let (low, high) = interval_pct.map(<(f64, f64)>::from).unzip();
        let change = number::signed(&Interval { value: *change_pct, low, high }, "%", 0);
        let document = expected_pct.map_or_else(String::new, |pct| format!(" (document: {pct:+.0} %)"));
        let mut text = format!("{}: {from:.0} → {to:.0} Mbit/s, {change}{document}", phrase(levels));
        let [drops, again, window] = evidence;
        if let Some(drops) = drops {
            text += &format!("; the queue that delays, with room for {}, dropped {drops:.0} packets", self.room());
        }
        if let Some(again) = again {
            text += &format!("; {again:.0} segments were sent again");
        }
        if let Some(window) = window {
            text += &format!("; the window settled at {window:.0} segments");
            if let Some(QueueLimit::Packets(limit)) = self.limit {
                text += &format!(", {:.2} of that room", window / f64::from(limit));
            }
        }
        if !self.doubts.is_empty() {
            text += &format!("; doubtful: {}", listed(&self.doubts));
        }
        text
    }
}

/// All falls of a study's comparison, and what they say together.
#[derive(Clone, Debug, Default)]
pub struct Why {
    /// Each combination of the other factors' levels.
    pub falls: Vec<Fall>,
    /// What is concluded, a sentence for each pair of queues.
    pub verdicts: Vec<String>,
}

impl Why {
    /// `limits` are those of the cells' queues, by the cells' names. Nothing is said where no cell sets one.
    pub(crate) fn of(summary: &Summary, limits: &[(String, Option<QueueLimit>)]) -> Why {
        if limits.iter().all(|(_, limit)| limit.is_none()) {
            return Why::default();
        }
        let falls: Vec<Fall> =
            summary.improvements.iter().filter_map(|improvement| Fall::of(summary, improvement, limits)).collect();
        let pairs = falls.iter().flat_map(|fall| falls.iter().map(move |other| (fall, other)));
        let verdicts = pairs.filter_map(|(short, long)| verdict(short, long)).collect();
        Why { falls, verdicts }
    }

    /// Paragraphs for people.
    pub fn paragraphs(&self) -> Vec<String> {
        self.falls.iter().map(Fall::sentence).chain(self.verdicts.iter().cloned()).collect()
    }

    pub(crate) fn json(&self) -> Value {
        let fall = |fall: &Fall| {
            let [drops, again, window] = fall.evidence;
            json!({
                "levels": levels_json(&fall.levels),
                "limit": fall.limit.map(show_limit),
                "from_mbps": fall.mbps[0],
                "to_mbps": fall.mbps[1],
                "change_pct": fall.change_pct,
                "interval_pct": fall.interval_pct,
                "expected_pct": fall.expected_pct,
                "emulator_dropped_packets": drops,
                "retransmits": again,
                "window_plateau_segments": window,
                "doubts": fall.doubts.iter().map(|doubt| doubt.words()).collect::<Vec<_>>(),
            })
        };
        json!({ "falls": self.falls.iter().map(fall).collect::<Vec<_>>(), "verdicts": self.verdicts })
    }
}

/// What a short and a long queue say together; `None` where they are not such a pair, or differ in another factor too.
fn verdict(short: &Fall, long: &Fall) -> Option<String> {
    let (Some(QueueLimit::Packets(less)), Some(QueueLimit::Packets(more))) = (short.limit, long.limit) else {
        return None;
    };
    let others: Vec<_> = short.levels.iter().filter(|level| !long.levels.contains(level)).collect();
    if less >= more || others.len() != 1 {
        return None;
    }
    let same: Vec<_> = short.levels.iter().filter(|level| long.levels.contains(level)).cloned().collect();
    let at = if same.is_empty() { String::new() } else { format!("{}: ", phrase(&same)) };
    if !short.is_real() {
        return Some(format!("{at}with room for {less} packets there is no fall to explain"));
    }
    let drops = short.evidence[0].unwrap_or(0.0);
    if drops == 0.0 {
        return Some(format!(
            "{at}nothing was dropped with room for {less} packets: the queue is not the cause of the fall"
        ));
    }
    let gone = (1.0 - long.change_pct.min(0.0) / short.change_pct).max(0.0);
    let (before, after) = (-short.change_pct, long.change_pct);
    let left = if after < 0.0 {
        format!("is one of {:.0} %, so {:.0} % of it is gone", -after, 100.0 * gone)
    } else {
        format!("is gone, and the throughput gains {after:.0} %")
    };
    let packets = "the queue counts packets, and offloading makes one packet of many segments";
    let cause = if gone >= MOST {
        format!("the fall is that of the emulator's queue and not of the CPU: {packets}")
    } else if gone >= PART {
        format!("a part of the fall is that of the emulator's queue, and the rest is not: {packets}")
    } else {
        "the emulator's queue is not the cause of the fall".to_owned()
    };
    let mut doubts: Vec<Doubt> = short.doubts.iter().chain(&long.doubts).copied().collect();
    doubts.sort_unstable();
    doubts.dedup();
    let said = match &doubts[..] {
        [] => cause,
        doubts => format!("this suggests that {cause}; but it rests on {}", listed(doubts)),
    };
    Some(format!("{at}with room for {more} instead of {less} packets the fall of {before:.0} % {left}: {said}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fall(queue: &str, limit: u32, change_pct: f64, drops: f64) -> Fall {
        Fall {
            levels: vec![
                ("queue".into(), Label::Text(queue.into())),
                ("congestion_control".into(), Label::Text("cubic".into())),
            ],
            limit: Some(QueueLimit::Packets(limit)),
            mbps: [950.0, 950.0 * (1.0 + change_pct / 100.0)],
            change_pct,
            interval_pct: Some([change_pct - 3.0, change_pct + 3.0]),
            expected_pct: None,
            evidence: [Some(drops), Some(drops), Some(900.0)],
            doubts: Vec::new(),
        }
    }

    #[test]
    fn the_verdict_follows_the_figures() {
        let said = |short: f64, drops: f64, long: f64| {
            verdict(&fall("short", 1000, short, drops), &fall("long", 20_000, long, 0.0)).unwrap()
        };
        assert!(said(-50.0, 1800.0, -2.0).contains("so 96 % of it is gone: the fall is that of the emulator's queue"));
        assert!(said(-50.0, 1800.0, -25.0).contains("a part of the fall"));
        assert!(said(-50.0, 1800.0, -49.0).contains("is not the cause of the fall"));
        assert!(said(-50.0, 0.0, -2.0).contains("nothing was dropped"));
        assert!(said(-1.0, 10.0, -2.0).contains("cubic: with room for 1000 packets there is no fall to explain"));
    }

    #[test]
    fn what_rose_is_a_gain_and_doubts_are_carried_along() {
        let (mut short, mut long) = (fall("short", 1000, -38.0, 1800.0), fall("long", 20_000, 2.0, 0.0));
        let said = verdict(&short, &long).unwrap();
        assert!(said.contains("the fall of 38 % is gone, and the throughput gains 2 %: the fall is that of"), "{said}");
        assert!(verdict(&short, &fall("long", 20_000, -0.2, 0.0)).unwrap().contains("is one of 0 %, so 99 % of it"));
        (short.doubts, long.doubts) = (vec![Doubt::OneRun, Doubt::Line], vec![Doubt::OneRun, Doubt::Disturbed]);
        let said = verdict(&short, &long).unwrap();
        assert!(said.contains("this suggests that the fall is that of the emulator's queue"), "{said}");
        let rests = "but it rests on one run of a cell, disturbed runs, a delay line that did not keep its times";
        assert!(said.ends_with(rests), "{said}");
        assert!(short.sentence().ends_with("; doubtful: one run of a cell, a delay line that did not keep its times"));
    }

    #[test]
    fn only_a_short_and_a_long_queue_are_a_pair() {
        let (short, long) = (fall("short", 1000, -50.0, 9.0), fall("long", 20_000, -1.0, 0.0));
        assert!(verdict(&long, &short).is_none());
        assert!(verdict(&short, &short).is_none());
        let mut bbr = long.clone();
        bbr.levels[1].1 = Label::Text("bbr".into());
        assert!(verdict(&short, &bbr).is_none());
        let text = short.sentence();
        assert!(text.contains("−50 %") || text.contains("-50 %"), "{text}");
        assert!(text.contains("room for 1000 packets, dropped 9 packets"), "{text}");
        assert!(text.contains("0.90 of that room"), "{text}");
    }
}
