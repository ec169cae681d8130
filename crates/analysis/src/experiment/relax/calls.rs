//! What the programs call: size and number of messages, modes, flows, and how a receiver waits.

use bitcost_model::conditions::{ReceiveSize, Waiting};
use bitcost_model::modes::{MODES, Mode, setting};
use bitcost_model::record::Role;

use crate::experiment::base::Base;
use crate::experiment::change::{How, Offer, program};

/// Larger messages, as multiples, up to a size in bytes.
const LARGER: [u32; 2] = [4, 16];
const LARGEST_BYTES: u32 = 1 << 20;

/// Headers of a datagram, in bytes (RFC 768, RFC 8200).
const DATAGRAM_HEADERS: u32 = 48;

/// Size of a receive call that takes many messages, in bytes.
const RECEIVE_BYTES: u32 = 256 << 10;

pub(in crate::experiment) fn larger_messages(base: &Base) -> Vec<Offer> {
    let conditions = &base.conditions;
    let has = conditions.message_size_bytes;
    let most = match conditions.workload.is_datagram() {
        true => {
            let mtu = base
                .host(Role::Sender)
                .map_or(0, |host| host.device.mtu_bytes);
            mtu.saturating_sub(DATAGRAM_HEADERS)
        }
        false => LARGEST_BYTES,
    };
    let mut sizes = LARGER
        .map(|times| has.saturating_mul(times).min(most))
        .to_vec();
    sizes.dedup();
    sizes.retain(|bytes| *bytes > has && !conditions.workload.is_transactional());
    let offer = |bytes: u32| {
        let label = format!("messages of {bytes} bytes");
        let keep = format!("{bytes} bytes in a send call");
        Ok(program(
            label,
            &[("message_size_bytes", &bytes.to_string())],
            keep,
        ))
    };
    sizes.into_iter().map(offer).collect()
}

/// Messages that wait in the sender's socket until a packet is full, or until its queue is short.
pub(in crate::experiment) fn gather(base: &Base) -> Vec<Offer> {
    let conditions = &base.conditions;
    let cork = program(
        "only full segments",
        &[("cork", "true")],
        "setsockopt(TCP_CORK, 1), or MSG_MORE in each send call but the last",
    );
    let unsent = program(
        "at most 16 KiB unsent",
        &[("notsent_low_water_bytes", "16384")],
        "setsockopt(TCP_NOTSENT_LOWAT, 16384)",
    );
    let offers = [
        (cork, !conditions.cork),
        (unsent, conditions.notsent_low_water_bytes.is_none()),
    ];
    possible(offers, conditions.workload.is_byte_stream())
}

/// How the sender hands messages to the kernel.
pub(in crate::experiment) fn send_modes(base: &Base) -> Vec<Offer> {
    modes(base, Role::Sender, base.conditions.send_mode)
}

/// How the receiver takes messages from the kernel.
pub(in crate::experiment) fn receive_modes(base: &Base) -> Vec<Offer> {
    modes(base, Role::Receiver, base.conditions.receive_mode)
}

pub(in crate::experiment) fn larger_receive_calls(base: &Base) -> Vec<Offer> {
    let conditions = &base.conditions;
    let is_smaller = conditions.message_size_bytes < RECEIVE_BYTES
        && conditions.receive_size_bytes == ReceiveSize::Message;
    let auto = program(
        "receive calls of 256 KiB with a low-water mark",
        &[("receive_size_bytes", "auto")],
        "recv() of 256 KiB, setsockopt(SO_RCVLOWAT) to what arrives in 1 ms",
    );
    let mark = program(
        "a low-water mark of 32 KiB",
        &[("receive_low_water_bytes", "32K")],
        "setsockopt(SO_RCVLOWAT, 32768) at the receiver",
    );
    let offers = [
        (auto, is_smaller),
        (mark.filling(), conditions.receive_low_water_bytes.is_none()),
    ];
    possible(offers, conditions.workload.is_byte_stream())
}

pub(in crate::experiment) fn more_flows(base: &Base) -> Vec<Offer> {
    let offer = |times: u32| {
        let count = base.conditions.flows.saturating_mul(times).to_string();
        let keep = format!("{count} connections at the same time");
        Ok(program(
            format!("{count} flows"),
            &[("flows", &count)],
            keep,
        ))
    };
    [2, 4].map(offer).into()
}

/// Polling instead of wake-ups.
pub(in crate::experiment) fn polling(base: &Base) -> Vec<Offer> {
    let conditions = &base.conditions;
    let spin = program(
        "receivers poll",
        &[("waiting", "spin")],
        "poll the socket with MSG_DONTWAIT",
    );
    let busy = program(
        "busy polling 50 µs",
        &[("busy_poll_us", "50")],
        "setsockopt(SO_BUSY_POLL, 50)",
    );
    let offers = [
        (spin, conditions.waiting == Waiting::Block),
        (busy, conditions.busy_poll_us.is_none()),
    ];
    possible(offers, true)
}

/// Those of the offers that are possible, if any is.
fn possible<const N: usize>(offers: [(How, bool); N], any: bool) -> Vec<Offer> {
    let offers = offers
        .into_iter()
        .filter(|(_, is_possible)| any && *is_possible);
    offers.map(|(how, _)| Ok(how)).collect()
}

/// Every other mode of an endpoint in which the program still has the data.
fn modes(base: &Base, end: Role, own: Mode) -> Vec<Offer> {
    let workload = base.conditions.workload;
    // These throw the data away.
    let is_use =
        |mode: Mode| end == Role::Sender || ![Mode::Truncate, Mode::Splice].contains(&mode);
    let setting = setting(end);
    let rows = MODES
        .iter()
        .filter(|row| row.end == end && row.is_of(workload) && row.mode != own && is_use(row.mode));
    let offer = |row: &bitcost_model::modes::Row| {
        let label = format!("{} {}", setting.replace('_', " "), row.name);
        let keep = format!("{} at the {}", row.about, end.name());
        let how = program(label, &[(setting, row.name)], keep);
        Ok(if row.mode == Mode::Writev {
            how.filling()
        } else {
            how
        })
    };
    rows.map(offer).collect()
}
