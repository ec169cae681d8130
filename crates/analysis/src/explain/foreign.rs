//! What one end says of connections that another program holds.

use bitcost_model::record::{Program, Role, Sample, TcpInfo, ThreadTime};

use crate::explain::series::{Series, ratio};
use crate::explain::tcp::RECOVERY;
use crate::metrics::{Edges, RunView};

/// The congestion window has room where less of it is in use.
const ROOM: f64 = 0.8;

/// The most segments under way of a program that writes little.
const FEW: u32 = 3;

/// Received data that the host's TCP threw away, or pressed together, for want of memory.
const SHORT_OF_MEMORY: [&str; 4] = [
    "TcpExt.PruneCalled",
    "TcpExt.RcvPruned",
    "TcpExt.TCPRcvQDrop",
    "TcpExt.TCPMemoryPressures",
];

/// Shares are of the samples, means over the connections.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Foreign {
    /// The end that was read: it sends most of the data, or receives them.
    pub role: Role,
    /// Connections that were read.
    pub connections: usize,
    /// Less than a segment waits to be sent, and the congestion window has room.
    pub spare: Option<f64>,
    /// Packets wait in the host's queueing discipline, of another kind than that of paced connections (fq).
    pub queued: Option<f64>,
    /// Less than a segment waits to be sent, while earlier data are not acknowledged, and while none are under way.
    pub held: [Option<f64>; 2],
    /// Received data wait for the program.
    pub unread: Option<f64>,
    /// A quarter of the receive buffer or more waits for it.
    pub piles_up: Option<f64>,
    /// The window that the other end announced, least after its greatest ÷ that, of the connection where that is least.
    pub dips: Option<f64>,
    /// Data under way ÷ the window that this end announced, of an end that receives.
    pub window_use: Option<f64>,
    /// Segments out of order ÷ segments received, of an end that receives.
    pub out_of_order: Option<f64>,
    /// Round-trip time ÷ its minimum, of an end that receives.
    pub queueing: Option<f64>,
    /// Segments of data in the other direction for each round trip.
    pub turns: Option<f64>,
    /// Of connections with data in both directions: nothing is under way, and the last data came from the other end, which
    /// waits for this program.
    pub its_turn: Option<f64>,
    /// Whether the program accepts connections.
    pub listens: bool,
    /// Goodput ÷ the most that the program lets the connection pace itself at (`SO_MAX_PACING_RATE`).
    pub of_cap: Option<f64>,
    /// Connections that the host opened or accepted each second.
    pub opened: Option<f64>,
    /// As many connections waited to be accepted as may.
    pub queue_full: Option<f64>,
    /// Congestion windows that fell to half or less from one sample to the next, although nothing was sent again, and are full;
    /// where the other end sends as often, and so may wait for what they hold back.
    pub begins: Option<f64>,
    /// Bytes of each write, or where it uses other calls of each segment.
    pub write_bytes: Option<f64>,
    /// Times a second that the host was short of memory for received data.
    pub short_of_memory: Option<f64>,
    /// Of datagrams: those that the sockets dropped ÷ those that came for them.
    pub dropped: Option<f64>,
    /// Of datagrams: nothing waits to be sent.
    pub is_empty: Option<f64>,
    /// Datagrams that the host sends for each time that the program's threads sleep.
    pub burst: Option<f64>,
    /// Fragments whose datagram the host gave up ÷ fragments that arrived.
    pub given_up: Option<f64>,
}

impl Foreign {
    /// Absent of bitcost's own traffic, and of an end that was not read.
    pub(super) fn of(
        run: &RunView,
        role: Role,
        own: &Series,
        goodput_bps: Option<f64>,
    ) -> Option<Foreign> {
        let program = run.end(role).program.as_deref()?;
        let connections = program.connections.len();
        let grown = |names: &[&str]| own.edges()?.grown(names);
        let per_second = |names: &[&str]| Some(grown(names)? / own.seconds());
        let queue = |[full, all]: [u32; 2]| f64::from(full) / f64::from(all.max(1));
        let found = Foreign {
            role,
            connections,
            opened: per_second(&["Tcp.ActiveOpens", "Tcp.PassiveOpens"]),
            queue_full: program.queue_full.map(queue),
            listens: program.queue_full.is_some(),
            short_of_memory: per_second(&SHORT_OF_MEMORY),
            given_up: ratio(
                grown(&["Ip.ReasmFails", "Ip6.ReasmFails"]),
                grown(&["Ip.ReasmReqds", "Ip6.ReasmReqds"]),
            ),
            ..Foreign::default()
        };
        let each_bps = goodput_bps.map(|bps| bps / connections.max(1) as f64);
        Some(match run.conditions.workload.is_datagram() {
            true => found.with_datagrams(own),
            false => {
                let found = found.with_queues(own);
                found.with_segments(own, program, each_bps)
            }
        })
    }

    fn with_datagrams(self, own: &Series) -> Foreign {
        let drops = |sample: &Sample| {
            let drops = sample.sockets.iter().map(|one| u64::from(one.drops));
            Some(drops.sum())
        };
        let grown = |names: &[&str]| own.edges()?.grown(names);
        let drops = own.growth(drops);
        let taken = grown(&["Udp.InDatagrams", "Udp6.InDatagrams"]);
        let sent = grown(&["Udp.OutDatagrams", "Udp6.OutDatagrams"]);
        let sleeps = |thread: &ThreadTime| thread.switches.map(|of| of.voluntary);
        let sleeps = own.edges().and_then(|edges| edges.of_threads(sleeps));
        let sent = ratio(sent, sleeps.map(|count| count.max(1.0)));
        Foreign {
            dropped: ratio(drops, drops.zip(taken).map(|(drops, taken)| drops + taken)),
            is_empty: own.sockets(|one| one.send_queue_bytes == 0 && one.send_allocated_bytes == 0),
            burst: sent.filter(|_| self.role == Role::Sender),
            ..self
        }
    }

    /// What waits at this end.
    fn with_queues(self, own: &Series) -> Foreign {
        let share = |is: fn(&TcpInfo) -> Option<bool>| {
            own.tcp(|info| is(info).map(|is| f64::from(u8::from(is))))
        };
        Foreign {
            spare: share(|info| {
                let used = f64::from(info.unacked_segments?) / f64::from(info.snd_cwnd_segments?);
                Some(info.notsent_bytes? < info.snd_mss_bytes? && used < ROOM)
            }),
            held: [
                share(|info| Some(is_held(info)? && (1..=FEW).contains(&info.unacked_segments?))),
                share(|info| Some(is_held(info)? && info.unacked_segments? == 0)),
            ],
            queued: own.mean(|sample| {
                let mut own = sample.queues.iter().filter(|queue| queue.node.is_none());
                let waits = own.any(|queue| queue.kind != "fq" && queue.backlog_packets > 0);
                Some(f64::from(u8::from(waits)))
            }),
            unread: own.sockets(|one| one.receive_queue_bytes > 0),
            piles_up: own.sockets(|one| one.receive_queue_bytes >= one.receive_buffer_bytes / 4),
            ..self
        }
    }

    /// What the segments and the windows say; `each_bps` is the mean rate of a connection.
    fn with_segments(self, own: &Series, program: &Program, each_bps: Option<f64>) -> Foreign {
        let each = each_bps.map(|bps| bps / 8.0);
        let count = |of: fn(&TcpInfo) -> Option<u32>| own.edges()?.tcp(of);
        let answers = match self.role {
            Role::Sender => count(|info| info.data_segs_in),
            Role::Receiver => count(|info| info.data_segs_out),
        };
        // A segment a second or more in each direction: the programs speak in turn.
        let is_asked = answers.is_some_and(|count| count >= own.seconds());
        let its_turn = |info: &TcpInfo| {
            let is_empty = info.unacked_segments? == 0 && info.notsent_bytes? == 0;
            Some(f64::from(u8::from(is_empty && info.heard_last?)))
        };
        let round_trip = own.tcp(|info| Some(f64::from(info.rtt_us?) / 1e6));
        let all_s = own.seconds() * self.connections.max(1) as f64;
        let trips = round_trip.map(|rtt_s| all_s / rtt_s);
        let used = |info: &TcpInfo| {
            let rtt_s = f64::from(info.rcv_rtt_us.filter(|us| *us > 0)?) / 1e6;
            let window = f64::from(info.rcv_wnd_bytes.filter(|bytes| *bytes > 0)?);
            Some(each? * rtt_s / window)
        };
        let queueing = |info: &TcpInfo| {
            let rtt_us = f64::from(info.rcv_rtt_us.filter(|us| *us > 0)?);
            // Timestamps count milliseconds.
            Some(rtt_us / f64::from(info.min_rtt_us?.max(1000)))
        };
        let cap = |info: &TcpInfo| {
            let cap = info.max_pacing_rate_bytes_per_second?;
            (cap < u64::from(u32::MAX)).then_some(cap as f64)
        };
        let bytes = |edges: &Edges| edges.tcp_64(|info| info.bytes_sent);
        let bytes = own.edges().and_then(bytes);
        let calls = program.calls.filter(|[bytes, _]| *bytes > 0);
        let [written, calls] = [0, 1].map(|place| Some(calls?[place] as f64));
        let written = ratio(written, calls);
        let written = written.or_else(|| ratio(bytes, count(|info| info.data_segs_out)));
        let pairs = own.samples().zip(own.samples().skip(1));
        let begins: f64 = pairs.map(begin_again).sum();
        Foreign {
            dips: dips(own, self.connections),
            window_use: own.tcp(used),
            queueing: own.tcp(queueing),
            out_of_order: ratio(count(|info| info.rcv_ooopack), count(|info| info.segs_in)),
            its_turn: own.tcp(its_turn).filter(|_| is_asked),
            begins: answers.filter(|asked| *asked >= begins).map(|_| begins),
            turns: ratio(answers, trips),
            of_cap: ratio(each, own.tcp(cap)),
            write_bytes: written.filter(|_| self.role == Role::Sender),
            ..self
        }
    }
}

fn dips(own: &Series, connections: usize) -> Option<f64> {
    let all = (0..connections).filter_map(|at| {
        let samples = own.samples();
        let windows = samples.filter_map(|one| one.connections().get(at)?.snd_wnd_bytes);
        let [most, least] = windows.fold([0_u32; 2], |[most, least], bytes| match bytes > most {
            true => [bytes, bytes],
            false => [most, least.min(bytes)],
        });
        ratio(Some(least.into()), Some(most.into()))
    });
    all.min_by(f64::total_cmp)
}

/// The connections whose congestion window fell to half or less, although nothing was sent again, and holds back what waits.
fn begin_again((before, after): (&Sample, &Sample)) -> f64 {
    let pairs = before.connections().iter().zip(after.connections());
    let begins = |(was, is): &(&TcpInfo, &TcpInfo)| {
        let has_fallen = is.snd_cwnd_segments <= was.snd_cwnd_segments.map(|window| window / 2);
        let is_full = is.notsent_bytes > Some(0) && is.unacked_segments >= is.snd_cwnd_segments;
        has_fallen && is_full && was.total_retrans == is.total_retrans
    };
    pairs.filter(begins).count() as f64
}

/// Whether less than a segment waits to be sent, with room in the congestion window and nothing sent again.
fn is_held(info: &TcpInfo) -> Option<bool> {
    let waits = info.notsent_bytes?;
    let has_room = info.unacked_segments? < info.snd_cwnd_segments?;
    Some(waits > 0 && waits < info.snd_mss_bytes? && has_room && info.ca_state? < RECOVERY)
}
