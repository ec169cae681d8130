//! The send buffer.

use bitcost_model::record::Role;

use crate::prove::perturbation::{Buffer, Perturbation, Told, limiter, ratio, smaller_buffer};

/// Its settings; TCP starts with 16 384 bytes where autotuning allows it.
const BUFFER: Buffer = Buffer {
    end: Role::Sender,
    setting: "send_buffer_bytes",
    sysctl: "net.ipv4.tcp_wmem",
    start_bytes: 16_384.0,
};

/// The row.
pub static ROW: Perturbation = Perturbation {
    name: "send_buffer",
    resource: "send buffer",
    told: Told::Less,
    is_of: |limiter| limiter.name() == "send_buffer",
    finds: |_| limiter("send_buffer", ""),
    settings: |before| {
        let has = before.load.send_buffer_bytes;
        let requested = before.conditions.send_buffer_bytes.is_some();
        smaller_buffer(before, has, requested, &BUFFER)
    },
    left: |before, after| ratio(before, after, |load| load.send_buffer_bytes),
};
