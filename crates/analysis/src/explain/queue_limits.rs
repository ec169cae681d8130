//! Whether a drop of throughput from one level of a factor to another comes from the queue limit of
//! the link emulator: what the queue dropped, and whether a longer queue ends the drop.

use bitcost_model::shaping::QueueLimit;
use bitcost_model::study::Label;

use crate::cells::CellSummary;
use crate::summary::{ImprovementSummary, Summary};

const FIGURE: &str = "throughput_mbps";

/// A longer queue that ends this share of a drop ends most of it; from [`PART`] on, it ends a part
/// of it.
const MOST: f64 = 0.75;
const PART: f64 = 0.25;

/// A drop of throughput from one level to another, at given levels of the other factors.
#[derive(Clone, Debug)]
pub struct ThroughputDrop {
    /// Levels of the other factors.
    pub levels: Vec<(String, Label)>,
    /// Limit of the emulator's queue; absent: the limit of the lab.
    pub limit: Option<QueueLimit>,
    /// Throughput at both levels, in Mbit/s.
    pub mbps: [f64; 2],
    /// Change in per cent, below 0 where throughput drops.
    pub change_pct: f64,
    /// Bounds of `change_pct`; absent with a single run, which has no spread.
    pub interval_pct: Option<[f64; 2]>,
    /// Change in per cent by the author's figures.
    pub expected_pct: Option<f64>,
    /// Packets that the emulator's queue dropped at the second level.
    pub dropped_packets: Option<f64>,
    /// Retransmitted segments at the second level.
    pub retransmits: Option<f64>,
    /// Plateau of the congestion window at the second level, in segments.
    pub window_segments: Option<f64>,
    /// The caveats of the drop.
    pub caveats: Vec<DropCaveat>,
}

/// A caveat of a drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropCaveat {
    /// A cell has a single run, which has no spread.
    SingleRun,
    /// Other programs used the CPUs.
    Disturbed,
    /// The link emulator was late, or dropped packets that it should have carried.
    LinkEmulator,
}

/// All drops of a study's improvement, and what follows from them.
#[derive(Clone, Debug, Default)]
pub struct QueueLimits {
    /// One per combination of the other factors' levels.
    pub drops: Vec<ThroughputDrop>,
    /// One per pair of a shorter and a longer queue.
    pub verdicts: Vec<QueueVerdict>,
}

/// What a shorter and a longer queue show together.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueVerdict {
    /// The levels that both have.
    pub levels: Vec<(String, Label)>,
    /// Limits of the shorter and of the longer queue, in packets.
    pub limits_packets: [u32; 2],
    /// What follows.
    pub finding: QueueFinding,
    /// The caveats of the verdict.
    pub caveats: Vec<DropCaveat>,
}

/// Whether a queue limit explains a drop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueFinding {
    /// Throughput does not drop with the shorter queue.
    NoDrop,
    /// The shorter queue dropped no packet.
    NothingDropped,
    /// How much of the drop remains with the longer queue.
    Compared {
        /// Changes with the shorter and with the longer queue, in per cent.
        change_pct: [f64; 2],
        /// Share of the drop that the longer queue ends, from 0 to 1.
        gone: f64,
        /// How much of the drop the queue limit causes.
        cause: QueueShare,
    },
}

/// How much of a drop a queue limit causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueShare {
    /// Most of it.
    Most,
    /// A part of it.
    Part,
    /// None of it.
    None,
}

/// The drops of a summary's improvements; none where no cell sets the limit of the emulator's
/// queue.
pub fn queue_limits(summary: &Summary) -> QueueLimits {
    let mut limits = summary
        .planned
        .iter()
        .map(|cell| cell.conditions.emulator_queue_limit);
    if limits.all(|limit| limit.is_none()) {
        return QueueLimits::default();
    }
    let drops: Vec<ThroughputDrop> = summary
        .improvements
        .iter()
        .filter_map(|improvement| throughput_drop(summary, improvement))
        .collect();
    let pairs = drops
        .iter()
        .flat_map(|drop| drops.iter().map(move |other| (drop, other)));
    let verdicts = pairs
        .filter_map(|(short, long)| verdict(short, long))
        .collect();
    QueueLimits { drops, verdicts }
}

fn throughput_drop(summary: &Summary, improvement: &ImprovementSummary) -> Option<ThroughputDrop> {
    let at = |label: &Label| {
        let mut levels = improvement.levels.clone();
        levels.push((improvement.factor.clone(), label.clone()));
        summary.cell(&levels)
    };
    let (from, to) = (at(&improvement.from)?, at(&improvement.to)?);
    let value = |cell: &CellSummary, name: &str| cell.figure(name).map(|figure| figure.value);
    let (_, ratio) = improvement
        .figures
        .iter()
        .find(|(known, _)| *known == FIGURE)?;
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    let expected = from.expected(FIGURE).zip(to.expected(FIGURE));
    let bounds = ratio.low.zip(ratio.high);
    Some(ThroughputDrop {
        levels: improvement.levels.clone(),
        limit: limit(summary, to),
        mbps: [value(from, FIGURE)?, value(to, FIGURE)?],
        change_pct: percent(ratio.value),
        interval_pct: bounds.map(|(low, high)| [percent(low), percent(high)]),
        expected_pct: expected.map(|(from, to)| percent(to / from)),
        dropped_packets: value(to, "emulator_dropped_packets"),
        retransmits: value(to, "retransmits"),
        window_segments: value(to, "window_plateau_segments"),
        caveats: caveats([from, to]),
    })
}

/// The limit that the conditions of a cell set.
fn limit(summary: &Summary, cell: &CellSummary) -> Option<QueueLimit> {
    let planned = summary
        .planned
        .iter()
        .find(|planned| planned.levels == cell.levels)?;
    planned.conditions.emulator_queue_limit
}

fn caveats(cells: [&CellSummary; 2]) -> Vec<DropCaveat> {
    let any = |is: fn(&CellSummary) -> bool| cells.into_iter().any(is);
    let known = [
        (any(|cell| cell.runs < 2), DropCaveat::SingleRun),
        (any(|cell| cell.disturbed > 0), DropCaveat::Disturbed),
        (
            any(|cell| cell.emulator_troubled > 0),
            DropCaveat::LinkEmulator,
        ),
    ];
    known
        .into_iter()
        .filter_map(|(is, caveat)| is.then_some(caveat))
        .collect()
}

impl ThroughputDrop {
    /// Whether throughput really drops: the interval, if there is one, is below 0.
    fn is_real(&self) -> bool {
        self.interval_pct.map_or(self.change_pct, |[_, high]| high) < 0.0
    }
}

/// What a shorter and a longer queue show together; absent where the two are no such pair, or
/// differ in another factor too.
fn verdict(short: &ThroughputDrop, long: &ThroughputDrop) -> Option<QueueVerdict> {
    let (Some(QueueLimit::Packets(less)), Some(QueueLimit::Packets(more))) =
        (short.limit, long.limit)
    else {
        return None;
    };
    let (same, others): (Vec<_>, Vec<_>) = short
        .levels
        .iter()
        .cloned()
        .partition(|level| long.levels.contains(level));
    if less >= more || others.len() != 1 {
        return None;
    }
    let finding = finding(short, long);
    let mut caveats = Vec::new();
    if matches!(finding, QueueFinding::Compared { .. }) {
        caveats = [&short.caveats[..], &long.caveats[..]].concat();
        caveats.sort_unstable();
        caveats.dedup();
    }
    Some(QueueVerdict {
        levels: same,
        limits_packets: [less, more],
        finding,
        caveats,
    })
}

fn finding(short: &ThroughputDrop, long: &ThroughputDrop) -> QueueFinding {
    if !short.is_real() {
        return QueueFinding::NoDrop;
    }
    if short.dropped_packets.unwrap_or(0.0) == 0.0 {
        return QueueFinding::NothingDropped;
    }
    let gone = (1.0 - long.change_pct.min(0.0) / short.change_pct).max(0.0);
    let cause = if gone >= MOST {
        QueueShare::Most
    } else if gone >= PART {
        QueueShare::Part
    } else {
        QueueShare::None
    };
    QueueFinding::Compared {
        change_pct: [short.change_pct, long.change_pct],
        gone,
        cause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drop(queue: &str, limit: u32, change_pct: f64, packets: f64) -> ThroughputDrop {
        ThroughputDrop {
            levels: vec![
                ("queue".into(), Label::Text(queue.into())),
                ("congestion_control".into(), Label::Text("cubic".into())),
            ],
            limit: Some(QueueLimit::Packets(limit)),
            mbps: [950.0, 950.0 * (1.0 + change_pct / 100.0)],
            change_pct,
            interval_pct: Some([change_pct - 3.0, change_pct + 3.0]),
            expected_pct: None,
            dropped_packets: Some(packets),
            retransmits: Some(packets),
            window_segments: Some(900.0),
            caveats: Vec::new(),
        }
    }

    #[test]
    fn the_finding_follows_from_the_figures() {
        let finding = |short: f64, packets: f64, long: f64| {
            let (short, long) = (
                drop("short", 1000, short, packets),
                drop("long", 20_000, long, 0.0),
            );
            verdict(&short, &long).unwrap().finding
        };
        let cause = |long| match finding(-50.0, 1800.0, long) {
            QueueFinding::Compared { cause, .. } => Some(cause),
            _ => None,
        };
        assert_eq!(cause(-2.0), Some(QueueShare::Most));
        assert_eq!(cause(-25.0), Some(QueueShare::Part));
        assert_eq!(cause(-49.0), Some(QueueShare::None));
        assert_eq!(finding(-50.0, 0.0, -2.0), QueueFinding::NothingDropped);
        assert_eq!(finding(-1.0, 10.0, -2.0), QueueFinding::NoDrop);
    }

    #[test]
    fn caveats_of_both_drops_are_kept_once() {
        let (mut short, mut long) = (
            drop("short", 1000, -38.0, 1800.0),
            drop("long", 20_000, 2.0, 0.0),
        );
        short.caveats = vec![DropCaveat::SingleRun, DropCaveat::LinkEmulator];
        long.caveats = vec![DropCaveat::SingleRun, DropCaveat::Disturbed];
        assert_eq!(
            verdict(&short, &long).unwrap().caveats,
            [
                DropCaveat::SingleRun,
                DropCaveat::Disturbed,
                DropCaveat::LinkEmulator
            ]
        );
    }

    #[test]
    fn only_a_shorter_and_a_longer_queue_are_a_pair() {
        let (short, long) = (
            drop("short", 1000, -50.0, 9.0),
            drop("long", 20_000, -1.0, 0.0),
        );
        assert!(verdict(&long, &short).is_none());
        assert!(verdict(&short, &short).is_none());
        let mut bbr = long.clone();
        bbr.levels[1].1 = Label::Text("bbr".into());
        assert!(verdict(&short, &bbr).is_none());
    }
}
