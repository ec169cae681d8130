//! The facts of a run that the rules use. What its counters do not give is absent.

use crate::metrics::cpu::CpuSpan;
use crate::metrics::{RunView, actual, attribution, cpu, figure_of, in_fragments, own_interface};
use bitcost_model::record::{EndpointRecord, Role, Sample, States, ThreadTime};

use crate::explain::behind::Behind;
use crate::explain::cards::CardSignals;
use crate::explain::cost::PacketCost;
use crate::explain::foreign::Foreign;
use crate::explain::hops::{Hop, hops};
use crate::explain::others::Others;
use crate::explain::packets::Packets;
use crate::explain::series::{Series, mean};
use crate::explain::tcp::Tcp;
use crate::explain::transactions::Transactions;

/// From this share of the time, a thread that waits for a CPU shares it.
pub(super) const CONTENDED: f64 = 0.25;

/// Bytes of headers of a packet: of Ethernet, IP, and TCP with timestamps.
const HEADERS: f64 = 66.0;

/// How an endpoint spent its time, as shares of wall time of its traffic threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EndTimes {
    pub cpu: f64,
    /// Waiting for a CPU.
    pub wait: f64,
    /// Sleeping between calls, for example to keep a rate.
    pub slept: f64,
    /// Stopped by a signal, a freezer, a tracer, or with its machine.
    pub paused: f64,
    /// In uninterruptible sleep: it waits for a disk, or for memory.
    pub disk: f64,
    /// Blocked in its calls, which is the rest: a sender in send, a receiver in receive.
    pub blocked: f64,
}

impl EndTimes {
    fn of(series: &Series) -> Option<EndTimes> {
        let (cpu, wait) = series.traffic()?;
        let slept = series.per_second(|sample| Some(sample.counts.slept_ns))? / 1e9;
        // A sleep is counted when it ends, which may be in a later interval.
        let slept = (slept / series.traffic_threads().max(1) as f64).clamp(0.0, 1.0);
        let mut rest = (1.0 - cpu - wait - slept).max(0.0);
        let mut take = |share: f64| {
            let part = share.clamp(0.0, rest);
            rest -= part;
            part
        };
        let late = series.per_second(|sample| Some(sample.paused_ns))? / 1e9;
        let paused = take(late + found(series, |states| states.stopped));
        let disk = take(found(series, |states| states.uninterruptible));
        Some(EndTimes {
            cpu,
            wait,
            slept,
            paused,
            disk,
            blocked: rest,
        })
    }

    /// On a CPU or waiting for one.
    pub fn busy(&self) -> f64 {
        self.cpu + self.wait
    }
}

/// Lost datagrams of the whole run, and which counters saw them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loss {
    pub lost: f64,
    /// Datagrams lost, in per cent of those sent.
    pub pct: f64,
    /// Dropped because the receiver's socket had no room.
    pub socket: Option<f64>,
    /// Dropped because a CPU's backlog was full.
    pub softnet: Option<f64>,
    /// Dropped as they left the sender's interface: a virtual one counts there what its peer's ring had
    /// no room for.
    pub departure: Option<f64>,
    /// Datagrams that are sent back to back, as the run requests.
    pub burst: Option<u32>,
    /// The largest message that the path carries in one packet, where it cuts the run's into fragments.
    pub largest: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signals {
    pub intervals: usize,
    /// Their total length, in seconds.
    pub seconds: f64,
    /// Delivered user data, in bit/s.
    pub goodput_bps: Option<f64>,
    /// Rate of the last third ÷ that of the first.
    pub trend: Option<f64>,
    pub sender: Option<EndTimes>,
    pub receiver: Option<EndTimes>,
    /// Share of the time for which the connections of a stream had nothing to send, and nothing in flight.
    pub idle: Option<f64>,
    pub is_tcp: bool,
    /// Of the connections of a stream of TCP.
    pub tcp: Tcp,
    /// Lost datagrams of a stream of UDP.
    pub loss: Option<Loss>,
    /// What became of packets by their size.
    pub packets: Packets,
    /// Queues on the path, the sender's own first.
    pub hops: Vec<Hop>,
    /// What left each endpoint's interface beside the run, in bit/s.
    pub beside_bps: [Option<f64>; 2],
    /// Segments that each endpoint's host sent again ÷ segments that it sent.
    pub resent: [Option<f64>; 2],
    /// Rate handed over ÷ rate requested; absent where none was requested.
    pub rate_kept: Option<f64>,
    /// Rate that came to the receiver meanwhile ÷ rate requested, of a stream.
    pub arrived: Option<f64>,
    /// Share of the time that a quota held each endpoint back.
    pub throttled: [Option<f64>; 2],
    /// Share of the time in which CPUs that both endpoints share are at work, mean over them: those to which both are
    /// pinned, or else all; absent on two machines.
    pub shared_cpus: Option<f64>,
    /// Whether both endpoints are pinned to one CPU.
    pub pinned_together: bool,
    /// What has the CPU of each endpoint that waits for it.
    pub behind: [Option<Behind>; 2],
    /// What a packet costs the sender at this size.
    pub cost: Option<PacketCost>,
    /// Requests or connections, where the run has them.
    pub transactions: Option<Transactions>,
    /// What each end says that was read, where other programs hold the connections.
    pub foreign: [Option<Foreign>; 2],
    /// What the card of each endpoint says.
    pub cards: [Option<CardSignals>; 2],
    /// What other programs took from it.
    pub others: Others,
}

/// The number of intervals that both endpoints of a run have.
fn intervals(run: &RunView) -> usize {
    let ends = [Role::Sender, Role::Receiver].into_iter();
    let read = ends.filter(|role| run.is_read(*role));
    let samples = read.map(|role| run.end(role).samples.len()).min();
    samples.unwrap_or(0).saturating_sub(1)
}

impl Signals {
    /// The facts of a run, without what packets cost.
    pub fn of(run: &RunView) -> Signals {
        let both = [run.sender, run.receiver].map(|end| Series::of(end, intervals(run)));
        let [sender, receiver] = &both;
        let (timed, counted) = match [Role::Sender, Role::Receiver].map(|role| run.is_read(role)) {
            [true, true] => (sender, receiver),
            [true, false] => (sender, sender),
            [false, _] => (receiver, receiver),
        };
        let rates = counted.rates();
        let goodput_bps = mean(&rates).filter(|rate| *rate > 0.0);
        let is_tcp = !run.conditions.workload.is_datagram();
        let transactions = Transactions::of(run);
        let mut times = both.each_ref().map(EndTimes::of);
        let most = most_blocked(sender).filter(|_| transactions.is_none());
        if let Some((times, most)) = times[0].as_mut().zip(most) {
            times.blocked = times.blocked.min(most);
        }
        for role in [Role::Sender, Role::Receiver] {
            // Its time on a CPU does not say how much it works.
            times[role as usize] = times[role as usize].filter(|_| !run.conditions.spins(role));
        }
        let foreign =
            Role::ALL.map(|role| Foreign::of(run, role, &both[role as usize], goodput_bps));
        if let Some((of, times)) = foreign[1].zip(times[1].as_mut()) {
            // What it does besides receiving is not known.
            let most = 1.0 - of.unread.unwrap_or(0.0);
            times.slept += (times.blocked - most).max(0.0);
            times.blocked = times.blocked.min(most);
        }
        let behind = |role: Role| {
            let wait = times[role as usize]?.wait;
            (wait >= CONTENDED).then(|| Behind::of(run, role, wait))
        };
        let tcp = match transactions {
            _ if !is_tcp => Tcp::default(),
            None => Tcp::of(sender, run, goodput_bps),
            Some(_) => Tcp::of_requests(sender),
        };
        Signals {
            intervals: timed.count().min(counted.count()),
            seconds: timed.seconds(),
            goodput_bps,
            trend: trend(&rates),
            sender: times[0],
            receiver: times[1],
            idle: idle(sender).filter(|_| is_tcp && transactions.is_none()),
            is_tcp,
            tcp,
            loss: loss(run, &both).filter(|_| !is_tcp && transactions.is_none()),
            packets: Packets::of(run),
            hops: hops(sender, set_rate_bps(run.sender)),
            beside_bps: both.each_ref().map(|end| beside_bps(run, end)),
            resent: both.each_ref().map(resent),
            rate_kept: rate_kept(run),
            arrived: arrived(run, goodput_bps),
            throttled: both.each_ref().map(throttled),
            shared_cpus: run.shared_cpus.then(|| busy_cpus(run)).flatten(),
            pinned_together: run.shared_cpus && attribution::shares_cpus(run),
            behind: Role::ALL.map(behind),
            cost: None,
            transactions,
            foreign,
            cards: run.ends().map(|end| CardSignals::of(run, end)),
            others: Others::of(run, tcp.packets_per_segment),
        }
    }

    /// False of another program's connections that were idle.
    pub fn is_moving(&self) -> bool {
        !self.is_foreign() || !self.is_tcp || self.goodput_bps.is_some()
    }

    pub fn is_foreign(&self) -> bool {
        self.foreign != [None; 2]
    }

    /// The ends of other programs' connections that were read.
    pub(super) fn programs(&self) -> impl Iterator<Item = Foreign> + use<> {
        self.foreign.into_iter().flatten()
    }

    /// The end with this role, where it is another program's and was read.
    pub(super) fn program(&self, role: Role) -> Option<Foreign> {
        self.foreign[role as usize]
    }

    /// What the card of this end says; absent of a virtual interface.
    pub(super) fn card(&self, role: Role) -> Option<&CardSignals> {
        self.cards[role as usize].as_ref()
    }

    pub fn end(&self, role: Role) -> Option<EndTimes> {
        [self.sender, self.receiver][role as usize]
    }
}

/// What left the interface of an endpoint beside the run; absent where the run has several parts, or stays in one host.
fn beside_bps(run: &RunView, series: &Series) -> Option<f64> {
    let left = series.per_second(|sample| {
        let own = own_interface(sample).filter(|own| own.device != "lo");
        own.map(|own| own.tx_bytes)
    });
    let edges = series.edges()?;
    let (bytes, packets) = match run.conditions.workload.is_datagram() {
        true => (
            edges.counted(|counts| counts.bytes)?,
            edges.counted(|counts| counts.messages)?,
        ),
        false => (
            edges.tcp_64(|info| info.bytes_sent)?,
            edges.tcp(|info| info.segs_out)?,
        ),
    };
    let own = (bytes + HEADERS * packets) / edges.seconds;
    Some(8.0 * (left? - own).max(0.0)).filter(|_| run.is_alone())
}

fn resent(series: &Series) -> Option<f64> {
    let edges = series.edges()?;
    let sent = edges.grown(&["Tcp.OutSegs"])?;
    Some(edges.grown(&["Tcp.RetransSegs"])? / sent.max(1.0))
}

/// The rate that the run set at the sender's own queueing discipline, in bit/s.
fn set_rate_bps(sender: &EndpointRecord) -> Option<f64> {
    actual(sender, "qdisc.rate_bps")?.parse().ok()
}

/// The rate of messages, or of transactions, ÷ the one that was requested; absent where none was.
fn rate_kept(run: &RunView) -> Option<f64> {
    let figure = |name| figure_of(run, name);
    let of_messages = figure("rate_error_pct").map(|error| 1.0 + error / 100.0);
    of_messages.or_else(|| {
        let asked = f64::from(run.conditions.transaction_rate?) * f64::from(run.conditions.flows);
        Some(figure("transactions_per_second")? / asked)
    })
}

fn arrived(run: &RunView, goodput_bps: Option<f64>) -> Option<f64> {
    let sent_bps = 1e6 * figure_of(run, "send_throughput_mbps")?;
    figure_of(run, "rate_error_pct")?;
    Some(rate_kept(run)? * goodput_bps? / sent_bps)
}

/// Mean of the last third ÷ mean of the first.
fn trend(rates: &[f64]) -> Option<f64> {
    let third = rates.len() / 3;
    let first: f64 = rates[..third].iter().sum();
    let last: f64 = rates[rates.len() - third..].iter().sum();
    (first > 0.0).then(|| last / first)
}

/// The share of the looks at an end's traffic threads that found this; 0 where nothing looked.
fn found(series: &Series, count: fn(&States) -> u64) -> f64 {
    let all = |count: fn(&States) -> u64| {
        let of_thread = |thread: &ThreadTime| thread.states.as_ref().map(count);
        series.edges()?.of_threads(of_thread)
    };
    all(count).unwrap_or(0.0) / all(|states| states.looks).unwrap_or(0.0).max(1.0)
}

/// Share of wall time in which CPUs are not idle, mean over those to which both endpoints are pinned, or else over all.
fn busy_cpus(run: &RunView) -> Option<f64> {
    let is_pinned = attribution::shares_cpus(run);
    let ends = [run.sender, run.receiver];
    let is_of_both = |span: &CpuSpan| ends.iter().all(|end| end.pinned_cpus.contains(&span.cpu));
    let spans = cpu::cpus(run.sender)?.into_iter();
    let spans = spans.filter(|span| !is_pinned || is_of_both(span));
    let busy = mean(&spans.map(|span| span.busy_seconds).collect::<Vec<_>>());
    Some(busy? / cpu::span_seconds(run.sender)?)
}

/// The most of its time for which a sender can have been blocked in send: its sockets had data that had not left, by the
/// readings, and as many more of these as chance may hide.
fn most_blocked(series: &Series) -> Option<f64> {
    let holds = series.sockets(|one| one.send_queue_bytes > 0 || one.send_allocated_bytes > 0);
    Some(holds? + 1.0 / (series.count() as f64).sqrt())
}

fn idle(sender: &Series) -> Option<f64> {
    let us = sender.edges()?.tcp_64(|info| info.busy_time_us)?;
    let connections = sender.edges()?.first.connections().len().max(1);
    Some((1.0 - us / 1e6 / connections as f64 / sender.seconds()).max(0.0))
}

fn throttled(series: &Series) -> Option<f64> {
    let us = series.per_second(|sample| Some(sample.throttling?.throttled_us));
    Some(us? / 1e6)
}

/// Losses of the whole run: what the sequence numbers count, and the drops between the first and
/// the last sample.
fn loss(run: &RunView, [sender, receiver]: &[Series; 2]) -> Option<Loss> {
    let sequence = run.receiver.sequence?;
    let lost = sequence.measured_lost as f64;
    let grown = |count: fn(&Sample) -> Vec<u32>| -> Option<f64> {
        let edges = receiver.edges()?;
        let (before, after) = (count(edges.first), count(edges.last));
        let same = !before.is_empty() && before.len() == after.len();
        let each = before.iter().zip(&after);
        same.then(|| each.map(|(b, a)| f64::from(a.wrapping_sub(*b))).sum())
    };
    let softnet = grown(|sample| sample.softnet.iter().map(|cpu| cpu.dropped).collect());
    let departure = sender.growth(|sample| {
        let own = sample.interfaces.iter().filter(|own| own.node.is_none());
        Some(own.map(|own| own.tx_dropped).sum())
    });
    Some(Loss {
        lost,
        burst: run.conditions.burst_messages,
        largest: in_fragments(run).map(|(_, most)| most),
        pct: 100.0 * lost / (sequence.measured_sent as f64).max(1.0),
        socket: grown(|sample| sample.sockets.iter().map(|socket| socket.drops).collect())
            .map(|packets| packets * run.datagrams_in_packet()),
        softnet,
        // A virtual interface counts what a backlog dropped, too.
        departure: departure.map(|count| (count - softnet.unwrap_or(0.0)).max(0.0)),
    })
}
