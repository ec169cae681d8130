//! The sender's CPU time: it works longer on each message.

use bitcost_model::record::Role;

use crate::prove::perturbation::{Perturbation, Told, cpu_left, is_quota_of, limiter, more_work};

/// The row.
pub static ROW: Perturbation = Perturbation {
    name: "sender_cpu",
    resource: "CPU time for the sender",
    told: Told::Less,
    is_of: |limiter| {
        ["sender_cpu", "packets_per_second"].contains(&limiter.name())
            || is_quota_of(limiter, Role::Sender)
    },
    finds: |_| limiter("sender_cpu", ""),
    settings: |before| {
        if before.conditions.workload.is_transactional() {
            return Err("a client of transactions cannot be given work".to_owned());
        }
        Ok(vec![("send_work_ns", more_work(before, Role::Sender)?)])
    },
    left: |before, after| {
        let own = before.conditions.buffers.send_work_ns;
        let added = after.conditions.buffers.send_work_ns.checked_sub(own)?;
        cpu_left(before, added, Role::Sender)
    },
};
