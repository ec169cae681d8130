//! The queues on the path: what they dropped, what they held back, and how often packets waited in
//! them.

use bitcost_model::counters::{LinkEmulator, Queue};
use bitcost_model::record::Sample;

use crate::explain::bounds::{OVERLIMITS, STANDING};
use crate::explain::series::Series;

const SUPER_PACKET_BYTES: f64 = 65_536.0;

/// One queue that packets pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hop {
    /// `sender eth0`, or the device of the lab, preceded by its node's name unless it begins with
    /// that.
    pub name: String,
    /// Kind of its root queueing discipline.
    pub kind: String,
    /// Packets dropped; for a link emulator, segments, and only those for which it had no room.
    pub drops: f64,
    /// Segments that a link emulator's ring dropped before the emulator read them, at the mean number of
    /// segments of the packets that it read.
    pub missed: f64,
    /// Times per second that it held packets back to keep its rate.
    pub overlimits: f64,
    /// Share of the samples in which packets waited in it.
    pub standing: f64,
    /// Packets that left it; for a link emulator, segments.
    pub packets: f64,
    /// Bytes that left it, with Ethernet headers, in bit/s.
    pub passed_bps: f64,
    /// The rate that it is set to, in bit/s.
    pub rate_bps: Option<f64>,
    /// Whether it counts when it holds packets back; a link emulator does not.
    pub counts_holds: bool,
}

impl Hop {
    /// True for a queue that holds packets back to a rate, and always has some to hold.
    pub fn is_shaping(&self) -> bool {
        self.overlimits > self.holds_least() && self.standing > STANDING
    }

    /// The least number of holds per second that shows a kept rate: `OVERLIMITS`, and at a low
    /// rate one in two super-packets, since each is held once or more.
    pub fn holds_least(&self) -> f64 {
        OVERLIMITS.min(self.passed_bps / 8.0 / (2.0 * SUPER_PACKET_BYTES))
    }
}

/// The root queueing disciplines that a series has from its start to its end; `own_rate_bps` is the
/// rate that the run set at the sender's interface.
pub fn hops(series: &Series, own_rate_bps: Option<f64>) -> Vec<Hop> {
    let Some((first, _)) = series.edges() else {
        return Vec::new();
    };
    let roots = first.queues.iter().filter(|queue| queue.parent.is_none());
    roots
        .filter_map(|queue| {
            let set = own_rate_bps.filter(|_| queue.node.is_none());
            let hop = hop(series, queue)?;
            let set = queue.rate_bps.map(|rate| rate as f64).or(set);
            Some(Hop {
                rate_bps: hop.rate_bps.or(set),
                ..hop
            })
        })
        .collect()
}

fn hop(series: &Series, queue: &Queue) -> Option<Hop> {
    let same = |sample: &'_ Sample| {
        sample
            .queues
            .iter()
            .find(|other| {
                other.parent.is_none()
                    && (&other.node, &other.device, &other.kind)
                        == (&queue.node, &queue.device, &queue.kind)
            })
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
    let samples: Vec<bool> = series
        .samples()
        .filter_map(|sample| Some(same(sample)?.backlog_packets > 0))
        .collect();
    // A queueing discipline may stand before the emulator of the same device.
    let is_line = queue.kind == LinkEmulator::KIND;
    let line = is_line.then(|| line(series, &queue.device)).flatten();
    let (dropped, left) = match &line {
        Some(line) => (line.overflowed, line.departed),
        None => (
            grown(|queue| u64::from(queue.drops), true)?,
            grown(|queue| queue.packets, false)?,
        ),
    };
    Some(Hop {
        name: name(queue),
        kind: queue.kind.replace('_', " "),
        drops: dropped,
        missed: line.as_ref().map_or(0.0, |line| line.missed),
        overlimits: grown(|queue| u64::from(queue.overlimits), true)? / series.seconds(),
        standing: samples.iter().filter(|stands| **stands).count() as f64
            / samples.len().max(1) as f64,
        packets: left,
        passed_bps: 8.0 * grown(|queue| queue.bytes, false)? / series.seconds(),
        rate_bps: line.and_then(|line| line.rate_bps),
        counts_holds: !is_line,
    })
}

fn name(queue: &Queue) -> String {
    match queue.node.as_deref() {
        Some(node) if queue.device.starts_with(&format!("{node}-")) => queue.device.clone(),
        node => format!("{} {}", node.unwrap_or("sender"), queue.device),
    }
}

/// Segments of a link emulator.
struct Line {
    /// Those for which its queue had no room.
    overflowed: f64,
    /// Those that left it.
    departed: f64,
    /// Those that its ring dropped, which it never read.
    missed: f64,
    /// The rate that it is set to, in bit/s.
    rate_bps: Option<f64>,
}

/// The segments of the emulator at a device; absent where the device has none.
fn line(series: &Series, device: &str) -> Option<Line> {
    fn of<'a>(sample: &'a Sample, device: &str) -> Option<&'a LinkEmulator> {
        let mut lines = sample.emulators.iter();
        lines.find(|line| line.device == device)
    }
    let grown = |count: fn(&LinkEmulator) -> u64| {
        series.growth(|before, after| {
            let (before, after) = (of(before, device)?, of(after, device)?);
            Some(count(after).checked_sub(count(before))? as f64)
        })
    };
    let (first, _) = series.edges()?;
    let arrived = grown(|line| line.arrived.segments)?;
    let each = (arrived / grown(|line| line.arrived.packets)?.max(1.0)).max(1.0);
    Some(Line {
        overflowed: grown(|line| line.overflowed.segments)?,
        departed: grown(|line| line.departed.segments)?,
        missed: each * grown(|line| line.missed_packets)?,
        rate_bps: of(first, device)?.rate_bps.map(|rate| rate as f64),
    })
}
