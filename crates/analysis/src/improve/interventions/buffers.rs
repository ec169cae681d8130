//! Buffers of sockets: those that hold the path back, and smaller ones that fill packets.

use crate::buffer::{Buffer, RECEIVE, SEND};
use crate::improve::intervention::{Offer, Trial, host, program};
use crate::ladder::NotTried;

/// Larger buffers, as multiples of what fills the path.
const TIMES: [f64; 3] = [2.0, 4.0, 8.0];

/// The largest buffer that is tried, in bytes.
const MOST_BYTES: f64 = (1_u32 << 30) as f64;

/// Receive buffers that hold back a sender on a short path, in KiB: messages then gather in full packets.
const SMALL_KIB: [u32; 3] = [32, 48, 64];

pub(super) fn larger_receive(trial: &Trial) -> Vec<Offer> {
    let load = &trial.test.load;
    larger(
        trial,
        &RECEIVE,
        load.window_bytes.or(load.receive_buffer_bytes),
    )
}

pub(super) fn larger_send(trial: &Trial) -> Vec<Offer> {
    larger(trial, &SEND, trial.test.load.send_buffer_bytes)
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
fn larger(trial: &Trial, buffer: &Buffer, has_bytes: Option<f64>) -> Vec<Offer> {
    let conditions = &trial.test.conditions;
    let known = trial.bdp_bytes().into_iter().chain(has_bytes);
    let Some(base) = known.reduce(f64::max) else {
        return vec![Err(NotTried {
            what: format!("a larger {}", buffer.label),
            reason: "the bandwidth-delay product of the path is not known".to_owned(),
            command: None,
        })];
    };
    let is_tuned = buffer.is_tuned(conditions);
    let mut offers = Vec::new();
    if !is_tuned && !conditions.workload.is_datagram() {
        let label = format!("{} of the kernel's autotuning", buffer.label);
        let keep = format!("do not set {}", buffer.option);
        offers.push(program(label, &[(buffer.setting, "auto")], keep));
    }
    let most = match is_tuned {
        true => trial.sysctl(buffer.end, buffer.tuned),
        false => trial.sysctl(buffer.end, buffer.most),
    };
    let most: Option<u64> = most.and_then(|text| text.split_whitespace().last()?.parse().ok());
    for bytes in TIMES.map(|times| rounded((base * times).min(MOST_BYTES))) {
        let is_over = most.is_some_and(|most| bytes > most);
        let typed = bytes.to_string();
        if !is_tuned {
            let label = format!("{} {}", buffer.label, size(bytes));
            let keep = format!("setsockopt({}, {bytes})", buffer.option);
            let fixed = program(label, &[(buffer.setting, &typed)], keep);
            offers.push(fixed.and_then(|fixed| match is_over {
                true => Err(NotTried {
                    command: Some(format!("sysctl -w {}={bytes}", buffer.most)),
                    ..fixed.untried(format!("{} allows less", buffer.most))
                }),
                false => Ok(fixed),
            }));
        } else if is_over {
            let sysctl = buffer.tuned.rsplit('.').next().unwrap_or(buffer.tuned);
            let label = format!("{sysctl} max {}", size(bytes));
            let [receive, send] = [&RECEIVE, &SEND]
                .map(|one| format!("{}=\"4096 {} {bytes}\"", one.tuned, one.start_bytes));
            let command = format!("sysctl -w {receive} {send} (at both hosts)");
            offers.push(Ok(host(label, &[("tcp_buffers", &typed)], command)));
        }
    }
    offers
}

/// Receive buffers that are smaller than what the sender would fill.
pub(super) fn smaller_receive(trial: &Trial) -> Vec<Offer> {
    let conditions = &trial.test.conditions;
    let in_flight = trial.test.load.in_flight_bytes();
    let in_flight = in_flight.filter(|_| conditions.workload.is_byte_stream());
    let sizes = SMALL_KIB.into_iter().filter(|kib| {
        let is_other = conditions.receive_buffer_bytes != Some(kib << 10);
        is_other && in_flight.is_some_and(|bytes| bytes < f64::from(kib << 10))
    });
    let offer = |kib: u32| {
        let bytes = (kib << 10).to_string();
        let keep = format!("setsockopt(SO_RCVBUF, {bytes}) at the receiver");
        let label = format!("receive buffer {kib} KiB");
        program(label, &[("receive_buffer_bytes", &bytes)], keep)
    };
    sizes.map(offer).collect()
}
