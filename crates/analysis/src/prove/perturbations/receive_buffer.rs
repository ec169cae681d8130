//! The receive buffer, and with TCP the window that it announces.

use bitcost_model::record::Role;

use crate::prove::perturbation::{Buffer, Perturbation, Told, limiter, ratio, smaller_buffer};

/// Its settings; TCP starts with 131 072 bytes where autotuning allows it.
const BUFFER: Buffer = Buffer {
    end: Role::Receiver,
    setting: "receive_buffer_bytes",
    sysctl: "net.ipv4.tcp_rmem",
    start_bytes: 131_072.0,
};

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
        let has = before.load.receive_buffer_bytes;
        let requested = before.conditions.receive_buffer_bytes.is_some();
        smaller_buffer(before, has, requested, &BUFFER)
    },
    left: |before, after| match before.conditions.workload.is_datagram() {
        true => ratio(before, after, |load| load.receive_buffer_bytes),
        false => ratio(before, after, |load| load.window_bytes),
    },
};
