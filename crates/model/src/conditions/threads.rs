//! Threads that share flows: the runs that can have them, and the settings that need a thread for
//! each flow.

use super::{Conditions, Impossible, Pacing, Waiting, Workload};
use crate::buffers::Buffers;
use crate::modes::Mode;

impl Conditions {
    /// Threads that make the traffic, at each endpoint.
    pub fn thread_count(&self) -> u32 {
        self.threads.unwrap_or(self.flows).min(self.flows)
    }

    /// True where a thread serves several flows, by readiness and without blocking in a call.
    pub fn shares_threads(&self) -> bool {
        self.thread_count() < self.flows
    }

    /// Checks that the run is possible with its number of threads.
    ///
    /// # Errors
    /// What was found and what is allowed.
    pub(super) fn check_threads(&self) -> Result<(), Impossible> {
        let flows = self.flows;
        if let Some(threads) = self
            .threads
            .filter(|threads| !(1..=flows).contains(threads))
        {
            let found = format!("threads is {threads} with flows {flows}; allowed: 1 to {flows}");
            return Err(Impossible::Values(found));
        }
        if !self.shares_threads() {
            return Ok(());
        }
        if !self.workload.info().shares_threads {
            return Err(refusal(
                self,
                &format!("workload {}", self.workload.name()),
                &Workload::names(|other| other.info().shares_threads),
            ));
        }
        let is_paced = self.is_paced();
        let rows: &[(bool, &str, &str)] = &[
            (self.send_mode != Mode::Plain, "send_mode", "plain"),
            (self.receive_mode != Mode::Plain, "receive_mode", "plain"),
            (self.receiver_delay_us != 0, "receiver_delay_us", "0"),
            (
                self.message_sizes.is_some(),
                "message_size_distribution",
                "none",
            ),
            (
                self.buffers != Buffers::default(),
                "a buffer, payload or work setting",
                "none",
            ),
            (self.latency, "latency", "off"),
            (self.delay_variation, "delay_variation", "off"),
            (self.waiting == Waiting::Spin, "waiting spin", "block"),
            (
                is_paced && self.pacing == Pacing::Sender,
                "pacing sender",
                "kernel",
            ),
            (
                is_paced && self.burst_messages.is_some(),
                "burst_messages",
                "none: the kernel paces",
            ),
        ];
        match rows.iter().find(|(is_set, _, _)| *is_set) {
            Some((_, setting, allowed)) => Err(refusal(self, setting, allowed)),
            None => Ok(()),
        }
    }
}

fn refusal(conditions: &Conditions, setting: &str, allowed: &str) -> Impossible {
    let flows = conditions.flows;
    Impossible::NotFor {
        setting: setting.to_owned(),
        what: format!("{flows} flows over {} threads", conditions.thread_count()),
        allowed: format!("allowed: {allowed}, or threads = {flows}, one for each flow"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table")]
    fn what_needs_a_thread_for_each_flow_is_refused_with_what_is_allowed() {
        let of = |flows, threads| Conditions {
            flows,
            threads: Some(threads),
            ..Conditions::default()
        };
        let shared = of(8, 2);
        for (conditions, wanted) in [
            (of(8, 9), "threads is 9 with flows 8; allowed: 1 to 8"),
            (of(8, 0), "allowed: 1 to 8"),
            (
                Conditions {
                    workload: Workload::TcpCrr,
                    ..shared.clone()
                },
                "allowed: tcp_stream, udp_stream, or threads",
            ),
            (
                Conditions {
                    send_mode: Mode::Splice,
                    ..shared.clone()
                },
                "send_mode is not for 8 flows over 2 threads",
            ),
            (
                Conditions {
                    receive_mode: Mode::Truncate,
                    ..shared.clone()
                },
                "receive_mode is not for",
            ),
            (
                Conditions {
                    latency: true,
                    ..shared.clone()
                },
                "latency is not for",
            ),
            (
                Conditions {
                    receiver_delay_us: 1,
                    ..shared.clone()
                },
                "receiver_delay_us is not for",
            ),
            (
                Conditions {
                    waiting: Waiting::Spin,
                    ..shared.clone()
                },
                "waiting spin is not for",
            ),
            (
                Conditions {
                    rate_bps: Some(1),
                    pacing: Pacing::Sender,
                    ..shared.clone()
                },
                "pacing sender is not for 8 flows over 2 threads; allowed: kernel, or threads = 8",
            ),
        ] {
            let found = conditions
                .check(1500)
                .expect_err("not possible")
                .to_string();
            assert!(found.contains(wanted), "{found}");
        }
        for conditions in [
            shared.clone(),
            of(8, 8),
            of(1, 1),
            Conditions {
                workload: Workload::TcpRr,
                ..of(8, 8)
            },
            Conditions {
                pacing: Pacing::Sender,
                ..shared
            },
        ] {
            assert_eq!(conditions.check(1500), Ok(()));
        }
    }
}
