//! The table of perturbations.

use bitcost_model::conditions::{Conditions, Direction, Waiting};
use bitcost_model::host_settings::{RPS_CPUS, THREADED_NAPI};
use bitcost_model::modes::Mode;
use bitcost_model::record::Role;

use super::perturbation::{
    Before, LEFT, Perturbation, Settings, Told, cpu_left, less, limiter, more_work, ratio,
    smaller_buffer,
};
use crate::buffer::{RECEIVE, SEND};
use crate::explain::ON_THE_PATH;

/// Every perturbation.
pub static PERTURBATIONS: [&Perturbation; 15] = [
    &SENDER_CPU,
    &RECEIVER_CPU,
    &PATH_RATE,
    &RECEIVE_BUFFER,
    &SEND_BUFFER,
    &LOSS,
    &ROUND_TRIP,
    &SEGMENTS,
    &WAKE_UPS,
    &MESSAGE_RATE,
    &SMALL_RECEIVE_BUFFER,
    &LOW_WATER,
    &BATCHES,
    &THREADS,
    &STEERING,
];

/// What most rows have.
const ROW: Perturbation = Perturbation {
    name: "",
    resource: "",
    told: Told::Less,
    of: &[],
    of_quota: None,
    finds: |_| None,
    settings: |_| Ok(Vec::new()),
    left: |_, _| None,
};

/// The sender's CPU time: it works longer on each message.
pub static SENDER_CPU: Perturbation = Perturbation {
    name: "sender_cpu",
    resource: "CPU time for the sender",
    of: &["sender_cpu", "packets_per_second"],
    of_quota: Some(Role::Sender),
    finds: |_| limiter("sender_cpu", ""),
    settings: |before| {
        if before.conditions.workload.is_transactional() {
            return Err("a client of transactions cannot be given work".to_owned());
        }
        Ok(vec![("send_work_ns", more_work(before, Role::Sender)?)])
    },
    left: |before, after| cpu_left(before, after, Role::Sender),
    ..ROW
};

/// The receiver's CPU time: it works longer on each message or request.
pub static RECEIVER_CPU: Perturbation = Perturbation {
    name: "receiver_cpu",
    resource: "CPU time for the receiver",
    of: &["receiver_cpu", "udp_receive_buffer"],
    of_quota: Some(Role::Receiver),
    finds: |_| limiter("receiver_cpu", ""),
    settings: |before| {
        let workload = before.conditions.workload;
        if workload.is_transactional() && !workload.has_requests() {
            return Err("a server of connections cannot be given work".to_owned());
        }
        let work = more_work(before, Role::Receiver)?;
        Ok(vec![("receive_work_ns", work)])
    },
    left: |before, after| cpu_left(before, after, Role::Receiver),
    ..ROW
};

/// The rate of the path: the links of a lab are slower; between named hosts, whose interfaces are not ours, a background
/// stream of datagrams takes a part of it.
pub static PATH_RATE: Perturbation = Perturbation {
    name: "path_rate",
    resource: "rate of the path",
    of: &["rate", "queue_overflow", "path_loss"],
    finds: |_| limiter("rate", ON_THE_PATH),
    settings: slower_path,
    left: |before, after| {
        let taken = after.load.background_bps - before.load.background_bps;
        match after.conditions.path_change {
            Some(change) => Some(f64::from(change.pct) / 100.0),
            None => Some(1.0 - taken / before.load.delivered_bps?).filter(|left| *left > 0.0),
        }
    },
    ..ROW
};

fn slower_path(before: &Before) -> Result<Settings, String> {
    let conditions = before.conditions;
    match before.lab {
        Some(lab) if lab.running.is_none() => {
            let rate = lab.path().and_then(|path| path.rate_bps());
            rate.ok_or("no link of the lab has a rate")?;
            let slower = format!("rate {:.0}%", 100.0 * LEFT);
            Ok(vec![("path_change", slower)])
        }
        _ if conditions.workload.is_transactional() => {
            Err("transactions leave most of the path's rate unused".to_owned())
        }
        _ if !conditions.background.is_empty() => {
            Err("the test has its own background workloads".to_owned())
        }
        _ => {
            let delivered = before.load.delivered_bps.ok_or("nothing was delivered")?;
            let direction = match conditions.direction {
                Direction::Reverse => " direction=reverse",
                Direction::Forward | Direction::Both => "",
            };
            let rate = delivered * (1.0 - LEFT);
            let stream = format!("udp message-size=1400 rate={rate:.0}{direction}");
            Ok(vec![("background", stream)])
        }
    }
}

/// The receive buffer, and with TCP the window that it announces.
static RECEIVE_BUFFER: Perturbation = Perturbation {
    name: "receive_buffer",
    resource: "receive buffer",
    of: &["receive_buffer", "udp_receive_buffer"],
    finds: |conditions| match conditions.workload.is_datagram() {
        true => limiter("udp_receive_buffer", ""),
        false => limiter("receive_buffer", ""),
    },
    settings: |before| smaller_buffer(before, &RECEIVE),
    left: |before, after| match before.conditions.workload.is_datagram() {
        true => ratio(before, after, |load| load.receive_buffer_bytes),
        false => ratio(before, after, |load| load.window_bytes),
    },
    ..ROW
};

static SEND_BUFFER: Perturbation = Perturbation {
    name: "send_buffer",
    resource: "send buffer",
    of: &["send_buffer"],
    finds: |_| limiter("send_buffer", ""),
    settings: |before| smaller_buffer(before, &SEND),
    left: |before, after| ratio(before, after, |load| load.send_buffer_bytes),
    ..ROW
};

/// The links of a lab that lose packets lose twice as many.
static LOSS: Perturbation = Perturbation {
    name: "loss",
    resource: "loss",
    told: Told::More,
    of: &["congestion_window_loss"],
    finds: |conditions| match conditions.workload.is_datagram() {
        true => None,
        false => limiter("congestion_window_loss", ""),
    },
    settings: |before| {
        let built = before.lab.filter(|lab| lab.running.is_none());
        let lab = built.ok_or("loss can be added only to a lab that the test builds")?;
        let mut ends = lab.path().into_iter().flat_map(|path| path.there);
        match ends.any(|end| end.egress.loss_ppm > 0) {
            true => Ok(vec![("path_change", "loss 200%".to_owned())]),
            false => Err("no link of the lab loses packets at random".to_owned()),
        }
    },
    left: |_, after| Some(100.0 / f64::from(after.conditions.path_change?.pct)),
    ..ROW
};

/// The links of a lab delay packets for longer.
static ROUND_TRIP: Perturbation = Perturbation {
    name: "round_trip",
    resource: "round-trip time",
    told: Told::More,
    of: &["latency"],
    finds: |conditions| match conditions.workload.is_transactional() {
        true => limiter("latency", ""),
        false => None,
    },
    settings: |before| {
        let built = before.lab.filter(|lab| lab.running.is_none());
        let lab = built.ok_or("delay can be added only to a lab that the test builds")?;
        let rtt_us = lab.path().map_or(0, |path| path.rtt_us());
        match before.conditions.workload.numbers_datagrams() {
            true => Err("a stream of datagrams waits for no answer".to_owned()),
            false if rtt_us == 0 => Err("no link of the lab has a delay".to_owned()),
            false => Ok(vec![("path_change", format!("delay {:.0}%", 100.0 / LEFT))]),
        }
    },
    left: |before, after| {
        let measured = ratio(after, before, |load| load.rtt_us);
        let asked = after.conditions.path_change?;
        measured.or(Some(100.0 / f64::from(asked.pct)))
    },
    ..ROW
};

/// Packets per second: the same data in smaller TCP segments.
pub static SEGMENTS: Perturbation = Perturbation {
    name: "segments",
    resource: "user data in a segment",
    // Where the kernel's receive threads are full, their work is for each packet; a window is a number of segments.
    of: &[
        "packets_per_second",
        "receiver_cpu",
        "congestion_window_clamp",
    ],
    finds: |_| limiter("packets_per_second", ""),
    settings: |before| {
        if !before.conditions.workload.is_byte_stream() {
            return Err("only a TCP stream can be cut into other segments".to_owned());
        }
        let size = before.load.segment_bytes.ok_or("their size is not known")?;
        Ok(vec![("mss", less(size))])
    },
    left: |before, after| ratio(before, after, |load| load.segment_bytes),
    ..ROW
};

/// Receivers poll instead of being woken.
static WAKE_UPS: Perturbation = Perturbation {
    name: "wake_ups",
    resource: "wake-ups",
    told: Told::Without,
    of: &["wake_ups"],
    finds: |_| limiter("wake_ups", ""),
    settings: |before| match before.conditions.waiting {
        Waiting::Block => Ok(vec![("waiting", "spin".to_owned())]),
        Waiting::Spin => Err("receivers poll already".to_owned()),
    },
    ..ROW
};

/// The rate that the application asks for.
static MESSAGE_RATE: Perturbation = Perturbation {
    name: "message_rate",
    resource: "rate of the application",
    of: &["application_pacing"],
    finds: |_| limiter("application_pacing", ""),
    settings: |before| {
        let (setting, rate) = requested(before.conditions).ok_or("it sends as fast as it can")?;
        Ok(vec![(setting, less(rate))])
    },
    left: |before, after| Some(requested(after.conditions)?.1 / requested(before.conditions)?.1),
    ..ROW
};

/// The setting that paces the run, and its value.
fn requested(conditions: &Conditions) -> Option<(&'static str, f64)> {
    let transactions = conditions.transaction_rate.map(u64::from);
    let rates = [
        ("rate_bps", conditions.rate_bps),
        ("message_rate", conditions.message_rate),
        ("transaction_rate", transactions),
    ];
    let mut set = rates.into_iter();
    set.find_map(|(setting, rate)| Some((setting, rate? as f64)))
}

/// Work for each packet: a setting that fills packets which are not full. Throughput that rises with it was limited by
/// the number of packets.
const fn packing(
    name: &'static str,
    resource: &'static str,
    settings: fn(&Before) -> Result<Settings, String>,
) -> Perturbation {
    Perturbation {
        name,
        resource,
        told: Told::With,
        of: &["sender_cpu", "packets_per_second"],
        settings,
        left: |before, after| ratio(before, after, |load| load.bytes_per_packet),
        ..ROW
    }
}

/// A receive buffer that holds a sender back on a short path, in bytes.
const SMALL_BYTES: u32 = 48 << 10;

static SMALL_RECEIVE_BUFFER: Perturbation = packing(
    "small_receive_buffer",
    "a receive buffer of 48 KiB (--receive-buffer 48K)",
    |before| {
        let in_flight = before.load.in_flight_bytes();
        let in_flight = in_flight.ok_or("the bandwidth-delay product of the path is not known")?;
        if in_flight >= f64::from(SMALL_BYTES) {
            return Err("the path needs more than that".to_owned());
        }
        let has = before.conditions.receive_buffer_bytes;
        match has.is_some_and(|bytes| bytes <= SMALL_BYTES) {
            true => Err("the receive buffer is not larger".to_owned()),
            false => Ok(vec![("receive_buffer_bytes", SMALL_BYTES.to_string())]),
        }
    },
);

static LOW_WATER: Perturbation = packing(
    "low_water",
    "a low-water mark of 32 KiB (--set receive_low_water_bytes=32K)",
    |before| match before.conditions.receive_low_water_bytes {
        None => Ok(vec![("receive_low_water_bytes", "32K".to_owned())]),
        Some(_) => Err("the test has its own".to_owned()),
    },
);

static BATCHES: Perturbation = packing(
    "batches",
    "several messages a send call (--send-mode writev)",
    |before| match before.conditions.send_mode {
        Mode::Plain => Ok(vec![("send_mode", "writev".to_owned())]),
        _ => Err("the test has a send mode".to_owned()),
    },
);

static THREADS: Perturbation = packing(
    "kernel_thread",
    "a kernel thread that receives (threaded_napi)",
    |before| {
        let host = before.conditions.direction.role_of(Role::Receiver).name();
        Ok(vec![(THREADED_NAPI, format!("{host}: on"))])
    },
);

static STEERING: Perturbation = packing(
    "receive_cpu",
    "received packets on the last CPU (rps_cpus)",
    |before| {
        let last = before.load.receiver_cpus.checked_sub(1);
        let last = last.filter(|last| *last > 0).ok_or("there is one CPU")?;
        let host = before.conditions.direction.role_of(Role::Receiver).name();
        Ok(vec![(RPS_CPUS, format!("{host}: {last}"))])
    },
);
