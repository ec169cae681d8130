//! What the programs call: size and number of messages, modes, flows, and how a receiver waits.

use bitcost_model::conditions::ReceiveSize;
use bitcost_model::modes::{MODES, Mode, setting};
use bitcost_model::record::Role;
use bitcost_model::units::parse_bytes;
use bitcost_study::Call;

use crate::experiment::base::Base;
use crate::experiment::change::{How, Offer, program};

/// Larger messages, as multiples, up to a size in bytes.
const LARGER: [u32; 2] = [4, 16];
const LARGEST_BYTES: u32 = 1 << 20;

/// Headers of a datagram, in bytes (RFC 768, RFC 8200).
const DATAGRAM_HEADERS: u32 = 48;

/// Size of a receive call that takes many messages, in bytes.
const RECEIVE_BYTES: u32 = 256 << 10;

/// Changes that fill packets which are not full.
const FILLING: [(&str, &str); 2] = [
    ("receive_buffer_bytes", "48K"),
    ("receive_low_water_bytes", "32K"),
];

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

/// How the sender hands messages to the kernel.
pub(in crate::experiment) fn send_modes(base: &Base) -> Vec<Offer> {
    modes(base, Role::Sender, base.conditions.send_mode)
}

/// How the receiver takes messages from the kernel.
pub(in crate::experiment) fn receive_modes(base: &Base) -> Vec<Offer> {
    modes(base, Role::Receiver, base.conditions.receive_mode)
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

/// The changes of the calls by these settings that a run does not have; of a receive buffer those that are larger than what
/// fills the path, which it would hold back.
pub(in crate::experiment) fn calls(base: &Base, settings: &[&str]) -> Vec<Offer> {
    let conditions = &base.conditions;
    let in_flight = base.load.in_flight_bytes();
    let is_tried = |call: &Call| match call.setting {
        "receive_size_bytes" => {
            conditions.message_size_bytes < RECEIVE_BYTES
                && conditions.receive_size_bytes == ReceiveSize::Message
        }
        "receive_buffer_bytes" => {
            let bytes = parse_bytes(call.value).unwrap_or(0) as f64;
            in_flight.is_some_and(|in_flight| in_flight < bytes)
        }
        _ => true,
    };
    let all = settings
        .iter()
        .flat_map(|setting| Call::of(setting, conditions));
    all.filter(|call| is_tried(call) && call.is_new(conditions))
        .map(|call| {
            let how = program(call.label, &[(call.setting, call.value)], call.keep);
            Ok(How {
                fills: FILLING.contains(&(call.setting, call.value)),
                ..how
            })
        })
        .collect()
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
        Ok(How {
            fills: row.mode == Mode::Writev,
            ..program(label, &[(setting, row.name)], keep)
        })
    };
    rows.map(offer).collect()
}
