//! What a transaction's time consists of, and what waking threads costs in it.

use bitcost_model::constants::{HostConstants, WakeUp};

use crate::explain::load::least_rtt_us;
use crate::metrics::{RunView, figure_of};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transactions {
    /// Time from one to the next in a flow, in ns.
    pub each_ns: f64,
    /// Number of flows, each of which has one in progress.
    pub flows: f64,
    /// How often a traffic thread of either endpoint was woken, per transaction.
    pub wakeups: Option<f64>,
    /// What a wake-up costs at least on the sender's host, on another CPU.
    pub wake: Option<WakeUp>,
    /// True where a transaction is or begins with a connection.
    pub connects: bool,
    /// True where the sockets poll instead of sleeping.
    pub busy_polls: bool,
    /// True where both endpoints run on the same CPUs.
    pub same_cpus: bool,
    /// The larger of request and response, in bytes.
    pub bytes: u32,
    /// The least round-trip time of the connections, in ns.
    pub rtt_ns: Option<f64>,
}

impl Transactions {
    /// Those of a run; absent where the run has none. What a wake-up costs is not in its records.
    pub(super) fn of(run: &RunView) -> Option<Transactions> {
        let figure = |name: &str| figure_of(run, name);
        let conditions = run.conditions;
        let flows = f64::from(conditions.flows);
        let rate = figure("transactions_per_second").filter(|rate| *rate > 0.0)?;
        let both = figure("sender_wakeups_per_message").zip(figure("receiver_wakeups_per_message"));
        let bytes = conditions
            .request_size_bytes
            .max(conditions.response_size_bytes);
        Some(Transactions {
            each_ns: 1e9 * flows / rate,
            flows,
            wakeups: both.map(|(sender, receiver)| sender + receiver),
            wake: None,
            connects: conditions.workload.makes_connections(),
            busy_polls: conditions.busy_poll_us.is_some_and(|us| us > 0),
            same_cpus: run.shared_cpus && run.sender.pinned_cpus == run.receiver.pinned_cpus,
            bytes,
            rtt_ns: least_rtt_us(run).map(|us| 1e3 * us),
        })
    }

    /// The same with the cost of a wake-up on this host, which is that of another CPU.
    pub(super) fn on(self, host: Option<&HostConstants>) -> Transactions {
        let host = host.filter(|_| !self.same_cpus);
        let wake = host.and_then(|host| host.wake_up);
        Transactions { wake, ..self }
    }
}
