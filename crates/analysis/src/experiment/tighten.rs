//! What takes half of a resource away: rows of a proof.

use bitcost_model::conditions::{Conditions, Direction};
use bitcost_model::record::Role;

use super::base::{Base, Side};
use super::buffers::{Buffer, RECEIVE, SEND};
use super::change::{
    Kind, PATH_RATE, RECEIVER_CPU, REQUESTED_RATE, Resource, Row, SEGMENTS, SENDER_CPU, Setting,
};
use crate::explain::{ON_THE_PATH, limiter};

/// What is left of a resource.
const LEFT: f64 = 0.5;

/// The share of a requested rate from which it is reached.
const REACHED: f64 = 0.95;

/// An endpoint that is busy for less than this share of the time has CPU time left.
pub(super) const BUSY: f64 = 0.3;

const fn row(name: &'static str, of: &'static [&'static str], resource: Resource) -> Row {
    Row {
        name,
        of,
        kind: Kind::Tightens(resource),
        grows: None,
    }
}

/// The sender works longer on each message.
pub(super) const SENDER: Row = row(
    SENDER_CPU,
    &["sender_cpu", "packets_per_second"],
    Resource {
        words: "CPU time for the sender",
        finds: |_| limiter("sender_cpu", ""),
        setting: |base| match base.conditions.workload.is_transactional() {
            true => Err("a client of transactions cannot be given work".to_owned()),
            false => Ok(("send_work_ns", more_work(base, Role::Sender)?)),
        },
        left: |before, after| cpu_left(before, after, Role::Sender),
    },
);

/// The receiver works longer on each message or request.
pub(super) const RECEIVER: Row = row(
    RECEIVER_CPU,
    &["receiver_cpu", "udp_receive_buffer"],
    Resource {
        words: "CPU time for the receiver",
        finds: |_| limiter("receiver_cpu", ""),
        setting: |base| {
            let workload = base.conditions.workload;
            match workload.is_transactional() && !workload.has_requests() {
                true => Err("a server of connections cannot be given work".to_owned()),
                false => Ok(("receive_work_ns", more_work(base, Role::Receiver)?)),
            }
        },
        left: |before, after| cpu_left(before, after, Role::Receiver),
    },
);

/// The links of a lab are slower; between named hosts, whose interfaces are not ours, a background stream of datagrams
/// takes a part of the rate.
pub(super) const PATH: Row = row(
    PATH_RATE,
    &["rate", "competing_traffic"],
    Resource {
        words: "rate of the path",
        finds: |_| limiter("rate", ON_THE_PATH),
        setting: slower_path,
        left: |before, after| {
            let taken = after.load.background_bps - before.load.background_bps;
            match after.conditions.path_change {
                Some(change) => Some(f64::from(change.pct) / 100.0),
                None => Some(1.0 - taken / before.load.delivered_bps?).filter(|left| *left > 0.0),
            }
        },
    },
);

/// The receive buffer, and with TCP the window that it announces.
pub(super) const RECEIVE_BUFFER: Row = row(
    "receive_buffer",
    &["receive_buffer", "udp_receive_buffer"],
    Resource {
        words: "receive buffer",
        finds: |conditions| match conditions.workload.is_datagram() {
            true => limiter("udp_receive_buffer", ""),
            false => limiter("receive_buffer", ""),
        },
        setting: |base| smaller_buffer(base, &RECEIVE),
        left: |before, after| match before.conditions.workload.is_datagram() {
            true => before.ratio(after, |load| load.receive_buffer_bytes),
            false => before.ratio(after, |load| load.window_bytes),
        },
    },
);

pub(super) const SEND_BUFFER: Row = row(
    "send_buffer",
    &["send_buffer"],
    Resource {
        words: "send buffer",
        finds: |_| limiter("send_buffer", ""),
        setting: |base| smaller_buffer(base, &SEND),
        left: |before, after| before.ratio(after, |load| load.send_buffer_bytes),
    },
);

/// The same data in smaller TCP segments. Where the kernel's receive threads are full, their work is for each packet.
pub(super) const SMALLER_SEGMENTS: Row = row(
    SEGMENTS,
    &["packets_per_second", "receiver_cpu"],
    Resource {
        words: "user data in a segment",
        finds: |_| limiter("packets_per_second", ""),
        setting: |base| {
            if !base.conditions.workload.is_byte_stream() {
                return Err("only a TCP stream can be cut into other segments".to_owned());
            }
            let size = base.load.segment_bytes.ok_or("their size is not known")?;
            Ok(("mss", less(size)))
        },
        left: |before, after| before.ratio(after, |load| load.segment_bytes),
    },
);

/// The rate that the application asks for.
pub(super) const MESSAGE_RATE: Row = row(
    REQUESTED_RATE,
    &["application_pacing"],
    Resource {
        words: "rate of the application",
        finds: |_| limiter("application_pacing", ""),
        setting: |base| {
            let (setting, rate) =
                requested(&base.conditions).ok_or("it sends as fast as it can")?;
            let reached = base.rate / f64::from(base.conditions.flows);
            match setting {
                "rate_bps" if 1e6 * reached < REACHED * rate => {
                    Err("the test does not reach its rate".to_owned())
                }
                "transaction_rate" => Err("each transaction takes as long".to_owned()),
                _ => Ok((setting, less(rate))),
            }
        },
        left: |before, after| {
            Some(requested(after.conditions)?.1 / requested(before.conditions)?.1)
        },
    },
);

fn slower_path(base: &Base) -> Result<Setting, String> {
    let conditions = &base.conditions;
    if let Some(lab) = base.own_lab() {
        let rate = lab.path().and_then(|path| path.rate_bps());
        rate.ok_or("no link of the lab has a rate")?;
        let slower = format!("rate {:.0}%", 100.0 * LEFT);
        return Ok(("path_change", slower));
    }
    if conditions.workload.is_transactional() {
        return Err(
            "a background stream delays transactions even where they do not fill the path"
                .to_owned(),
        );
    }
    if !conditions.background.is_empty() {
        return Err("the test has its own background workloads".to_owned());
    }
    let delivered = base.load.delivered_bps.ok_or("nothing was delivered")?;
    let direction = match conditions.direction {
        Direction::Reverse => " direction=reverse",
        Direction::Forward | Direction::Both => "",
    };
    let rate = delivered * (1.0 - LEFT);
    let stream = format!("udp message-size=1400 rate={rate:.0}{direction}");
    Ok(("background", stream))
}

/// The setting that paces the run, and its value.
pub(super) fn requested(conditions: &Conditions) -> Option<(&'static str, f64)> {
    let transactions = conditions.transaction_rate.map(u64::from);
    let rates = [
        ("rate_bps", conditions.rate_bps),
        ("message_rate", conditions.message_rate),
        ("transaction_rate", transactions),
    ];
    let mut set = rates.into_iter();
    set.find_map(|(setting, rate)| Some((setting, rate? as f64)))
}

/// The work of an endpoint on each message, in ns.
fn work_ns(conditions: &Conditions, role: Role) -> u32 {
    let buffers = &conditions.buffers;
    [buffers.send_work_ns, buffers.receive_work_ns][role as usize]
}

/// What another amount of work for each message leaves of the CPU time of an endpoint.
fn cpu_left(before: &Side, after: &Side, role: Role) -> Option<f64> {
    let added = work_ns(after.conditions, role).checked_sub(work_ns(before.conditions, role))?;
    let busy = before.load.busy_ns[role as usize]?;
    Some(busy / (busy + f64::from(added)))
}

/// The work for each message that leaves the wanted share of an endpoint's CPU time.
fn more_work(base: &Base, role: Role) -> Result<String, String> {
    if let Some(share) = base.load.busy[role as usize].filter(|share| *share < BUSY) {
        return Err(format!(
            "the {} is busy for {:.0} % of the time",
            role.name(),
            100.0 * share
        ));
    }
    let busy = base.load.busy_ns[role as usize];
    let busy = busy.ok_or_else(|| format!("the CPU time of the {} is not known", role.name()))?;
    let added = busy * (1.0 / LEFT - 1.0);
    let own = f64::from(work_ns(&base.conditions, role));
    Ok(format!("{:.0}", own + added.ceil()))
}

/// A number scaled to what is left, at least 1.
fn less(number: f64) -> String {
    format!("{:.0}", (number * LEFT).max(1.0))
}

/// The setting that leaves a buffer smaller; where TCP tunes it, its greatest size is what is changed.
fn smaller_buffer(base: &Base, buffer: &Buffer) -> Result<Setting, String> {
    let conditions = &base.conditions;
    if conditions.workload.is_transactional() {
        return Err("transactions need little of it".to_owned());
    }
    let has = (buffer.has_bytes)(&base.load).ok_or("its size is not known")?;
    if !buffer.is_tuned(conditions) || conditions.tcp_buffers.is_some() {
        return Ok((buffer.setting, less(has)));
    }
    let most = 2.0 * has * LEFT;
    let first = most.min(buffer.start_bytes);
    let tuned = format!("{}=4096 {first:.0} {most:.0}", buffer.tuned);
    Ok(("sysctl", base.typed(buffer.end, &tuned)))
}
