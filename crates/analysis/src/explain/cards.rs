//! What the card of an end, its link and the CPU that its interrupts fill, say of a run.

use bitcost_model::counters::{Card, Interface};
use bitcost_model::record::{EndpointRecord, Role, ThreadKind};

use crate::explain::series::{Series, mean};
use crate::metrics::cpu::CpuSpan;
use crate::metrics::{RunView, cpu, far_share, own_interface};

/// The fullest of the CPUs, or of the kernel's threads, that handle what a card received.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReceiveCpu {
    /// `CPU 3 (eth0-TxRx-3)`, or `a NAPI thread`.
    pub name: String,
    /// Share of its time that this takes.
    pub busy: f64,
    /// Share of the time in which the host's other CPUs are idle, mean over them.
    pub others_idle: f64,
    /// Whether it is on another NUMA node than the card.
    pub is_far: bool,
}

/// Signals of the card of one end; absent of virtual interfaces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CardSignals {
    /// Absent where both ends are on one machine.
    pub receive_cpu: Option<ReceiveCpu>,
    /// The share of the CPUs to which the end is confined that are on another NUMA node than the card, and the card's node.
    pub far: Option<(f64, u32)>,
    /// Received packets that it dropped because a ring or its own memory was full, or of datagrams, where its driver does
    /// not tell, those that were dropped before the protocols saw them; and the packets that came.
    pub dropped: Option<[f64; 2]>,
    /// Rate of its link, and what passed it in the direction of the data, or in both of half duplex, in Mbit/s.
    pub link_mbps: Option<[f64; 2]>,
    pub is_half_duplex: bool,
    /// Offloads of this end that its driver cannot turn on, where messages of a stream have several segments.
    pub lacks: Vec<String>,
    /// Pause frames a second: those that came to a sender, or left a receiver.
    pub pauses: Option<f64>,
}

impl CardSignals {
    /// From all of its samples: of a card only the first and the last tell, which are not among what both ends have.
    pub(super) fn of(run: &RunView, end: &EndpointRecord) -> Option<CardSignals> {
        let series = Series::of(end, end.samples.len());
        let card = series.edges()?.last.card.as_deref()?;
        let grown =
            |count: fn(&Interface) -> u64| series.growth(|sample| own_interface(sample).map(count));
        let counted = |count: fn(&Card) -> Option<u64>| {
            series.growth(|sample| count(sample.card.as_deref()?))
        };
        // The kernel also counts packets of unknown protocols.
        let is_udp = run.conditions.workload.is_datagram();
        let of_any = grown(|own| own.rx_dropped).filter(|_| is_udp);
        let drops = counted(|card| card.ring_drops).or(of_any);
        let dropped = drops.zip(grown(|own| own.rx_packets));
        let pauses = match end.role {
            Role::Sender => counted(|card| card.pauses_received),
            Role::Receiver => counted(|card| card.pauses_sent),
        };
        let bytes = grown(|own| own.rx_bytes).zip(grown(|own| own.tx_bytes));
        let passed = bytes.map(|(rx, tx)| match end.role {
            _ if card.is_half_duplex => rx + tx,
            // Answers go the other way.
            _ if run.conditions.workload.has_requests() => rx.max(tx),
            Role::Sender => tx,
            Role::Receiver => rx,
        });
        let passed = passed.map(|bytes| 8e-6 * bytes / series.seconds());
        let link = card.speed_mbps.map(f64::from).zip(passed);
        Some(CardSignals {
            dropped: dropped.map(Into::into),
            link_mbps: link.map(Into::into),
            is_half_duplex: card.is_half_duplex,
            lacks: lacks(run, end, card),
            pauses: pauses.map(|count| count / series.seconds()),
            receive_cpu: receive_cpu(end, &series, card).filter(|_| !run.shared_cpus),
            far: far_share(end),
        })
    }
}

/// Bytes of a message that leaves as several segments, and so as one super-packet where there is segmentation offload.
const SEVERAL_SEGMENTS: u32 = 16_384;

fn lacks(run: &RunView, end: &EndpointRecord, card: &Card) -> Vec<String> {
    let is_bulk = run.conditions.workload.is_byte_stream()
        && run.conditions.message_size_bytes >= SEVERAL_SEGMENTS;
    let is_own = |name: &&String| is_bulk && (*name == "rx") == (end.role == Role::Receiver);
    card.lacks.iter().filter(is_own).cloned().collect()
}

/// The CPU with most time in soft interrupts, or the busiest of the interface's kernel threads where that is busier.
fn receive_cpu(end: &EndpointRecord, series: &Series, card: &Card) -> Option<ReceiveCpu> {
    let edges = series.edges()?;
    let spans = cpu::spans_of(end.ticks_per_second, edges);
    // Of the time in which it is not idle, since a hypervisor may take a CPU without a word, and its ticks with it.
    let share = |span: &CpuSpan| {
        let of_busy = span.softirq_ticks as f64 / span.busy_ticks.max(1) as f64;
        of_busy * span.busy_seconds / edges.seconds
    };
    let fullest = spans.iter().max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let others = spans.iter().filter(|span| span.cpu != fullest.cpu);
    let idle = others.map(|span| 1.0 - span.busy_seconds / edges.seconds);
    let others_idle = mean(&idle.collect::<Vec<_>>())?;
    let [before, after] = [edges.first, edges.last].map(|sample| {
        let threads = sample.threads.iter();
        threads.filter(|one| one.kind == ThreadKind::Napi)
    });
    // Of a thread that ended, the next one has less time.
    let ran = before.zip(after);
    let ran = ran.map(|(before, after)| after.run_ns.saturating_sub(before.run_ns));
    let thread = ran.max().unwrap_or(0) as f64 / 1e9 / edges.seconds;
    let is_thread = thread > share(fullest);
    let number = fullest.cpu.to_string();
    let mut own = card.interrupts.iter().filter(|(_, cpus)| **cpus == number);
    let interrupt = own.next().map(|(name, _)| format!(" ({name})"));
    Some(ReceiveCpu {
        name: match is_thread {
            true => "a NAPI thread".to_owned(),
            false => format!("CPU {number}{}", interrupt.unwrap_or_default()),
        },
        busy: thread.max(share(fullest)),
        others_idle,
        is_far: !is_thread && card.is_far(fullest.cpu),
    })
}
