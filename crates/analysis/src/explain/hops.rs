//! The queues on the path: what they dropped, what they held back, and how often packets waited in
//! them.

use bitcost_model::counters::{LinkEmulator, Queue};

use crate::explain::series::Series;

/// One queue that packets pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hop {
    /// `sender eth0`, or the device of the lab, preceded by its node's name unless it is that, or
    /// begins with it.
    pub name: String,
    /// Whether it is at the sender's own interface.
    pub is_own: bool,
    /// Kind of its root queueing discipline.
    pub kind: String,
    /// Packets dropped, less those that netem drops at random; for a link emulator, segments for which it, or its ring, had no
    /// room.
    pub drops: f64,
    /// Packets that waited in it at the end.
    pub waiting: f64,
    /// Packets that left it; for a link emulator, segments.
    pub packets: f64,
    /// Bytes that left it, with Ethernet headers, in bit/s.
    pub passed_bps: f64,
    /// The rate that it is set to, in bit/s.
    pub rate_bps: Option<f64>,
}

impl Hop {
    /// Whether it is surely of a lab, and not of a host whose path nothing reads.
    pub fn is_of_lab(&self) -> bool {
        !self.is_own || self.kind == kind_words(LinkEmulator::KIND)
    }
}

fn kind_words(kind: &str) -> String {
    kind.replace('_', " ")
}

/// The root queueing disciplines that a series has from its start to its end; `own_rate_bps` is the
/// rate that the run set at the sender's interface.
pub(super) fn hops(series: &Series, own_rate_bps: Option<f64>) -> Vec<Hop> {
    let queues = series.edges().into_iter();
    let queues = queues.flat_map(|edges| &edges.first.queues);
    queues
        .filter(|queue| queue.parent.is_none())
        .filter_map(|queue| hop(series, queue, own_rate_bps))
        .collect()
}

fn hop(series: &Series, queue: &Queue, own_rate_bps: Option<f64>) -> Option<Hop> {
    fn key(queue: &Queue) -> (&Option<String>, &String, &String) {
        (&queue.node, &queue.device, &queue.kind)
    }
    let is_same = |other: &&Queue| other.parent.is_none() && key(other) == key(queue);
    let grown = |count: fn(&Queue) -> u64| {
        series.growth(|sample| sample.queues.iter().find(is_same).map(count))
    };
    // A queueing discipline may stand before the emulator of the same device.
    let is_line = queue.kind == LinkEmulator::KIND;
    let line = is_line.then(|| line(series, &queue.device)).flatten();
    let (drops, packets) = match &line {
        Some(line) => (line.drops, line.packets),
        None => {
            let drops = grown(|queue| u64::from(queue.drops))?;
            let packets = grown(|queue| queue.packets)?;
            // Of super-packets, each of which is dropped whole, fewer: then these are all.
            let random = queue.loss_ppm.unwrap_or(0) as f64 / 1e6 * (packets + drops);
            ((drops - random).max(0.0), packets)
        }
    };
    let line = line.unwrap_or_default();
    let mut last = series.edges()?.last.queues.iter();
    let is_own = queue.node.is_none();
    let own_rate_bps = own_rate_bps.filter(|_| is_own);
    Some(Hop {
        name: name(queue),
        is_own,
        kind: kind_words(&queue.kind),
        drops,
        waiting: last.find(is_same)?.backlog_packets.into(),
        packets,
        passed_bps: 8.0 * grown(|queue| queue.bytes)? / series.seconds(),
        rate_bps: line
            .rate_bps
            .or(queue.rate_bps.map(|rate| rate as f64))
            .or(own_rate_bps),
    })
}

fn name(queue: &Queue) -> String {
    match queue.node.as_deref() {
        Some(node) if queue.device == node => queue.device.clone(),
        Some(node) if queue.device.starts_with(&format!("{node}-")) => queue.device.clone(),
        node => format!("{} {}", node.unwrap_or("sender"), queue.device),
    }
}

/// What the emulator at a device itself counts, in segments; absent where the device has none.
fn line(series: &Series, device: &str) -> Option<Hop> {
    let is_it = |line: &&LinkEmulator| line.device == device;
    let grown = |count: fn(&LinkEmulator) -> u64| {
        series.growth(|sample| sample.emulators.iter().find(is_it).map(count))
    };
    let arrived = grown(|line| line.arrived.segments)?;
    let each = (arrived / grown(|line| line.arrived.packets)?.max(1.0)).max(1.0);
    let rate_bps = series.edges()?.first.emulators.iter().find(is_it)?.rate_bps;
    Some(Hop {
        drops: grown(|line| line.overflowed.segments)? + each * grown(|line| line.missed_packets)?,
        packets: grown(|line| line.departed.segments)?,
        rate_bps: rate_bps.map(|rate| rate as f64),
        ..Hop::default()
    })
}
