//! Threads that share flows: what such a run can do, and what needs a thread for each flow.

use crate::buffers::Buffers;
use crate::conditions::{Conditions, Pacing, Waiting, Workload};
use crate::modes::Mode;

/// The workloads whose flows can share threads.
const WORKLOADS: &[Workload] = &[Workload::TcpStream, Workload::UdpStream];

impl Conditions {
    /// Threads that make the traffic, at each end.
    pub fn thread_count(&self) -> u32 {
        self.threads.unwrap_or(self.flows).min(self.flows)
    }

    /// True where a thread serves several flows, by readiness and without waiting in a call.
    pub fn shares_threads(&self) -> bool {
        self.thread_count() < self.flows
    }
}

/// Checks that the run can do with so many threads.
///
/// # Errors
/// A sentence that says what was found and what is allowed.
pub fn check(conditions: &Conditions) -> Result<(), String> {
    let flows = conditions.flows;
    if let Some(threads) = conditions.threads.filter(|threads| !(1..=flows).contains(threads)) {
        return Err(format!("threads is {threads} with flows {flows}; allowed: 1 to {flows}"));
    }
    if !conditions.shares_threads() {
        return Ok(());
    }
    if !WORKLOADS.contains(&conditions.workload) {
        let allowed: Vec<&str> = WORKLOADS.iter().map(|workload| workload.name()).collect();
        return Err(refusal(conditions, &format!("workload {}", conditions.workload.name()), &allowed.join(", ")));
    }
    let is_paced = conditions.asked_messages_per_second().is_some();
    let rows: &[(bool, &str, &str)] = &[
        (conditions.send_mode != Mode::Plain, "send_mode", "plain"),
        (conditions.receive_mode != Mode::Plain, "receive_mode", "plain"),
        (conditions.receiver_delay_us != 0, "receiver_delay_us", "0"),
        (conditions.message_sizes.is_some(), "message_size_distribution", "none"),
        (conditions.buffers != Buffers::default(), "a buffer or payload setting", "none"),
        (conditions.latency, "latency", "off"),
        (conditions.delay_variation, "delay_variation", "off"),
        (conditions.waiting == Waiting::Spin, "waiting spin", "block"),
        (is_paced && conditions.pacing == Pacing::Sender, "pacing sender", "kernel"),
        (is_paced && conditions.burst_messages.is_some(), "burst_messages", "none: the kernel paces"),
    ];
    match rows.iter().find(|(is_set, _, _)| *is_set) {
        Some((_, setting, allowed)) => Err(refusal(conditions, setting, allowed)),
        None => Ok(()),
    }
}

fn refusal(conditions: &Conditions, setting: &str, allowed: &str) -> String {
    let flows = conditions.flows;
    format!(
        "{setting} is not for {flows} flows over {} threads; allowed: {allowed}, or threads = {flows}, one for each flow",
        conditions.thread_count()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_a_thread_for_each_flow_is_refused_with_what_is_allowed() {
        let of = |flows, threads| Conditions { flows, threads: Some(threads), ..Conditions::default() };
        let shared = of(8, 2);
        for (conditions, wanted) in [
            (of(8, 9), "threads is 9 with flows 8; allowed: 1 to 8"),
            (of(8, 0), "allowed: 1 to 8"),
            (
                Conditions { workload: Workload::TcpCrr, ..shared.clone() },
                "allowed: tcp_stream, udp_stream, or threads",
            ),
            (Conditions { send_mode: Mode::Splice, ..shared.clone() }, "send_mode is not for 8 flows over 2 threads"),
            (Conditions { receive_mode: Mode::Truncate, ..shared.clone() }, "receive_mode is not for"),
            (Conditions { latency: true, ..shared.clone() }, "latency is not for"),
            (Conditions { receiver_delay_us: 1, ..shared.clone() }, "receiver_delay_us is not for"),
            (Conditions { waiting: Waiting::Spin, ..shared.clone() }, "waiting spin is not for"),
            (
                Conditions { rate_bps: Some(1), pacing: Pacing::Sender, ..shared.clone() },
                "pacing sender is not for 8 flows over 2 threads; allowed: kernel, or threads = 8",
            ),
        ] {
            let found = conditions.check(1500).expect_err("not possible");
            assert!(found.contains(wanted), "{found}");
        }
        for conditions in [
            shared.clone(),
            of(8, 8),
            of(1, 1),
            Conditions { workload: Workload::TcpRr, ..of(8, 8) },
            Conditions { pacing: Pacing::Sender, ..shared },
        ] {
            assert_eq!(conditions.check(1500), Ok(()));
        }
    }
}
