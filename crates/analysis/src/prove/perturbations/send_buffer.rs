//! The send buffer.

use bitcost_model::record::Role;

use crate::prove::perturbation::{LEFT, Perturbation, Told, less, limiter, ratio};

/// The send buffer with which TCP starts where autotuning allows it, in bytes
/// (`net.ipv4.tcp_wmem`; kernel doc: networking/ip-sysctl).
const START: f64 = 16_384.0;

/// The row.
pub static ROW: Perturbation = Perturbation {
    name: "send_buffer",
    resource: "send buffer",
    told: Told::Less,
    is_of: |limiter| limiter.name() == "send_buffer",
    finds: |_| limiter("send_buffer", ""),
    settings: |before| {
        let conditions = before.conditions;
        if conditions.workload.is_transactional() {
            return Err("transactions need little of it".to_owned());
        }
        let has = before
            .load
            .send_buffer_bytes
            .ok_or("its size is not known")?;
        let is_tuned = !conditions.workload.is_datagram()
            && conditions.send_buffer_bytes.is_none()
            && conditions.tcp_buffers.is_none();
        if !is_tuned {
            return Ok(vec![("send_buffer_bytes", less(has))]);
        }
        let most = 2.0 * has * LEFT;
        let host = conditions.direction.role_of(Role::Sender).name();
        let tuned = format!(
            "{host}: net.ipv4.tcp_wmem=4096 {:.0} {most:.0}",
            most.min(START)
        );
        Ok(vec![("sysctl", tuned)])
    },
    left: |before, after| ratio(before, after, |load| load.send_buffer_bytes),
};
