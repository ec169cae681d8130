//! What a transaction's time consists of, and what waking threads costs in it.

use bitcost_model::conditions::REQUEST_TIMEOUT;
use bitcost_model::constants::{HostConstants, WakeUp};
use bitcost_model::record::Role;

use crate::explain::load::Load;
use crate::metrics::{RunView, is_moderated, metric, protocols_grown};

/// The time after which a SYN is first retransmitted, in seconds (RFC 6298): one that is lost takes at least this long.
const SYN_TIMEOUT_S: f64 = 1.0;

/// The transactions of a run.
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
    /// True where the receiving interfaces moderate their interrupts.
    pub moderates: bool,
    /// True where both endpoints run on the same CPUs.
    pub same_cpus: bool,
    /// Of the time of a flow, the share that it waits for answers that never come, until it gives up, or until the
    /// kernel retransmits a SYN.
    pub given_up: f64,
    /// The larger of request and response, in bytes.
    pub bytes: u32,
    /// The least round-trip time of the connections, in ns.
    pub rtt_ns: Option<f64>,
}

impl Transactions {
    /// Those of a run; absent where the run has none. What a wake-up costs is not in its records.
    pub fn of(run: &RunView) -> Option<Transactions> {
        let figure = |name: &str| metric(name).and_then(|metric| (metric.compute)(run));
        let conditions = run.conditions;
        let flows = f64::from(conditions.flows);
        let rate = figure("transactions_per_second").filter(|rate| *rate > 0.0)?;
        let of_flows = run.window_seconds(Role::Sender)? * flows;
        let both = figure("sender_wakeups_per_message").zip(figure("receiver_wakeups_per_message"));
        Some(Transactions {
            each_ns: 1e9 * flows / rate,
            flows,
            wakeups: both.map(|(sender, receiver)| sender + receiver),
            wake: None,
            connects: conditions.workload.makes_connections(),
            busy_polls: conditions.busy_poll_us.is_some_and(|us| us > 0),
            moderates: [run.sender, run.receiver].into_iter().any(is_moderated),
            same_cpus: run.shared_cpus && run.sender.pinned_cpus == run.receiver.pinned_cpus,
            given_up: (given_up_s(run) / of_flows).min(1.0),
            bytes: conditions
                .request_size_bytes
                .max(conditions.response_size_bytes),
            rtt_ns: Load::of(run).rtt_us.map(|us| 1e3 * us),
        })
    }

    /// The same with the cost of a wake-up on this host, which is that of another CPU.
    pub fn on(self, host: Option<&HostConstants>) -> Transactions {
        let host = host.filter(|_| !self.same_cpus);
        let wake = host.and_then(|host| host.wake_up);
        Transactions { wake, ..self }
    }

    /// Of the time of a transaction, the share until woken threads run.
    pub fn waking_share(&self) -> Option<f64> {
        Some((self.wakeups? * self.wake?.run_ns / self.each_ns).min(1.0))
    }

    /// Of the time of the CPUs of both endpoints, the share that waking takes.
    pub fn cpu_share(&self) -> Option<f64> {
        let cpus = if self.same_cpus { 1.0 } else { 2.0 };
        let per_transaction_ns = self.wakeups? * self.wake?.call_ns;
        Some((per_transaction_ns * self.flows / self.each_ns / cpus).min(1.0))
    }
}

/// The time that all flows of a run wait for answers that never come, in seconds.
fn given_up_s(run: &RunView) -> f64 {
    let conditions = run.conditions;
    if !conditions.workload.makes_connections() {
        let unanswered = run.measured(Role::Sender).unanswered as f64;
        return unanswered * REQUEST_TIMEOUT.as_secs_f64();
    }
    // The counter is of the whole host: a SYN of the run's own was lost where a connection took so long.
    let longest_us = metric("latency_max_us").and_then(|metric| (metric.compute)(run));
    let has_waited = longest_us.is_some_and(|us| us >= 1e6 * SYN_TIMEOUT_S);
    let again = protocols_grown(run.sender, "TcpExt.TCPSynRetrans").filter(|_| has_waited);
    SYN_TIMEOUT_S * again.unwrap_or(0.0)
}
