//! The cost of the plain loops without the kernel: the same code with
//! [`crate::syscalls::NullSocket`] instead of a socket.
//!
//! There is no system call at all, not even a cheap one: entering the kernel is part of the
//! kernel's cost, and the cost of a cheap call would have to be measured and subtracted.

use std::time::{Duration, Instant};

use bitcost_model::buffers::Buffers;
use bitcost_model::conditions::Conditions;
use bitcost_model::modes::Mode;
use bitcost_model::record::{Role, SelfCost};
use bitcost_sys::clock::monotonic_ns;

use crate::control::{Control, Phase};
use crate::workload::WorkloadRow;

/// Messages of one batch: some hundred microseconds, so that a batch fits between the interruptions
/// of a busy host.
const MESSAGES: u64 = 10_000;

/// The largest message that is measured. Larger ones cost the loop no more: it does not touch their
/// data.
const SIZE_MAX: u32 = 4096;

/// Measures batches for about `length` and returns the fastest: a disturbance only makes a batch
/// longer. Absent for fast modes and for workloads that make connections.
pub fn measure(
    row: &WorkloadRow,
    conditions: &Conditions,
    role: Role,
    length: Duration,
) -> Option<SelfCost> {
    let mode = match role {
        Role::Sender => conditions.send_mode,
        Role::Receiver => conditions.receive_mode,
    };
    if mode != Mode::Plain {
        return None;
    }
    let conditions = Conditions {
        message_size_bytes: conditions.message_size_bytes.min(SIZE_MAX),
        request_size_bytes: conditions.request_size_bytes.min(SIZE_MAX),
        response_size_bytes: conditions.response_size_bytes.min(SIZE_MAX),
        stop_bytes: None,
        stop_messages: Some(MESSAGES),
        stop_transactions: None,
        // The loop is the same for every length. Writing a message and working on it are costs of the
        // payload.
        buffers: Buffers {
            dirty: false,
            send_work_ns: 0,
            receive_work_ns: 0,
            ..conditions.buffers
        },
        transaction_rate: None,
        ..conditions.clone()
    };
    let deadline = Instant::now() + length;
    let mut best: Option<SelfCost> = None;
    loop {
        let run = (row.without_kernel)(&conditions, role, MESSAGES)?;
        let control = Control::default();
        control.enter(Phase::Measured);
        control.expect_messages(MESSAGES);
        let begin_ns = monotonic_ns();
        run(&control);
        let elapsed_ns = monotonic_ns() - begin_ns;
        let counts = control.counts().measured;
        let messages = if counts.messages == 0 {
            counts.calls
        } else {
            counts.messages
        };
        if best.is_none_or(|best| elapsed_ns * best.messages < best.elapsed_ns * messages) {
            best = Some(SelfCost {
                messages,
                elapsed_ns,
            });
        }
        if Instant::now() >= deadline {
            return best.filter(|best| best.messages > 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use bitcost_model::conditions::Workload;

    use super::*;
    use crate::self_cost;

    #[test]
    fn self_cost_counts_every_message() {
        for workload in [
            Workload::TcpStream,
            Workload::UdpStream,
            Workload::TcpRr,
            Workload::UdpRr,
        ] {
            for (role, size) in [
                (Role::Sender, 1),
                (Role::Sender, 64),
                (Role::Receiver, 1),
                (Role::Receiver, 64),
            ] {
                let conditions = Conditions {
                    workload,
                    message_size_bytes: size,
                    request_size_bytes: size,
                    response_size_bytes: size,
                    ..Conditions::default()
                };
                let cost = self_cost(&conditions, role, Duration::ZERO).expect("a plain loop");
                assert!(
                    cost.messages == MESSAGES && cost.elapsed_ns > 0,
                    "{workload:?} {role:?} {size}: {cost:?}"
                );
            }
        }
    }

    #[test]
    fn self_cost_absent_without_a_plain_loop() {
        let fast = Conditions {
            send_mode: Mode::Writev,
            ..Conditions::default()
        };
        assert_eq!(self_cost(&fast, Role::Sender, Duration::ZERO), None);
        assert!(self_cost(&fast, Role::Receiver, Duration::ZERO).is_some());
        let connections = Conditions {
            workload: Workload::TcpCrr,
            ..Conditions::default()
        };
        assert_eq!(self_cost(&connections, Role::Sender, Duration::ZERO), None);
    }
}
