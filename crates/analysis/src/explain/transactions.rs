//! What a transaction's time consists of.

use bitcost_model::record::{EndpointRecord, Role, Sample};

use crate::explain::load::least_rtt_us;
use crate::metrics::{Edges, RunView, actual, figure_of};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transactions {
    /// Time from one to the next in a flow, in ns.
    pub each_ns: f64,
    /// Number of flows, each of which has one in progress.
    pub flows: f64,
    /// True where a transaction is or begins with a connection.
    pub connects: bool,
    /// True where the sockets poll instead of sleeping.
    pub busy_polls: bool,
    /// The larger of request and response, in bytes.
    pub bytes: u32,
    /// The least round-trip time of the connections, in ns.
    pub rtt_ns: Option<f64>,
    /// The least share of the time in which a flow waits for a retransmission timer.
    pub resending: Option<f64>,
    /// Whether neither has more than three segments.
    pub is_short: bool,
    /// How windows begin again after pauses.
    pub restarts: Option<Restarts>,
}

/// Congestion windows of the end that sends more at a time, where transactions have a requested rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Restarts {
    /// Mean latency ÷ the least round-trip time.
    pub trips: f64,
    /// How often a window fell to half or less from one sample to the next.
    pub falls: f64,
    /// The smallest window, in segments.
    pub least: u32,
}

impl Restarts {
    fn of(run: &RunView, rtt_us: f64) -> Option<Restarts> {
        let conditions = run.conditions;
        let [request, response] = [
            conditions.request_size_bytes,
            conditions.response_size_bytes,
        ];
        let role = if request > response {
            Role::Sender
        } else {
            Role::Receiver
        };
        // BBR keeps its window.
        let control = actual(run.sender, "congestion_control")?;
        conditions
            .transaction_rate
            .filter(|_| !control.starts_with("bbr"))?;
        let windows = |sample: &Sample| -> Vec<u32> {
            let all = sample.connections().iter();
            all.filter_map(|info| info.snd_cwnd_segments).collect()
        };
        let windows: Vec<Vec<u32>> = run.end(role).samples.iter().map(windows).collect();
        let pairs = windows
            .windows(2)
            .flat_map(|two| two[0].iter().zip(&two[1]));
        Some(Restarts {
            trips: figure_of(run, "latency_mean_us")? / rtt_us,
            falls: pairs
                .filter(|(before, after)| **after <= **before / 2)
                .count() as f64,
            least: windows.iter().flatten().copied().min()?,
        })
    }
}

/// The least time of a retransmission timer, in seconds (`TCP_RTO_MIN`); one segment in flight is not sent again sooner.
const TIMER_S: f64 = 0.2;

/// What both ends sent again × the least time that each of these waited ÷ the time of the flows.
fn resending(run: &RunView, flows: f64) -> Option<f64> {
    if run.conditions.workload.makes_connections() {
        return connecting(run, flows);
    }
    let again = |end: &EndpointRecord| {
        let edges = Edges::of(&end.samples)?;
        Some(edges.tcp(|info| info.total_retrans)? / edges.seconds)
    };
    let again = again(run.sender)? + again(run.receiver)?;
    Some(TIMER_S * again / flows)
}

/// A connection is not asked for again sooner, in seconds (`TCP_TIMEOUT_INIT`).
const CONNECT_TIMER_S: f64 = 1.0;

/// The same of connections, whose sockets are gone, by what the client's host sent again: other programs too, so that it
/// is no more than what the mean latency has above the median.
fn connecting(run: &RunView, flows: f64) -> Option<f64> {
    let edges = Edges::of(&run.sender.samples)?;
    let asked = edges.grown(&["TcpExt.TCPSynRetrans"])?;
    let others = edges.grown(&["Tcp.RetransSegs"])? - asked;
    let share = (CONNECT_TIMER_S * asked + TIMER_S * others) / edges.seconds / flows;
    let usual = figure_of(run, "latency_p50_us")? / figure_of(run, "latency_mean_us")?;
    Some(share.min(1.0 - usual).max(0.0))
}

/// In more segments than these, one that is lost is mostly sent again without a timer, since others arrive after it.
const SHORT: u32 = 3;

impl Transactions {
    /// Those of a run; absent where the run has none.
    pub(super) fn of(run: &RunView) -> Option<Transactions> {
        let conditions = run.conditions;
        let flows = f64::from(conditions.flows);
        let rate = figure_of(run, "transactions_per_second").filter(|rate| *rate > 0.0)?;
        let bytes = conditions
            .request_size_bytes
            .max(conditions.response_size_bytes);
        let segment = run.sender.flows.first();
        let segment = segment.and_then(|flow| flow.at_start.mss_bytes);
        Some(Transactions {
            each_ns: 1e9 * flows / rate,
            flows,
            connects: conditions.workload.makes_connections(),
            busy_polls: conditions.busy_poll_us.is_some_and(|us| us > 0),
            bytes,
            rtt_ns: least_rtt_us(run).map(|us| 1e3 * us),
            resending: resending(run, flows),
            is_short: segment.is_none_or(|segment| bytes <= SHORT * segment),
            restarts: least_rtt_us(run).and_then(|rtt_us| Restarts::of(run, rtt_us)),
        })
    }
}
