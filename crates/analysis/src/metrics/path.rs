//! The path between the endpoints of a lab: drops at its queues and link emulators, and whether
//! these were late.

use std::collections::BTreeMap;
use std::fmt;

use bitcost_model::counters::{LinkEmulator, Queue};
use bitcost_model::record::{EndpointRecord, Latency, Sample};
use bitcost_stats::median;

use crate::metrics::edges::{Edges, own_interface};
use crate::metrics::timing::quantile_us;
use crate::metrics::view::RunView;

/// Whether a queue emulates a link: the kernel's, or bitcost's.
pub(crate) fn is_emulator(queue: &Queue) -> bool {
    queue.kind == "netem" || queue.kind == LinkEmulator::KIND
}

/// The 99th percentile of lateness, in microseconds, above which a link emulator did not work as
/// requested.
const LATE_BOUND_US: f64 = 1000.0;

/// The edges of the endpoint that reports on the path.
fn told<'a>(run: &RunView<'a>, tells: fn(&Sample) -> bool) -> Option<Edges<'a>> {
    let tells = |end: &&'a EndpointRecord| end.samples.last().is_some_and(tells);
    let end = [run.sender, run.receiver].into_iter().find(tells)?;
    Edges::of(&end.samples)
}

/// Packets dropped at the chosen queues between the endpoints, and at link emulators of devices of the endpoints
/// themselves; absent where there are none.
pub(crate) fn drops(run: &RunView, is_meant: fn(&Queue) -> bool) -> Option<f64> {
    let is_between = |queue: &Queue| queue.node.is_some();
    let delays = |queue: &Queue| queue.node.is_none() && is_emulator(queue);
    let between = told(run, |sample| {
        sample.queues.iter().any(|queue| queue.node.is_some())
    });
    let between = between.iter().flat_map(|edges| drops_of(edges, is_between));
    let is_at_loopback = |end: &EndpointRecord| {
        let own = end.samples.last().and_then(own_interface);
        own.is_some_and(|own| own.device == "lo")
    };
    // Both ends of one host read the same loopback.
    let is_one = run.shared_cpus && run.ends().into_iter().all(is_at_loopback);
    let ends = run.ends().into_iter().take(if is_one { 1 } else { 2 });
    let ends = ends.filter_map(|end| Edges::of(&end.samples));
    let all = between.chain(ends.flat_map(|edges| drops_of(&edges, delays)));
    let meant = all
        .filter(|(queue, _)| is_meant(queue))
        .map(|(_, packets)| packets);
    Some(meant.reduce(u64::saturating_add)? as f64)
}

/// The chosen roots with their drops. A class's queue and the one above it both count the lower one's drops, so only roots
/// count.
fn drops_of<'a>(edges: &Edges<'a>, is_meant: impl Fn(&Queue) -> bool) -> Vec<(&'a Queue, u64)> {
    let roots = edges.last.queues.iter();
    let roots = roots.filter(|queue| queue.parent.is_none() && is_meant(queue));
    let drops = |queue| (queue, drops_since(edges.first, queue));
    roots.map(drops).collect()
}

/// Drops of a queue since a reading; one that was not there then began at 0.
pub(crate) fn drops_since(before: &Sample, after: &Queue) -> u64 {
    let same = |queue: &&Queue| {
        (&queue.node, &queue.device, &queue.kind, &queue.handle)
            == (&after.node, &after.device, &after.kind, &after.handle)
    };
    let before = before.queues.iter().find(same);
    let before = before.map_or(0, |queue| queue.drops);
    after.drops.wrapping_sub(before).into()
}

fn with_emulators<'a>(run: &RunView<'a>) -> Option<Edges<'a>> {
    told(run, |sample| !sample.emulators.is_empty())
}

/// Each direction of a link emulator, at two samples.
pub(crate) fn emulators<'a>(
    first: &'a Sample,
    last: &'a Sample,
) -> impl Iterator<Item = (&'a LinkEmulator, &'a LinkEmulator)> {
    last.emulators.iter().filter_map(|after| {
        let mut before = first.emulators.iter();
        Some((before.find(|before| before.device == after.device)?, after))
    })
}

/// CPU seconds per second of all link emulators; both directions of one report the same time.
pub(crate) fn emulator_cpus(run: &RunView) -> Option<f64> {
    let edges = with_emulators(run)?;
    let times = emulators(edges.first, edges.last);
    let ns = times.map(|(before, after)| after.cpu_ns.saturating_sub(before.cpu_ns));
    Some(ns.sum::<u64>() as f64 / 2e9 / edges.seconds)
}

/// The lateness in µs that this many thousandths of the packets did not exceed, at the link emulator that was
/// latest.
pub(crate) fn late_us<const THOUSANDTHS: u64>(run: &RunView) -> Option<f64> {
    let edges = with_emulators(run)?;
    emulators(edges.first, edges.last)
        .filter_map(|(before, after)| quantile_us::<THOUSANDTHS>(&lateness(before, after)))
        .max_by(f64::total_cmp)
}

fn lateness(before: &LinkEmulator, after: &LinkEmulator) -> Latency {
    let then: BTreeMap<u64, u64> = before.late.iter().copied().collect();
    let mut buckets = after.late.clone();
    for (bound, count) in &mut buckets {
        *count = count.saturating_sub(then.get(bound).copied().unwrap_or(0));
    }
    buckets.retain(|(_, count)| *count > 0);
    Latency {
        sum_ns: 0,
        max_ns: u64::MAX,
        buckets,
    }
}

/// Packets that link emulators dropped without being asked to: they were too slow, or the kernel
/// refused the packets.
pub(crate) fn emulator_failures(run: &RunView) -> Option<f64> {
    let edges = with_emulators(run)?;
    let failed = |emulator: &LinkEmulator| emulator.missed_packets + emulator.refused.packets;
    let growths = emulators(edges.first, edges.last)
        .map(|(before, after)| failed(after).saturating_sub(failed(before)));
    growths.reduce(u64::saturating_add).map(|sum| sum as f64)
}

/// What went wrong in the link emulators of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EmulatorTrouble {
    /// Packets were forwarded late: the lateness that 99 % of them did not exceed, and the most, in
    /// µs.
    Late(f64, f64),
    /// The number of packets that could not be carried.
    Failed(f64),
}

impl EmulatorTrouble {
    /// What happened, without figures.
    pub fn kind(&self) -> String {
        match self {
            EmulatorTrouble::Late(..) => format!(
                "a link emulator was late, over 1 % of its packets by more than {LATE_BOUND_US:.0} µs; the machine is too slow for this path"
            ),
            EmulatorTrouble::Failed(_) => {
                "a link emulator dropped packets that it should have carried; the machine is too slow for this path"
                    .to_owned()
            }
        }
    }
}

impl fmt::Display for EmulatorTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EmulatorTrouble::Late(p99, most) => write!(
                f,
                "{}: by {p99:.0} µs (99 %), {most:.0} µs (maximum)",
                self.kind()
            ),
            EmulatorTrouble::Failed(packets) => write!(f, "{}: {packets:.0} of them", self.kind()),
        }
    }
}

/// What went wrong in the link emulators of a run; absent where they worked as requested.
pub fn emulator_trouble(run: &RunView) -> Option<EmulatorTrouble> {
    if let Some(late) = late_us::<990>(run).filter(|late| *late > LATE_BOUND_US) {
        let most = late_us::<1000>(run).unwrap_or(late);
        return Some(EmulatorTrouble::Late(late, most));
    }
    let failed = emulator_failures(run).filter(|failed| *failed > 0.0);
    failed.map(EmulatorTrouble::Failed)
}

/// The plateau of the sender's congestion window, in segments: the median in the second half of the samples.
pub(crate) fn window_plateau(run: &RunView) -> Option<f64> {
    let samples = run.sender.samples.iter();
    let windows = samples.filter_map(|s| s.tcp_info.as_ref()?.snd_cwnd_segments);
    let windows: Vec<f64> = windows.map(f64::from).collect();
    median(&windows[windows.len() / 2..])
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
            queues: vec![
                queue("netem", None, drops),
                queue("pfifo", Some("1:1"), drops),
                queue("fq", None, drops),
            ],
            ..Sample::default()
        };
        let samples = [sample(1, 7), sample(2, 157)];
        let edges = Edges::of(&samples).expect("edges");
        let found = drops_of(&edges, |queue| queue.kind != "fq");
        let [(queue, packets)] = found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(
            (&*queue.device, &*queue.kind, packets),
            ("h1-eth0", "netem", 150)
        );
        assert!(Edges::of(&samples[..1]).is_none());
    }

    #[test]
    fn lateness_is_that_of_the_window() {
        let line = |late: &[(u64, u64)]| LinkEmulator {
            late: late.to_vec(),
            ..LinkEmulator::default()
        };
        let (before, after) = (
            line(&[(1000, 50), (9000, 7)]),
            line(&[(1000, 149), (9000, 7), (50_000, 1)]),
        );
        let late = lateness(&before, &after);
        assert_eq!(quantile_us::<990>(&late), Some(1.0));
        assert_eq!(quantile_us::<1000>(&late), Some(50.0));
        assert_eq!(quantile_us::<1000>(&lateness(&before, &before)), None);
    }
}
