//! What the sender's connections say of a run, or of a part of its time.

use bitcost_model::record::{Sample, TcpInfo};

use bitcost_stats::median;

use crate::explain::series::{Series, mean, ratio};
use crate::metrics::{Edges, RunView, actual, protocols_grown};

/// The state of congestion control from which on lost segments are sent again (`TCP_CA_Recovery`).
pub(super) const RECOVERY: u8 = 3;

/// A buffer whose size a program set.
pub(super) const SET: &str = "the program set its size, which ends autotuning";

/// Counters of a host of segments that TCP threw away, for lack of memory or of window.
const THROWN: [&str; 5] = [
    "TcpExt.RcvPruned",
    "TcpExt.OfoPruned",
    "TcpExt.TCPRcvQDrop",
    "TcpExt.TCPZeroWindowDrop",
    "TcpExt.BeyondWindow",
];

/// Counters of a host that has no memory for TCP.
const SCARCE: [&str; 3] = [
    "TcpExt.TCPMemoryPressures",
    "TcpExt.RcvPruned",
    "TcpExt.TCPRcvQDrop",
];

/// What helps where the receiver's route holds its window.
pub(crate) const WINDOW_OF_ROUTE: &str =
    "take `window` off the receiver's routes, or find what else holds its window";

/// What keeps the receive window small, and what helps; no word where that is what helps any receive buffer.
fn kept(run: &RunView, scaling: Option<bool>) -> Option<[&'static str; 2]> {
    let windows = run.sender.samples.iter().flat_map(Sample::connections);
    let window = windows.filter_map(|info| info.snd_wnd_bytes).max()?;
    let sockets = run.receiver.samples.iter().flat_map(|one| &one.sockets);
    let buffer = sockets.map(|socket| socket.receive_buffer_bytes).max();
    let mut flows = run.receiver.flows.iter();
    let first = flows.find_map(|flow| flow.at_start.receive_buffer_bytes);
    let is_set = run.conditions.receive_buffer_bytes.is_some();
    let scarce = protocols_grown(run.receiver, &SCARCE);
    let has_room = |times: u32| buffer.is_some_and(|buffer| buffer / times >= window);
    Some(match () {
        () if scaling == Some(false) && (has_room(2) || !is_set) => [
            "the connection has no window scaling, so that the window is at most 64 KiB",
            "let the window scale option of the first packets pass (a firewall or a middlebox takes it out), or net.ipv4.tcp_window_scaling=1 at both hosts",
        ],
        () if is_set => [SET, ""],
        () if scarce > Some(0.0) => [
            "the kernel threw data away for lack of memory for the receiver's TCP",
            "raise the memory limit of the receiver's control group (memory.max, memory.kmem.tcp.limit_in_bytes), or net.ipv4.tcp_mem",
        ],
        () if has_room(4) => [
            "the receiver never announces a quarter of what its buffer has room for",
            WINDOW_OF_ROUTE,
        ],
        () if buffer.is_some() && buffer == first.and_then(|half| half.checked_mul(2)) => [
            "autotuning left the receive buffer at its first size",
            "set the receive buffer (--receive-buffer), or raise the first and the largest size of net.ipv4.tcp_rmem at the receiver",
        ],
        () => return None,
    })
}

/// Signals of the sender's connections.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tcp {
    /// Share of the busy time that the kernel calls limited by the receive window.
    pub rwnd_limited: Option<f64>,
    /// Share of the busy time that the kernel calls limited by the send buffer.
    pub sndbuf_limited: Option<f64>,
    /// Data in flight ÷ the congestion window.
    pub cwnd_use: Option<f64>,
    /// The congestion window, in segments.
    pub cwnd_segments: Option<f64>,
    /// Data written and not yet sent ÷ data in the socket.
    pub unsent: Option<f64>,
    /// Data in the socket ÷ its send buffer.
    pub buffer_use: Option<f64>,
    /// What keeps the receive window small, and what helps.
    pub window: Option<[&'static str; 2]>,
    /// Segments that the receiver's TCP threw away ÷ retransmitted segments.
    pub thrown: Option<f64>,
    /// Whether the program set the send buffer.
    pub sets_send_buffer: bool,
    /// Whether the connections use selective acknowledgements.
    pub sack: Option<bool>,
    /// Segments that arrived with a congestion mark ÷ segments that arrived.
    pub marked: Option<f64>,
    /// Share of the samples of connections that recover from loss, or send again after a retransmission timer.
    pub recovering: Option<f64>,
    /// Whether the congestion control takes a loss for congestion, as all but BBR do.
    pub halves: bool,
    /// Whether it answers a mark of congestion as a loss (RFC 3168), not in proportion to their share.
    pub answers_marks_by_half: bool,
    /// Retransmitted segments ÷ data segments sent.
    pub retransmitted: Option<f64>,
    pub retransmits: Option<f64>,
    /// Segments that were sent again since the connections began.
    pub sent_again: Option<f64>,
    /// Data segments sent.
    pub segments: Option<f64>,
    /// Round-trip time, in ms.
    pub rtt_ms: Option<f64>,
    /// Round-trip time ÷ its minimum.
    pub queueing: Option<f64>,
    /// The rate at which the connection paces itself ÷ goodput.
    pub pacing_use: Option<f64>,
    /// True if the congestion window is below the threshold of slow start at the end.
    pub in_slow_start: Option<bool>,
    /// Packets that left the sender's interface ÷ data segments: 1 where nothing joins segments to
    /// super-packets.
    pub packets_per_segment: Option<f64>,
}

impl Tcp {
    /// Those of requests, which fill no window.
    pub(super) fn of_requests(series: &Series) -> Tcp {
        Tcp {
            rtt_ms: series.tcp(rtt_ms),
            queueing: series.tcp(queueing),
            ..Tcp::default()
        }
    }

    pub(super) fn of(series: &Series, run: &RunView, goodput_bps: Option<f64>) -> Tcp {
        let end = run.sender;
        let control = actual(end, "congestion_control");
        let edges = series.edges();
        let us = |time: fn(&TcpInfo) -> Option<u64>| edges?.tcp_64(time);
        let count = |counter: fn(&TcpInfo) -> Option<u32>| edges?.tcp(counter);
        let busy_us = us(|info| info.busy_time_us);
        let retransmits = count(|info| info.total_retrans);
        let segments = count(|info| info.data_segs_out).filter(|segments| *segments > 0.0);
        let socket = |value: fn(&TcpInfo, f64, f64) -> Option<f64>| {
            series.mean(|sample| over_sockets(sample, value))
        };
        let last = edges.and_then(|edges| edges.last.tcp_info.as_ref());
        // A connection begins with a pacing rate far above what it finds.
        let paced = series.samples().filter_map(|sample| {
            let rates = sample.connections().iter().map(pacing_bps);
            mean(&rates.collect::<Option<Vec<f64>>>()?)
        });
        let paced: Vec<f64> = paced.collect();
        let connections = series.samples().next().map(|one| one.connections().len());
        let connections = connections.unwrap_or(0).max(1) as f64;
        Tcp {
            rwnd_limited: ratio(us(|info| info.rwnd_limited_us), busy_us),
            sndbuf_limited: ratio(us(|info| info.sndbuf_limited_us), busy_us),
            cwnd_use: series.tcp(|info| {
                // It is cut while segments are in flight.
                let used = f64::from(info.unacked_segments?) / positive(info.snd_cwnd_segments)?;
                Some(used.min(1.0))
            }),
            cwnd_segments: series.tcp(|info| positive(info.snd_cwnd_segments)),
            unsent: socket(|info, queue, _| Some(f64::from(info.notsent_bytes?) / queue)),
            buffer_use: socket(|_, queue, buffer| Some(queue / buffer)),
            window: kept(run, last.and_then(|info| info.window_scaling)),
            thrown: protocols_grown(run.receiver, &THROWN)
                .zip(retransmits)
                .map(|(thrown, again)| thrown / again.max(1.0)),
            sets_send_buffer: run.conditions.send_buffer_bytes.is_some(),
            sack: last.and_then(|info| info.sack),
            marked: ratio(
                count(|info| info.delivered_ce),
                count(|info| info.delivered),
            ),
            recovering: series.tcp(|info| Some(f64::from(u8::from(info.ca_state? >= RECOVERY)))),
            halves: control.is_some_and(|control| !control.starts_with("bbr")),
            answers_marks_by_half: matches!(control, Some("reno" | "cubic")),
            retransmitted: ratio(retransmits, segments),
            retransmits,
            sent_again: last.and_then(|info| info.total_retrans.map(f64::from)),
            segments,
            rtt_ms: series.tcp(rtt_ms),
            queueing: series.tcp(queueing),
            pacing_use: median(&paced)
                .zip(goodput_bps)
                .map(|(pacing, goodput)| pacing * connections / goodput),
            in_slow_start: last
                .and_then(|info| Some(info.snd_cwnd_segments? < info.snd_ssthresh_segments?)),
            packets_per_segment: ratio(edges.and_then(Edges::sent_packets), segments),
        }
    }
}

fn rtt_ms(info: &TcpInfo) -> Option<f64> {
    Some(f64::from(info.rtt_us?) / 1e3)
}

fn queueing(info: &TcpInfo) -> Option<f64> {
    Some(f64::from(info.rtt_us?) / positive(info.min_rtt_us)?)
}

fn positive(value: Option<u32>) -> Option<f64> {
    value.filter(|value| *value > 0).map(f64::from)
}

/// The rate at which a connection paces itself, in bit/s; absent where it does not.
fn pacing_bps(info: &TcpInfo) -> Option<f64> {
    let rate = info.pacing_rate_bytes_per_second;
    Some(8.0 * rate.filter(|rate| *rate < u64::MAX)? as f64)
}

/// Mean over the connections of a value computed from `TCP_INFO`, the bytes in the send queue and
/// the buffer; sockets with nothing queued are left out.
fn over_sockets(sample: &Sample, value: fn(&TcpInfo, f64, f64) -> Option<f64>) -> Option<f64> {
    let pairs = sample.connections().iter().zip(&sample.sockets);
    let values = pairs.filter_map(|(info, socket)| {
        let queue = positive(Some(socket.send_queue_bytes))?;
        value(info, queue, positive(Some(socket.send_buffer_bytes))?)
    });
    mean(&values.collect::<Vec<f64>>())
}
