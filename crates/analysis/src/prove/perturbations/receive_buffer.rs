//! The receive buffer, and with TCP the window that it announces.

use bitcost_model::record::Role;

use crate::prove::perturbation::{LEFT, Perturbation, Told, less, limiter, ratio};

/// The receive buffer with which TCP starts where autotuning allows it, in bytes
/// (`net.ipv4.tcp_rmem`; kernel doc: networking/ip-sysctl).
const START: f64 = 131_072.0;

/// The row.
pub static ROW: Perturbation = Perturbation {
    name: "receive_buffer",
    resource: "receive buffer",
    told: Told::Less,
    is_of: |limiter| ["receive_buffer", "udp_receive_buffer"].contains(&limiter.name()),
    finds: |conditions| match conditions.workload.is_datagram() {
        true => limiter("udp_receive_buffer", ""),
        false => limiter("receive_buffer", ""),
    },
    settings: |before| {
        let conditions = before.conditions;
        if conditions.workload.is_transactional() {
            return Err("transactions need little of it".to_owned());
        }
        let has = before
            .load
            .receive_buffer_bytes
            .ok_or("its size is not known")?;
        let is_tuned = !conditions.workload.is_datagram()
            && conditions.receive_buffer_bytes.is_none()
            && conditions.tcp_buffers.is_none();
        if !is_tuned {
            return Ok(vec![("receive_buffer_bytes", less(has))]);
        }
        let most = 2.0 * has * LEFT;
        let host = conditions.direction.role_of(Role::Receiver).name();
        let tuned = format!(
            "{host}: net.ipv4.tcp_rmem=4096 {:.0} {most:.0}",
            most.min(START)
        );
        Ok(vec![("sysctl", tuned)])
    },
    left: |before, after| match before.conditions.workload.is_datagram() {
        true => ratio(before, after, |load| load.receive_buffer_bytes),
        false => ratio(before, after, |load| load.window_bytes),
    },
};
