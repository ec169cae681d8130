//! What lies between the ends of a lab: drops at its queues and delay lines, and whether these kept their times.

use std::collections::BTreeMap;
use std::fmt;

use model::counters::{Line, Queue};
use model::record::{EndRecord, Sample};

use crate::cpu;
use crate::view::RunView;

/// Kinds of queues that delay: the kernel's, and bitcost's own.
const EMULATORS: [&str; 2] = ["netem", "delay_line"];

/// A delay line whose 99th percentile of lateness is above this did not do what was asked, in microseconds.
pub const LATE_BOUND_US: f64 = 1000.0;

/// Drops of one queue between the first and the last sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueDrops {
    /// Its device, such as `s1-eth2`.
    pub device: String,
    /// Its kind, such as `netem` or `delay_line`.
    pub kind: String,
    /// Packets that it dropped.
    pub packets: u64,
}

impl QueueDrops {
    /// Whether it delays.
    pub fn is_emulator(&self) -> bool {
        EMULATORS.contains(&self.kind.as_str())
    }
}

/// The first and the last sample of the end that tells of the path.
fn told<'a>(run: &RunView<'a>, tells: fn(&Sample) -> bool) -> Option<(&'a Sample, &'a Sample)> {
    let tells = |end: &&'a EndRecord| end.samples.last().is_some_and(tells);
    [run.sender, run.receiver].into_iter().find(tells).and_then(cpu::ends_of)
}

/// What each queue between the ends dropped, and each that delays at a device of the ends themselves; a class's queue and
/// the one above it both count what was dropped in the lower, so only roots are told. Empty where nothing is told.
pub fn queue_drops(run: &RunView) -> Vec<QueueDrops> {
    let between = told(run, |sample| sample.queues.iter().any(|queue| queue.node.is_some()));
    let mut found = drops_of(between, |queue| queue.node.is_some());
    for end in [run.sender, run.receiver] {
        let delays = |queue: &Queue| queue.node.is_none() && EMULATORS.contains(&queue.kind.as_str());
        found.extend(drops_of(cpu::ends_of(end), delays));
    }
    found
}

/// What the roots that are meant dropped from the first to the last sample.
fn drops_of(samples: Option<(&Sample, &Sample)>, is_meant: impl Fn(&Queue) -> bool) -> Vec<QueueDrops> {
    let Some((first, last)) = samples else { return Vec::new() };
    let drops = |after: &Queue| {
        let same =
            |queue: &&Queue| (&queue.device, &queue.kind, &queue.handle) == (&after.device, &after.kind, &after.handle);
        let before = first.queues.iter().find(same).map_or(0, |before| before.drops);
        let packets = after.drops.wrapping_sub(before).into();
        QueueDrops { device: after.device.clone(), kind: after.kind.clone(), packets }
    };
    last.queues.iter().filter(|queue| queue.parent.is_none() && is_meant(queue)).map(drops).collect()
}

/// Packets dropped at the queues between the ends that are meant; absent where there is none of them.
pub(crate) fn drops(run: &RunView, is_meant: fn(&QueueDrops) -> bool) -> Option<f64> {
    let found: Vec<u64> = queue_drops(run).iter().filter(|queue| is_meant(queue)).map(|queue| queue.packets).collect();
    (!found.is_empty()).then(|| found.iter().sum::<u64>() as f64)
}

/// The first and the last sample of the end that tells of delay lines.
fn told_lines<'a>(run: &RunView<'a>) -> Option<(&'a Sample, &'a Sample)> {
    told(run, |sample| !sample.lines.is_empty())
}

/// Each direction of a delay line, at the first and at the last sample.
fn lines<'a>(run: &RunView<'a>) -> Vec<(&'a Line, &'a Line)> {
    let Some((first, last)) = told_lines(run) else { return Vec::new() };
    let pair = |after: &'a Line| Some((first.lines.iter().find(|before| before.device == after.device)?, after));
    last.lines.iter().filter_map(pair).collect()
}

/// CPU seconds per second of all delay lines; both directions of one tell the same time.
pub(crate) fn line_cpus(run: &RunView) -> Option<f64> {
    let (first, last) = told_lines(run)?;
    let ns: u64 = lines(run).iter().map(|(before, after)| after.cpu_ns.saturating_sub(before.cpu_ns)).sum();
    Some(ns as f64 / 2.0 / (last.at_ns - first.at_ns) as f64)
}

/// The time in µs after its own that this share of the packets did not exceed, at the line that was latest.
pub(crate) fn late_us(run: &RunView, share: f64) -> Option<f64> {
    let of = |(before, after): &(&Line, &Line)| late_of(before, after, share);
    lines(run).iter().filter_map(of).max_by(f64::total_cmp)
}

fn late_of(before: &Line, after: &Line, share: f64) -> Option<f64> {
    let then: BTreeMap<u64, u64> = before.late.iter().copied().collect();
    let grown = |(bound, count): &(u64, u64)| (*bound, count.saturating_sub(then.get(bound).copied().unwrap_or(0)));
    let counts: Vec<(u64, u64)> = after.late.iter().map(grown).collect();
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let wanted = (share * total as f64).ceil();
    let mut seen = 0;
    let reached = counts.iter().filter(|(_, count)| *count > 0).find(|(_, count)| {
        seen += count;
        seen as f64 >= wanted
    });
    reached.map(|(bound, _)| *bound as f64 / 1000.0)
}

/// Packets that delay lines dropped though nobody asked for it: they were too slow, or the kernel took none.
pub(crate) fn line_failures(run: &RunView) -> Option<f64> {
    let lines = lines(run);
    let failed = |line: &Line| line.missed_packets + line.refused.packets;
    let sum: u64 = lines.iter().map(|(before, after)| failed(after).saturating_sub(failed(before))).sum();
    (!lines.is_empty()).then_some(sum as f64)
}

/// How the delay lines of a run did not do what was asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LineTrouble {
    /// Packets went on after their time: that of 99 % of them and the most, in µs.
    Late(f64, f64),
    /// So many packets could not be carried.
    Failed(f64),
}

impl LineTrouble {
    /// What happened, without figures.
    pub fn kind(&self) -> String {
        match self {
            LineTrouble::Late(..) => format!(
                "a delay line was late, over 1 % of its packets by more than {LATE_BOUND_US:.0} µs; the machine is too slow for this path"
            ),
            LineTrouble::Failed(_) => {
                "a delay line dropped packets that it should have carried; the machine is too slow for this path"
                    .to_owned()
            }
        }
    }
}

impl fmt::Display for LineTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineTrouble::Late(p99, most) => write!(f, "{}: by {p99:.0} µs (99 %), {most:.0} µs (most)", self.kind()),
            LineTrouble::Failed(packets) => write!(f, "{}: {packets:.0} of them", self.kind()),
        }
    }
}

/// How the delay lines of a run did not do what was asked; absent where they did.
pub fn line_trouble(run: &RunView) -> Option<LineTrouble> {
    if let Some(late) = late_us(run, 0.99).filter(|late| *late > LATE_BOUND_US) {
        return Some(LineTrouble::Late(late, late_us(run, 1.0).unwrap_or(late)));
    }
    line_failures(run).filter(|failed| *failed > 0.0).map(LineTrouble::Failed)
}

/// Segments of the congestion window that half of the samples of the window's second half exceed, at the sender.
pub(crate) fn window_plateau(run: &RunView) -> Option<f64> {
    let windows: Vec<u32> = run.sender.samples.iter().filter_map(|s| s.tcp_info.as_ref()?.snd_cwnd_segments).collect();
    let mut later = windows.get(windows.len() / 2..)?.to_vec();
    later.sort_unstable();
    later.get(later.len() / 2).map(|segments| f64::from(*segments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_those_of_the_roots_that_are_meant() {
        let queue = |kind: &str, parent: Option<&str>, drops| Queue {
            device: "h1-eth0".into(),
            kind: kind.into(),
            parent: parent.map(Into::into),
            drops,
            ..Queue::default()
        };
        let sample = |at_ns, drops| Sample {
            at_ns,
            queues: vec![queue("netem", None, drops), queue("pfifo", Some("1:1"), drops), queue("fq", None, drops)],
            ..Sample::default()
        };
        let (first, last) = (sample(1, 7), sample(2, 157));
        let found = drops_of(Some((&first, &last)), |queue| queue.kind != "fq");
        assert_eq!(found, [QueueDrops { device: "h1-eth0".into(), kind: "netem".into(), packets: 150 }]);
        assert!(drops_of(None, |_| true).is_empty());
    }

    #[test]
    fn lateness_is_that_of_the_window() {
        let line = |late: &[(u64, u64)]| Line { late: late.to_vec(), ..Line::default() };
        let (before, after) = (line(&[(1000, 50), (9000, 7)]), line(&[(1000, 149), (9000, 7), (50_000, 1)]));
        assert_eq!(late_of(&before, &after, 0.99), Some(1.0));
        assert_eq!(late_of(&before, &after, 1.0), Some(50.0));
        assert_eq!(late_of(&before, &before, 1.0), None);
    }
}
