//! What a transaction's time consists of.

use bitcost_model::record::EndpointRecord;

use crate::explain::load::least_rtt_us;
use crate::metrics::{Edges, RunView, figure_of};

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
}

/// The least time of a retransmission timer, in seconds (`TCP_RTO_MIN`); one segment in flight is not sent again sooner.
const TIMER_S: f64 = 0.2;

/// What both ends sent again × the least time that each of these waited ÷ the time of the flows.
fn resending(run: &RunView, flows: f64) -> Option<f64> {
    let again = |end: &EndpointRecord| {
        let edges = Edges::of(&end.samples)?;
        Some(edges.tcp(|info| info.total_retrans)? / edges.seconds)
    };
    let again = again(run.sender)? + again(run.receiver)?;
    Some(TIMER_S * again / flows)
}

impl Transactions {
    /// Those of a run; absent where the run has none.
    pub(super) fn of(run: &RunView) -> Option<Transactions> {
        let conditions = run.conditions;
        let flows = f64::from(conditions.flows);
        let rate = figure_of(run, "transactions_per_second").filter(|rate| *rate > 0.0)?;
        let bytes = conditions
            .request_size_bytes
            .max(conditions.response_size_bytes);
        Some(Transactions {
            each_ns: 1e9 * flows / rate,
            flows,
            connects: conditions.workload.makes_connections(),
            busy_polls: conditions.busy_poll_us.is_some_and(|us| us > 0),
            bytes,
            rtt_ns: least_rtt_us(run).map(|us| 1e3 * us),
            resending: resending(run, flows),
        })
    }
}
