//! Buffers of sockets: those that hold the path back, and smaller ones that fill packets.

use bitcost_model::conditions::Conditions;
use bitcost_model::record::Role;

use super::base::Base;
use super::change::{How, Offer, cannot, host, program, refused};
use crate::explain::Load;

/// Larger buffers, as multiples of what fills the path.
const TIMES: [f64; 3] = [2.0, 4.0, 8.0];

/// The largest buffer that is tried, in bytes.
const MOST_BYTES: f64 = (1_u32 << 30) as f64;

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

pub(super) fn larger_receive(base: &Base) -> Vec<Offer> {
    let load = &base.load;
    larger(
        base,
        &RECEIVE,
        load.window_bytes.or(load.receive_buffer_bytes),
    )
}

pub(super) fn larger_send(base: &Base) -> Vec<Offer> {
    larger(base, &SEND, base.load.send_buffer_bytes)
}

/// `512 KiB`, `16 MiB`: whole numbers of the largest unit.
fn size(bytes: u64) -> String {
    match bytes {
        0..0x10_0000 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

/// A size of at least this many bytes that is a whole number of KiB, or of MiB where it is large.
fn rounded(bytes: f64) -> u64 {
    let unit: u64 = if bytes < f64::from(1 << 20) {
        1 << 10
    } else {
        1 << 20
    };
    (bytes as u64).div_ceil(unit) * unit
}

/// Sizes that fill the path several times; `has_bytes` is what the run had.
fn larger(base: &Base, buffer: &Buffer, has_bytes: Option<f64>) -> Vec<Offer> {
    let conditions = &base.conditions;
    let known = base.bdp_bytes().into_iter().chain(has_bytes);
    let Some(fills) = known.reduce(f64::max) else {
        let label = format!("a larger {}", buffer.label);
        let reason = "the bandwidth-delay product of the path is not known";
        return vec![refused(label, reason)];
    };
    let is_tuned = buffer.is_tuned(conditions);
    let mut offers = Vec::new();
    if !is_tuned && !conditions.workload.is_datagram() {
        let label = format!("{} of the kernel's autotuning", buffer.label);
        let keep = format!("do not set {}", buffer.option);
        offers.push(Ok(How {
            removes: Some(buffer.setting),
            ..program(label, &[(buffer.setting, "auto")], keep)
        }));
    }
    let at = |end, name| -> Option<u64> {
        let text = base.sysctl(end, name)?;
        text.split_whitespace().last()?.parse().ok()
    };
    let most = |name| at(buffer.end, name);
    // What one setting makes of both buffers at both hosts lowers none of them.
    let both = Role::ALL.map(|end| [&RECEIVE, &SEND].map(|one| at(end, one.tuned)));
    let least = both.concat().into_iter().flatten().max().unwrap_or(0);
    let [tuned, most] = [buffer.tuned, buffer.most].map(most);
    for bytes in TIMES.map(|times| rounded((fills * times).min(MOST_BYTES))) {
        let is_over = |most: Option<u64>| most.is_some_and(|most| bytes > most);
        let typed = bytes.to_string();
        // Autotuning may stay below what it may reach.
        if !is_tuned || !(is_over(tuned) || is_over(most)) {
            let label = format!("{} {}", buffer.label, size(bytes));
            let keep = format!("setsockopt({}, {bytes})", buffer.option);
            let command = base.at(buffer.end, &format!("sysctl -w {}={bytes}", buffer.most));
            offers.push(match is_over(most) {
                true => cannot(
                    host(label, &[], command),
                    format!("{} allows less", buffer.most),
                ),
                false => Ok(program(label, &[(buffer.setting, &typed)], keep)),
            });
        } else if is_over(tuned) {
            let bytes = bytes.max(least);
            let typed = bytes.to_string();
            let sysctl = buffer.tuned.rsplit('.').next().unwrap_or(buffer.tuned);
            let label = format!("{sysctl} max {}", size(bytes));
            let [receive, send] = [&RECEIVE, &SEND]
                .map(|one| format!("{}=\"4096 {} {bytes}\"", one.tuned, one.start_bytes));
            let command = base.at_both(&format!("sysctl -w {receive} {send}"));
            offers.push(Ok(host(label, &[("tcp_buffers", &typed)], command)));
        }
    }
    offers.dedup();
    offers
}
