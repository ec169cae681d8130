//! What the programs call: size and number of messages, modes, flows, and how a receiver waits.

use bitcost_model::conditions::{ReceiveSize, Waiting};
use bitcost_model::modes::{MODES, Mode};
use bitcost_model::record::Role;

use crate::improve::intervention::{CPU, Candidate, Intervention, Offer, Trial};

/// Larger messages, as multiples, up to a size in bytes.
const LARGER: [u32; 2] = [4, 16];
const LARGEST_BYTES: u32 = 1 << 20;

/// Headers of a datagram, in bytes (RFC 768, RFC 8200).
const DATAGRAM_HEADERS: u32 = 48;

/// Size of a receive call that takes many messages, in bytes.
const RECEIVE_BYTES: u32 = 256 << 10;

/// Larger messages.
pub static MESSAGES: Intervention = Intervention {
    name: "message_size",
    of: CPU,
    offers: messages,
};

/// Messages that wait in the sender's socket until a packet is full, or until its queue is short.
pub static GATHER: Intervention = Intervention {
    name: "gather",
    of: &[
        "sender_cpu",
        "receiver_cpu",
        "packets_per_second",
        "wake_ups",
    ],
    offers: |trial| {
        let conditions = &trial.test.conditions;
        let is_possible = conditions.workload.is_byte_stream();
        let cork = || {
            let keep = "setsockopt(TCP_CORK, 1), or MSG_MORE in each send call but the last";
            Ok(Candidate::of_program(
                "only full segments",
                &[("cork", "true")],
                keep,
            ))
        };
        let unsent = || {
            Ok(Candidate::of_program(
                "at most 16 KiB unsent",
                &[("notsent_low_water_bytes", "16384")],
                "setsockopt(TCP_NOTSENT_LOWAT, 16384)",
            ))
        };
        let cork = (is_possible && !conditions.cork).then(cork);
        let has_mark = conditions.notsent_low_water_bytes.is_some();
        let unsent = (is_possible && !has_mark).then(unsent);
        cork.into_iter().chain(unsent).collect()
    },
};

/// How the sender hands messages to the kernel.
pub static SEND_MODES: Intervention = Intervention {
    name: "send_mode",
    of: &["sender_cpu", "packets_per_second", "wake_ups"],
    offers: |trial| modes(trial, Role::Sender, trial.test.conditions.send_mode),
};

/// How the receiver takes messages from the kernel.
pub static RECEIVE_MODES: Intervention = Intervention {
    name: "receive_mode",
    of: &[
        "receiver_cpu",
        "packets_per_second",
        "wake_ups",
        "cpu_quota",
        "slow_reader",
    ],
    offers: |trial| modes(trial, Role::Receiver, trial.test.conditions.receive_mode),
};

/// Receive calls that take more.
pub static RECEIVE_CALLS: Intervention = Intervention {
    name: "receive_size",
    of: &["receiver_cpu", "wake_ups", "slow_reader", "cpu_quota"],
    offers: |trial| {
        let conditions = &trial.test.conditions;
        let is_possible = conditions.workload.is_byte_stream()
            && conditions.message_size_bytes < RECEIVE_BYTES
            && conditions.receive_size_bytes == ReceiveSize::Message;
        let auto = || {
            Ok(Candidate::of_program(
                "receive calls of 256 KiB with a low-water mark",
                &[("receive_size_bytes", "auto")],
                "recv() of 256 KiB, setsockopt(SO_RCVLOWAT) to what arrives in 1 ms",
            ))
        };
        is_possible.then(auto).into_iter().collect()
    },
};

/// More flows.
pub static FLOWS: Intervention = Intervention {
    name: "flows",
    of: &[
        "sender_cpu",
        "receiver_cpu",
        "receive_buffer",
        "send_buffer",
        "congestion_window_clamp",
        "congestion_window_loss",
        "queue_overflow",
        "path_loss",
        "latency",
    ],
    offers: |trial| {
        let flows = trial.test.conditions.flows;
        let more = [2, 4].map(|times| flows.saturating_mul(times).to_string());
        more.iter()
            .map(|count| {
                let label = format!("{count} flows");
                let keep = format!("{count} connections at the same time");
                Ok(Candidate::of_program(label, &[("flows", count)], keep))
            })
            .collect()
    },
};

/// Polling instead of wake-ups.
pub static WAITING: Intervention = Intervention {
    name: "waiting",
    of: &["wake_ups", "latency", "receiver_cpu"],
    offers: |trial| {
        let conditions = &trial.test.conditions;
        let spin = || {
            let keep = "poll the socket with MSG_DONTWAIT";
            Ok(Candidate::of_program(
                "receivers poll",
                &[("waiting", "spin")],
                keep,
            ))
        };
        let busy = || {
            let keep = "setsockopt(SO_BUSY_POLL, 50)";
            Ok(Candidate::of_program(
                "busy polling 50 µs",
                &[("busy_poll_us", "50")],
                keep,
            ))
        };
        let is_blocking = conditions.waiting == Waiting::Block;
        let spin = is_blocking.then(spin);
        let busy = conditions.busy_poll_us.is_none().then(busy);
        spin.into_iter().chain(busy).collect()
    },
};

fn messages(trial: &Trial) -> Vec<Offer> {
    let conditions = &trial.test.conditions;
    let has = conditions.message_size_bytes;
    if conditions.workload.is_transactional() {
        return Vec::new();
    }
    let most = match conditions.workload.is_datagram() {
        true => {
            let mtu = trial.host(Role::Sender).device.mtu_bytes;
            mtu.saturating_sub(DATAGRAM_HEADERS)
        }
        false => LARGEST_BYTES,
    };
    let sizes = LARGER.map(|times| has.saturating_mul(times).min(most));
    let mut offers: Vec<Offer> = Vec::new();
    for bytes in sizes.into_iter().filter(|bytes| *bytes > has) {
        let label = format!("messages of {bytes} bytes");
        let typed = bytes.to_string();
        let keep = format!("{bytes} bytes in a send call");
        let candidate = Candidate::of_program(label, &[("message_size_bytes", &typed)], keep);
        if !offers.contains(&Ok(candidate.clone())) {
            offers.push(Ok(candidate));
        }
    }
    offers
}

/// Every other mode of an endpoint in which the program still has the data.
fn modes(trial: &Trial, end: Role, own: Mode) -> Vec<Offer> {
    let workload = trial.test.conditions.workload;
    // These throw the data away.
    let is_use =
        |mode: Mode| end == Role::Sender || ![Mode::Truncate, Mode::Splice].contains(&mode);
    let setting = match end {
        Role::Sender => "send_mode",
        Role::Receiver => "receive_mode",
    };
    MODES
        .iter()
        .filter(|row| row.end == end && row.is_of(workload) && row.mode != own && is_use(row.mode))
        .map(|row| {
            Ok(Candidate::of_program(
                format!("{} {}", setting.replace('_', " "), row.name),
                &[(setting, row.name)],
                format!("{} at the {}", row.about, end.name()),
            ))
        })
        .collect()
}
