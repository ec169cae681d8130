//! The queues on the way: what they dropped, held back, and whether something stood in them.

use model::counters::{Line, Queue};
use model::record::Sample;

use crate::bounds::STANDING;
use crate::series::Series;

/// One queue that packets pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Hop {
    /// `sender eth0`, or the device of the lab, behind its node's name where it does not begin with that.
    pub name: String,
    /// Kind of its root queueing discipline.
    pub kind: String,
    /// Packets dropped; of a delay line segments, and only what it had no room for.
    pub drops: f64,
    /// Times per second that its rate held packets back.
    pub overlimits: f64,
    /// Share of the samples in which something stood in it.
    pub standing: f64,
    /// Packets that left it; of a delay line segments.
    pub packets: f64,
}

impl Hop {
    /// True of a queue that holds packets back to a rate, and always has some to hold.
    pub fn is_shaping(&self) -> bool {
        self.overlimits > crate::bounds::OVERLIMITS && self.standing > STANDING
    }
}

/// The roots of all queueing disciplines that a series has from its begin to its end.
pub fn hops(series: &Series) -> Vec<Hop> {
    let Some((first, _)) = series.edges() else { return Vec::new() };
    let roots = first.queues.iter().filter(|queue| queue.parent.is_none());
    roots.filter_map(|queue| hop(series, queue)).collect()
}

fn hop(series: &Series, queue: &Queue) -> Option<Hop> {
    let same = |sample: &'_ Sample| {
        sample
            .queues
            .iter()
            .find(|other| other.parent.is_none() && (&other.node, &other.device) == (&queue.node, &queue.device))
            .cloned()
    };
    let grown = |count: fn(&Queue) -> u64, wraps: bool| {
        series.growth(|before, after| {
            let (before, after) = (count(&same(before)?), count(&same(after)?));
            let grown = if wraps {
                u64::from((after as u32).wrapping_sub(before as u32))
            } else {
                after.checked_sub(before)?
            };
            Some(grown as f64)
        })
    };
    let samples: Vec<bool> = series.samples().filter_map(|sample| Some(same(sample)?.backlog_packets > 0)).collect();
    let (dropped, left) = match line(series, &queue.device) {
        Some(of_line) => of_line,
        None => (grown(|queue| u64::from(queue.drops), true)?, grown(|queue| queue.packets, false)?),
    };
    Some(Hop {
        name: name(queue),
        kind: queue.kind.replace('_', " "),
        drops: dropped,
        overlimits: grown(|queue| u64::from(queue.overlimits), true)? / series.seconds(),
        standing: samples.iter().filter(|stands| **stands).count() as f64 / samples.len().max(1) as f64,
        packets: left,
    })
}

fn name(queue: &Queue) -> String {
    match queue.node.as_deref() {
        Some(node) if queue.device.starts_with(&format!("{node}-")) => queue.device.clone(),
        node => format!("{} {}", node.unwrap_or("sender"), queue.device),
    }
}

/// Segments that a delay line had no room for, and those that left it; absent where the device has none.
fn line(series: &Series, device: &str) -> Option<(f64, f64)> {
    let grown = |count: fn(&Line) -> u64| {
        let of = |sample: &Sample| sample.lines.iter().find(|line| line.device == device).map(count);
        series.growth(|before, after| Some(of(after)?.checked_sub(of(before)?)? as f64))
    };
    Some((grown(|line| line.overflowed.segments)?, grown(|line| line.departed.segments)?))
}
