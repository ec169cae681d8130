//! Buffers of sockets: those that hold the path back, and smaller ones that fill packets.

use bitcost_model::record::Role;

use crate::improve::intervention::{CPU, Candidate, Intervention, Offer, Trial};
use crate::ladder::NotTried;

/// Larger buffers, as multiples of what fills the path.
const TIMES: [f64; 3] = [2.0, 4.0, 8.0];

/// The largest buffer that is tried, in bytes.
const MOST_BYTES: f64 = (1_u32 << 30) as f64;

/// Receive buffers that hold back a sender on a short path, in KiB: messages then gather in full packets.
const SMALL_KIB: [u32; 3] = [32, 48, 64];

/// The receive buffer.
pub static RECEIVE: Intervention = Intervention {
    name: "receive_buffer",
    of: &["receive_buffer", "udp_receive_buffer", "slow_reader"],
    offers: |trial| {
        let load = &trial.test.load;
        larger(
            trial,
            &Buffer {
                end: Role::Receiver,
                words: "receive buffer",
                setting: "receive_buffer_bytes",
                option: "SO_RCVBUF",
                tuned: "net.ipv4.tcp_rmem",
                most: "net.core.rmem_max",
                requested: trial.test.conditions.receive_buffer_bytes,
                has_bytes: load.window_bytes.or(load.receive_buffer_bytes),
            },
        )
    },
};

/// The send buffer.
pub static SEND: Intervention = Intervention {
    name: "send_buffer",
    of: &["send_buffer"],
    offers: |trial| {
        larger(
            trial,
            &Buffer {
                end: Role::Sender,
                words: "send buffer",
                setting: "send_buffer_bytes",
                option: "SO_SNDBUF",
                tuned: "net.ipv4.tcp_wmem",
                most: "net.core.wmem_max",
                requested: trial.test.conditions.send_buffer_bytes,
                has_bytes: trial.test.load.send_buffer_bytes,
            },
        )
    },
};

/// Receive buffers that are smaller than what the sender would fill.
pub static SMALL: Intervention = Intervention {
    name: "small_receive_buffer",
    of: CPU,
    offers: small,
};

struct Buffer {
    end: Role,
    words: &'static str,
    setting: &'static str,
    option: &'static str,
    tuned: &'static str,
    most: &'static str,
    requested: Option<u32>,
    has_bytes: Option<f64>,
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

fn larger(trial: &Trial, buffer: &Buffer) -> Vec<Offer> {
    let conditions = &trial.test.conditions;
    let known = trial.bdp_bytes().into_iter().chain(buffer.has_bytes);
    let Some(base) = known.reduce(f64::max) else {
        return vec![Err(NotTried {
            what: format!("a larger {}", buffer.words),
            reason: "the bandwidth-delay product of the path is not known".to_owned(),
            command: None,
        })];
    };
    let sizes = TIMES.map(|times| rounded((base * times).min(MOST_BYTES)));
    let mut offers = Vec::new();
    if buffer.requested.is_some() && !conditions.workload.is_datagram() {
        let label = format!("{} of the kernel's autotuning", buffer.words);
        let keep = format!("do not set {}", buffer.option);
        offers.push(Ok(Candidate::of_program(
            label,
            &[(buffer.setting, "auto")],
            keep,
        )));
    }
    let is_tuned = !conditions.workload.is_datagram() && buffer.requested.is_none();
    let most = match is_tuned {
        true => trial.sysctl(buffer.end, buffer.tuned),
        false => trial.sysctl(buffer.end, buffer.most),
    };
    let most: Option<u64> = most.and_then(|text| text.split_whitespace().last()?.parse().ok());
    let not_more = |bytes: u64| most.is_some_and(|most| bytes > most);
    for bytes in sizes {
        let typed = bytes.to_string();
        let label = format!("{} {}", buffer.words, size(bytes));
        let keep = format!("setsockopt({}, {bytes})", buffer.option);
        let fixed = Candidate::of_program(label, &[(buffer.setting, &typed)], keep);
        if !is_tuned {
            offers.push(match not_more(bytes) {
                true => Err(NotTried {
                    command: Some(format!("sysctl -w {}={bytes}", buffer.most)),
                    ..fixed.untried(format!("{} allows less", buffer.most))
                }),
                false => Ok(fixed),
            });
        } else if not_more(bytes) {
            let label = format!("{} max {}", short(buffer.tuned), size(bytes));
            let command = format!(
                "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 {bytes}\" net.ipv4.tcp_wmem=\"4096 16384 {bytes}\" (at both hosts)"
            );
            offers.push(Ok(Candidate::of_host(
                label,
                &[("tcp_buffers", &typed)],
                command,
            )));
        }
    }
    offers
}

/// `tcp_rmem` of `net.ipv4.tcp_rmem`.
fn short(sysctl: &str) -> &str {
    sysctl.rsplit('.').next().unwrap_or(sysctl)
}

fn small(trial: &Trial) -> Vec<Offer> {
    let conditions = &trial.test.conditions;
    if !conditions.workload.is_byte_stream() {
        return Vec::new();
    }
    let path = trial.test.load.rtt_us.zip(trial.test.load.delivered_bps);
    let in_flight = path.map(|(rtt_us, bps)| rtt_us / 1e6 * bps / 8.0);
    let sizes = SMALL_KIB.into_iter().filter(|kib| {
        let is_other = conditions.receive_buffer_bytes != Some(kib << 10);
        is_other && in_flight.is_some_and(|bytes| bytes < f64::from(kib << 10))
    });
    sizes
        .map(|kib| {
            let bytes = (kib << 10).to_string();
            Ok(Candidate::of_program(
                format!("receive buffer {kib} KiB"),
                &[("receive_buffer_bytes", &bytes)],
                format!("setsockopt(SO_RCVBUF, {bytes}) at the receiver"),
            ))
        })
        .collect()
}
