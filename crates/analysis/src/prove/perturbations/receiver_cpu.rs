//! The receiver's CPU time: it works longer on each message or request.

use bitcost_model::record::Role;

use crate::prove::perturbation::{Perturbation, Told, cpu_left, is_quota_of, limiter, more_work};

/// The row.
pub static ROW: Perturbation = Perturbation {
    name: "receiver_cpu",
    resource: "CPU time for the receiver",
    told: Told::Less,
    is_of: |limiter| {
        ["receiver_cpu", "udp_receive_buffer"].contains(&limiter.name())
            || is_quota_of(limiter, Role::Receiver)
    },
    finds: |_| limiter("receiver_cpu", ""),
    settings: |before| {
        let workload = before.conditions.workload;
        if workload.is_transactional() && !workload.has_requests() {
            return Err("a server of connections cannot be given work".to_owned());
        }
        Ok(vec![(
            "receive_work_ns",
            more_work(before, Role::Receiver)?,
        )])
    },
    left: |before, after| {
        let own = before.conditions.buffers.receive_work_ns;
        let added = after.conditions.buffers.receive_work_ns.checked_sub(own)?;
        cpu_left(before, added, Role::Receiver)
    },
};
