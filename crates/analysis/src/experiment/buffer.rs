//! The two buffers of a socket, as experiments change them.

use bitcost_model::conditions::Conditions;
use bitcost_model::record::Role;

use crate::explain::Load;

/// A buffer of a socket.
pub(super) struct Buffer {
    pub end: Role,
    pub label: &'static str,
    /// The setting of its size.
    pub setting: &'static str,
    /// The socket option of its size.
    pub option: &'static str,
    /// The sysctl of its least, first and greatest size with TCP's autotuning.
    pub tuned: &'static str,
    /// The sysctl of the greatest size that a program may request.
    pub most: &'static str,
    /// Its first size where autotuning allows it, in bytes (kernel doc: networking/ip-sysctl).
    pub start_bytes: f64,
    pub requested: fn(&Conditions) -> Option<u32>,
    /// Its size as a run requests it, or as it was tuned, in bytes.
    pub has_bytes: fn(&Load) -> Option<f64>,
}

pub(super) static RECEIVE: Buffer = Buffer {
    end: Role::Receiver,
    label: "receive buffer",
    setting: "receive_buffer_bytes",
    option: "SO_RCVBUF",
    tuned: "net.ipv4.tcp_rmem",
    most: "net.core.rmem_max",
    start_bytes: 131_072.0,
    requested: |conditions| conditions.receive_buffer_bytes,
    has_bytes: |load| load.receive_buffer_bytes,
};

pub(super) static SEND: Buffer = Buffer {
    end: Role::Sender,
    label: "send buffer",
    setting: "send_buffer_bytes",
    option: "SO_SNDBUF",
    tuned: "net.ipv4.tcp_wmem",
    most: "net.core.wmem_max",
    start_bytes: 16_384.0,
    requested: |conditions| conditions.send_buffer_bytes,
    has_bytes: |load| load.send_buffer_bytes,
};

impl Buffer {
    /// Whether TCP's autotuning sizes it.
    pub fn is_tuned(&self, conditions: &Conditions) -> bool {
        !conditions.workload.is_datagram() && (self.requested)(conditions).is_none()
    }
}
