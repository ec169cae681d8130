//! The queues on the way: what they dropped, held back, and whether something stood in them.

use model::counters::Queue;
use model::record::Sample;

use crate::bounds::STANDING;
use crate::series::Series;

/// One queue that packets pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Hop {
    /// `sender eth0`, or `node device` of the lab.
    pub name: String,
    /// Kind of its root queueing discipline.
    pub kind: String,
    /// Packets dropped.
    pub drops: f64,
    /// Times per second that its rate held packets back.
    pub overlimits: f64,
    /// Share of the samples in which something stood in it.
    pub standing: f64,
    /// Packets that left it.
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
    let place = queue.node.as_deref().unwrap_or("sender");
    Some(Hop {
        name: format!("{place} {}", queue.device),
        kind: queue.kind.clone(),
        drops: grown(|queue| u64::from(queue.drops), true)?,
        overlimits: grown(|queue| u64::from(queue.overlimits), true)? / series.seconds(),
        standing: samples.iter().filter(|stands| **stands).count() as f64 / samples.len().max(1) as f64,
        packets: grown(|queue| queue.packets, false)?,
    })
}
