//! The signals that the counters of a run, or of a part of its time, give the rules. Signals that
//! they do not give are absent.

use crate::metrics::{RunView, actual, is_moderated};
use bitcost_model::constants::HostConstants;
use bitcost_model::record::{CACHED_METRICS, EndpointRecord, Role, Sample, TcpInfo};

use crate::explain::cost::PacketCost;
use crate::explain::hops::{Hop, hops};
use crate::explain::rivals::Rivals;
use crate::explain::series::{Series, mean_and_variation};
use crate::explain::transactions::Transactions;

/// How an endpoint spent its time, as shares of wall time of its traffic threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EndTimes {
    /// On a CPU.
    pub cpu: f64,
    /// Waiting for a CPU.
    pub wait: f64,
    /// Sleeping between calls, for example to keep a rate.
    pub slept: f64,
    /// Blocked in its calls: a sender in send, a receiver in receive.
    pub blocked: f64,
    /// On a CPU or waiting for one, for the busiest of the threads that handle what the interface
    /// received; 0 where there is none.
    pub napi: f64,
}

impl EndTimes {
    fn of(series: &Series) -> Option<EndTimes> {
        let times = series.traffic()?;
        let threads = series.traffic_threads().max(1) as f64;
        let slept = series.growth(|before, after| {
            Some(after.counts.slept_ns.saturating_sub(before.counts.slept_ns) as f64)
        });
        // A sleep is counted when it ends, which may be in a later interval.
        let slept = (slept? / 1e9 / series.seconds() / threads).clamp(0.0, 1.0);
        let napi = series
            .napi()
            .map_or(0.0, |napi| (napi.cpu + napi.wait).min(1.0));
        let blocked = (1.0 - times.cpu - times.wait - slept).max(0.0);
        Some(EndTimes {
            cpu: times.cpu,
            wait: times.wait,
            slept,
            blocked,
            napi,
        })
    }

    /// On a CPU or waiting for one.
    pub fn busy(&self) -> f64 {
        self.cpu + self.wait
    }
}

/// Signals of the sender's connections.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tcp {
    /// Share of the busy time that the kernel calls limited by the receive window.
    pub rwnd_limited: Option<f64>,
    /// Share of the busy time that the kernel calls limited by the send buffer.
    pub sndbuf_limited: Option<f64>,
    /// Data in flight ÷ the receive window.
    pub rwnd_use: Option<f64>,
    /// Data in flight ÷ the congestion window.
    pub cwnd_use: Option<f64>,
    /// The congestion window, in segments.
    pub cwnd_segments: Option<f64>,
    /// The largest congestion window ÷ the smallest, of all connections.
    pub cwnd_spread: Option<f64>,
    /// Share of the samples of connections that find the congestion window full.
    pub cwnd_filled: Option<f64>,
    /// Whether a full window grows unless something is lost or holds it: the congestion control is known to do that and
    /// had as many round trips as the window has segments, or the kernel's metrics of the peer have this very window.
    pub grows_when_full: Option<bool>,
    /// Data written and not yet sent ÷ data in the socket.
    pub unsent: Option<f64>,
    /// Data in the socket ÷ its send buffer.
    pub buffer_use: Option<f64>,
    /// Retransmitted segments ÷ data segments sent.
    pub retransmitted: Option<f64>,
    /// Retransmitted segments.
    pub retransmits: Option<f64>,
    /// Data segments sent.
    pub segments: Option<f64>,
    /// Round-trip time ÷ its minimum.
    pub queueing: Option<f64>,
    /// The rate at which the connection paces itself ÷ goodput.
    pub pacing_use: Option<f64>,
    /// The congestion window at the end ÷ that at the start.
    pub cwnd_growth: Option<f64>,
    /// True if the congestion window is below the threshold of slow start at the end.
    pub in_slow_start: Option<bool>,
    /// True if no loss has ever set the threshold of slow start.
    pub never_reduced: Option<bool>,
    /// Packets that left the sender's interface ÷ data segments: 1 where nothing joins segments to
    /// super-packets.
    pub packets_per_segment: Option<f64>,
}

/// Lost datagrams of the whole run, and which counters saw them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loss {
    /// Datagrams lost.
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
}

impl Loss {
    /// Those that a counter of an endpoint saw.
    pub fn seen(&self) -> f64 {
        let counters = [self.socket, self.softnet, self.departure];
        counters.into_iter().flatten().sum()
    }
}

/// All signals that the rules use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signals {
    /// Intervals between samples.
    pub intervals: usize,
    /// Their total length, in seconds.
    pub seconds: f64,
    /// Delivered user data, in bit/s.
    pub goodput_bps: Option<f64>,
    /// Coefficient of variation of the delivered user data over the intervals.
    pub variation: Option<f64>,
    /// Rate of the last third ÷ that of the first.
    pub trend: Option<f64>,
    /// How the sender spent its time.
    pub sender: Option<EndTimes>,
    /// How the receiver spent its time.
    pub receiver: Option<EndTimes>,
    /// True for TCP.
    pub is_tcp: bool,
    /// Signals of the connections.
    pub tcp: Tcp,
    /// Lost datagrams.
    pub loss: Option<Loss>,
    /// Queues on the path, the sender's own first.
    pub hops: Vec<Hop>,
    /// Rate handed over ÷ rate requested; absent where none was requested.
    pub rate_kept: Option<f64>,
    /// Share of the time that a quota held each endpoint back.
    pub throttled: [Option<f64>; 2],
    /// Share of the time for which each endpoint's traffic threads waited for a CPU at least while nothing else ran on
    /// those that they may use: they waited for longer than others ran there.
    pub held: [Option<f64>; 2],
    /// Share of the time in which CPUs that both endpoints share are at work, mean over all of
    /// them; absent on two machines.
    pub shared_cpus: Option<f64>,
    /// What else used the CPUs of the sender's and the receiver's host; absent where the clocks of
    /// other programs are not known.
    pub rivals: [Option<Rivals>; 2],
    /// What a packet costs the sender at this size, by its cost model.
    pub cost: Option<PacketCost>,
    /// Requests or connections, where the run has them.
    pub transactions: Option<Transactions>,
    /// Whether the receiver's interface waits between two polls (interrupt moderation).
    pub is_moderated: bool,
}

/// The number of intervals that both endpoints of a run have.
pub fn intervals(run: &RunView) -> usize {
    let ends = [run.sender, run.receiver].into_iter();
    // An iperf3 server has none.
    let known = ends.filter(|end| end.iperf3.is_none());
    let samples = known.map(|end| end.samples.len()).min();
    samples.unwrap_or(0).saturating_sub(1)
}

impl Signals {
    /// The signals of the picked intervals, without a cost model.
    pub fn of(run: &RunView, picked: &[usize]) -> Signals {
        let (sender, receiver) = (
            Series::of(run.sender, picked),
            Series::of(run.receiver, picked),
        );
        let (timed, counted) = match (&run.sender.iperf3, &run.receiver.iperf3) {
            (None, None) => (&sender, &receiver),
            (None, Some(_)) => (&sender, &sender),
            (Some(_), _) => (&receiver, &receiver),
        };
        let rates = counted.rates();
        let goodput = mean_and_variation(&rates);
        let goodput_bps = goodput.map(|(mean, _)| mean);
        let is_tcp = !run.conditions.workload.is_datagram();
        Signals {
            intervals: timed.count().min(counted.count()),
            seconds: timed.seconds(),
            goodput_bps,
            variation: goodput.map(|(_, variation)| variation),
            trend: trend(&rates),
            sender: EndTimes::of(&sender),
            receiver: EndTimes::of(&receiver),
            is_tcp,
            tcp: if is_tcp {
                Tcp::of(&sender, run.sender, goodput_bps)
            } else {
                Tcp::default()
            },
            loss: if is_tcp { None } else { loss(run) },
            hops: hops(&sender, set_rate_bps(run.sender)),
            rate_kept: rate_kept(run),
            throttled: [throttled(&sender), throttled(&receiver)],
            held: [held(&sender, run.sender), held(&receiver, run.receiver)],
            shared_cpus: if run.shared_cpus {
                busy_cpus(&sender, run.sender, &[]).map(|(share, _)| share)
            } else {
                None
            },
            rivals: [Role::Sender, Role::Receiver].map(|role| Rivals::of(run, role)),
            cost: None,
            transactions: Transactions::of(run),
            is_moderated: is_moderated(run.receiver),
        }
    }

    /// The same with what the other runs and the host's constants say of its costs.
    pub fn with(self, cost: Option<PacketCost>, host: Option<&HostConstants>) -> Signals {
        Signals {
            cost,
            transactions: self.transactions.map(|transactions| transactions.on(host)),
            ..self
        }
    }

    /// How an endpoint spent its time.
    pub fn end(&self, role: Role) -> Option<EndTimes> {
        match role {
            Role::Sender => self.sender,
            Role::Receiver => self.receiver,
        }
    }
}

/// The rate that the run set at the sender's own queueing discipline, in bit/s.
fn set_rate_bps(sender: &EndpointRecord) -> Option<f64> {
    actual(sender, "qdisc.rate_bps")?.parse().ok()
}

/// The rate of messages, or of transactions, ÷ the one that was requested; absent where none was.
fn rate_kept(run: &RunView) -> Option<f64> {
    let figure = |name| (crate::metrics::metric(name)?.compute)(run);
    let of_messages = figure("rate_error_pct").map(|error| 1.0 + error / 100.0);
    of_messages.or_else(|| {
        let asked = f64::from(run.conditions.transaction_rate?) * f64::from(run.conditions.flows);
        Some(figure("transactions_per_second")? / asked)
    })
}

/// Mean of the last third ÷ mean of the first.
fn trend(rates: &[f64]) -> Option<f64> {
    let third = rates.len() / 3;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let (first, last) = (
        mean(rates.get(..third)?),
        mean(&rates[rates.len() - third..]),
    );
    (third > 0 && first > 0.0).then(|| last / first)
}

/// Share of wall time in which these CPUs of the host are not idle, mean over them, and how many they are; all where
/// none is named.
fn busy_cpus(series: &Series, end: &EndpointRecord, named: &[u32]) -> Option<(f64, f64)> {
    let of = |sample: &Sample| -> Vec<u64> {
        let cpus = sample.cpus.iter();
        let named = cpus.filter(|cpu| named.is_empty() || named.contains(&cpu.cpu));
        named.map(|cpu| cpu.idle + cpu.iowait).collect()
    };
    let idle = |sample: &Sample| of(sample).iter().sum::<u64>();
    let cpus = of(series.edges()?.0).len() as f64;
    let ticks =
        series.per_second(|before, after| Some(idle(after).checked_sub(idle(before))? as f64))?;
    let busy = (1.0 - ticks / end.ticks_per_second as f64 / cpus).clamp(0.0, 1.0);
    (cpus > 0.0).then_some((busy, cpus))
}

fn held(series: &Series, end: &EndpointRecord) -> Option<f64> {
    let own = series.traffic()?;
    let (busy, cpus) = busy_cpus(series, end, &end.pinned_cpus)?;
    let others = (busy * cpus - own.cpu).max(0.0);
    Some((own.wait - others).max(0.0))
}

fn throttled(series: &Series) -> Option<f64> {
    let us = |sample: &Sample| sample.throttling.map(|throttling| throttling.throttled_us);
    Some(
        series.per_second(|before, after| Some(us(after)?.checked_sub(us(before)?)? as f64))? / 1e6,
    )
}

/// Losses of the whole run: what the sequence numbers count, and the drops between the first and
/// the last sample.
fn loss(run: &RunView) -> Option<Loss> {
    let sequence = run.receiver.sequence?;
    let lost = sequence.measured_lost as f64;
    let all: Vec<usize> = (0..intervals(run)).collect();
    let receiver = Series::of(run.receiver, &all);
    let grown = |count: fn(&Sample) -> Vec<u32>| {
        receiver.growth(|before, after| {
            let (before, after) = (count(before), count(after));
            let same = !before.is_empty() && before.len() == after.len();
            same.then(|| {
                before
                    .iter()
                    .zip(&after)
                    .map(|(b, a)| f64::from(a.wrapping_sub(*b)))
                    .sum()
            })
        })
    };
    let softnet = grown(|sample| sample.softnet.iter().map(|cpu| cpu.dropped).collect());
    let departed = |sample: &Sample| -> u64 {
        let own = sample.interfaces.iter().filter(|own| own.node.is_none());
        own.map(|own| own.tx_dropped).sum()
    };
    let departure = Series::of(run.sender, &all)
        .growth(|before, after| Some(departed(after).checked_sub(departed(before))? as f64));
    Some(Loss {
        lost,
        pct: 100.0 * lost / (sequence.measured_sent as f64).max(1.0),
        socket: grown(|sample| sample.sockets.iter().map(|socket| socket.drops).collect()),
        softnet,
        // A virtual interface counts what a backlog dropped, too.
        departure: departure.map(|count| (count - softnet.unwrap_or(0.0)).max(0.0)),
    })
}

impl Tcp {
    fn of(series: &Series, end: &EndpointRecord, goodput_bps: Option<f64>) -> Tcp {
        let grown = |count: fn(&TcpInfo) -> Option<u64>| {
            let of = |sample: &Sample| count(sample.tcp_info.as_ref()?);
            series.growth(|before, after| Some(of(after)?.wrapping_sub(of(before)?) as f64))
        };
        let grown_32 = |count: fn(&TcpInfo) -> Option<u32>| {
            let of = |sample: &Sample| count(sample.tcp_info.as_ref()?);
            series.growth(|before, after| Some(f64::from(of(after)?.wrapping_sub(of(before)?))))
        };
        let busy_us = grown(|info| info.busy_time_us).filter(|us| *us > 0.0);
        let of_busy = |us: Option<f64>| us.zip(busy_us).map(|(part, busy)| part / busy);
        let retransmits = grown_32(|info| info.total_retrans);
        let segments = grown_32(|info| info.data_segs_out).filter(|segments| *segments > 0.0);
        let mean = |value: fn(&TcpInfo) -> Option<f64>| {
            mean_of(series, |sample| mean_over(sample.connections(), value))
        };
        let window = cwnd_range(series);
        Tcp {
            rwnd_limited: of_busy(grown(|info| info.rwnd_limited_us)),
            sndbuf_limited: of_busy(grown(|info| info.sndbuf_limited_us)),
            rwnd_use: mean(|info| Some(in_flight(info)? / positive(info.snd_wnd_bytes)?)),
            cwnd_use: mean(|info| {
                Some(f64::from(info.unacked_segments?) / positive(info.snd_cwnd_segments)?)
            }),
            cwnd_segments: mean(|info| positive(info.snd_cwnd_segments)),
            cwnd_spread: window.map(|(least, most)| f64::from(most) / f64::from(least)),
            cwnd_filled: mean(|info| {
                let is_full = info.unacked_segments? >= info.snd_cwnd_segments?;
                Some(f64::from(u8::from(is_full)))
            }),
            grows_when_full: window
                .map(|(_, most)| has_cached(end, most) || has_time_to_grow(end, series, most)),
            unsent: mean_of(series, |sample| {
                mean_over_sockets(sample, |info, queue, _| {
                    Some(f64::from(info.notsent_bytes?) / queue)
                })
            }),
            buffer_use: mean_of(series, |sample| {
                mean_over_sockets(sample, |_, queue, buffer| Some(queue / buffer))
            }),
            retransmitted: retransmits.zip(segments).map(|(again, all)| again / all),
            retransmits,
            segments,
            queueing: mean(|info| Some(f64::from(info.rtt_us?) / positive(info.min_rtt_us)?)),
            pacing_use: mean(pacing_bps)
                .zip(goodput_bps)
                .map(|(pacing, goodput)| pacing * series_connections(series) / goodput),
            cwnd_growth: cwnd_growth(series),
            in_slow_start: in_slow_start(series),
            never_reduced: never_reduced(series),
            packets_per_segment: packets(series)
                .zip(segments)
                .map(|(packets, segments)| packets / segments),
        }
    }
}

fn positive(value: Option<u32>) -> Option<f64> {
    value.filter(|value| *value > 0).map(f64::from)
}

fn in_flight(info: &TcpInfo) -> Option<f64> {
    Some(f64::from(info.unacked_segments?) * f64::from(info.snd_mss_bytes?))
}

/// The rate at which a connection paces itself, in bit/s; absent where it does not.
fn pacing_bps(info: &TcpInfo) -> Option<f64> {
    info.pacing_rate_bytes_per_second
        .filter(|rate| *rate < u64::MAX)
        .map(|rate| 8.0 * rate as f64)
}

fn series_connections(series: &Series) -> f64 {
    series
        .samples()
        .next()
        .map_or(1.0, |sample| sample.connections().len().max(1) as f64)
}

fn mean_over(connections: &[TcpInfo], value: fn(&TcpInfo) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = connections.iter().map(value).collect::<Option<_>>()?;
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Mean over the connections of a value computed from `TCP_INFO`, the bytes in the send queue and
/// the buffer; sockets with nothing queued are left out.
fn mean_over_sockets(sample: &Sample, value: fn(&TcpInfo, f64, f64) -> Option<f64>) -> Option<f64> {
    let pairs = sample
        .connections()
        .iter()
        .zip(&sample.sockets)
        .filter(|(_, socket)| socket.send_queue_bytes > 0);
    let values: Vec<f64> = pairs
        .filter_map(|(info, socket)| {
            value(
                info,
                f64::from(socket.send_queue_bytes),
                positive(Some(socket.send_buffer_bytes))?,
            )
        })
        .collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Mean over the samples that have a value; absent where fewer than half have.
fn mean_of(series: &Series, value: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = series.samples().filter_map(value).collect();
    (2 * values.len() >= series.count().max(1))
        .then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Packets that left the endpoint's own interface.
fn packets(series: &Series) -> Option<f64> {
    let sent = |sample: &Sample| {
        sample
            .interfaces
            .iter()
            .find(|own| own.node.is_none())
            .map(|own| own.tx_packets)
    };
    series.growth(|before, after| Some(sent(after)?.checked_sub(sent(before)?)? as f64))
}

/// The smallest and the largest congestion window of all connections.
fn cwnd_range(series: &Series) -> Option<(u32, u32)> {
    let connections = series.samples().flat_map(Sample::connections);
    let windows = connections.filter_map(|info| info.snd_cwnd_segments.filter(|one| *one > 0));
    windows.fold(None, |range, one| match range {
        None => Some((one, one)),
        Some((least, most)) => Some((one.min(least), one.max(most))),
    })
}

/// Whether the kernel's metrics of the peer have a congestion window of this many segments.
fn has_cached(end: &EndpointRecord, segments: u32) -> bool {
    let cached = format!(" cwnd {segments}");
    let metrics = actual(end, CACHED_METRICS).unwrap_or_default();
    let mut metrics = metrics.split([',', ';']);
    metrics.any(|value| value.ends_with(&cached))
}

/// Whether reno or cubic would have changed a full window of this many segments meanwhile. Reno doubles it in as many round
/// trips; cubic, which is flat around the window of its last loss, does not grow slower than its estimate of reno
/// (RFC 9438, section 4.3).
fn has_time_to_grow(end: &EndpointRecord, series: &Series, segments: u32) -> bool {
    let control = actual(end, "congestion_control");
    let rtt_us = mean_of(series, |sample| {
        mean_over(sample.connections(), |info| Some(f64::from(info.rtt_us?)))
    });
    let trips = rtt_us.map(|rtt_us| series.seconds() * 1e6 / rtt_us);
    matches!(control, Some("reno" | "cubic")) && trips >= Some(f64::from(segments))
}

fn cwnd_growth(series: &Series) -> Option<f64> {
    let (first, last) = series.edges()?;
    let window = |sample: &Sample| positive(sample.tcp_info.as_ref()?.snd_cwnd_segments);
    Some(window(last)? / window(first)?)
}

fn in_slow_start(series: &Series) -> Option<bool> {
    let info = series.edges()?.1.tcp_info.as_ref()?;
    Some(info.snd_cwnd_segments? < info.snd_ssthresh_segments?)
}

/// The threshold of slow start before a loss sets it (`TCP_INFINITE_SSTHRESH` of the kernel).
const NO_THRESHOLD: u32 = 0x7fff_ffff;

fn never_reduced(series: &Series) -> Option<bool> {
    let info = series.edges()?.1.tcp_info.as_ref()?;
    Some(info.snd_ssthresh_segments? >= NO_THRESHOLD)
}

#[cfg(test)]
mod tests {
    use bitcost_model::record::InEffect;

    use super::*;

    #[test]
    fn a_window_needs_as_many_round_trips_as_segments_to_grow() {
        let sample = |at_ns| Sample {
            at_ns,
            tcp_info: Some(TcpInfo {
                rtt_us: Some(50_000),
                ..TcpInfo::default()
            }),
            ..Sample::default()
        };
        let cubic = InEffect {
            name: "congestion_control".to_owned(),
            requested: None,
            actual: Some("cubic".to_owned()),
        };
        let end = EndpointRecord {
            samples: vec![sample(0), sample(2_000_000_000)],
            in_effect: vec![cubic],
            ..EndpointRecord::default()
        };
        let series = Series::of(&end, &[0]);
        assert!(has_time_to_grow(&end, &series, 10));
        assert!(!has_time_to_grow(&end, &series, 830));
        assert!(!has_time_to_grow(&EndpointRecord::default(), &series, 10));
    }
}
