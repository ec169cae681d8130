//! What the programs call: size and number of messages, modes, flows, and how a receiver waits.

use bitcost_model::conditions::{Conditions, ReceiveSize};
use bitcost_model::modes::{MODES, setting as mode_setting};
use bitcost_model::record::Role;
use bitcost_model::settings::apply;
use bitcost_model::units::parse_bytes;

use super::base::Base;
use super::change::{How, Offer, program, with};

/// Larger messages, as multiples, up to a size in bytes; and the size from which more changes little.
const LARGER: [u32; 2] = [4, 16];
const LARGEST_BYTES: u32 = 1 << 20;
const ENOUGH_BYTES: u32 = 1 << 16;

/// Headers of a datagram, in bytes (RFC 768, RFC 8200).
const DATAGRAM_HEADERS: u32 = 48;

/// The length of a burst where its size is not set, in seconds.
const BURST_S: f64 = 100e-6;

/// Transactions of a flow in a second from which wake-ups can be much of their time.
const FAST_PER_S: f64 = 2000.0;

/// Size of a receive call that takes many messages, in bytes.
const RECEIVE_BYTES: u32 = 256 << 10;

/// Changes of a program's calls: a setting, its values in the order in which they are tried, the label, and what the program
/// calls. In these, `{}` is the value, which a label has with its unit, and a call as a number. Receive buffers that hold a
/// sender back on a short path make its messages gather in full packets.
#[rustfmt::skip]
const CALLS: [(&str, &[&str], &str, &str); 9] = [
    ("receive_buffer_bytes", &["48K", "64K", "128K", "32K"], "receive buffer {}",
        "setsockopt(SO_RCVBUF, {}) at the receiver"),
    ("cork", &["true"], "only full segments", "setsockopt(TCP_CORK, 1), or MSG_MORE in each send call but the last"),
    ("notsent_low_water_bytes", &["16384"], "at most 16 KiB unsent", "setsockopt(TCP_NOTSENT_LOWAT, {})"),
    ("receive_size_bytes", &["auto"], "receive calls of 256 KiB with a low-water mark",
        "recv() of 256 KiB, setsockopt(SO_RCVLOWAT) to what arrives in 1 ms"),
    ("receive_low_water_bytes", &["32K", "1M"], "a low-water mark of {}", "setsockopt(SO_RCVLOWAT, {}) at the receiver"),
    ("messages_per_call", &["8", "16"], "{} messages a call", "{} messages in each send call"),
    ("receiver_delay_us", &["50us"], "a sleep of 50 µs after each receive call", "nanosleep() of 50 µs"),
    ("waiting", &["spin"], "receivers poll", "poll the socket with MSG_DONTWAIT"),
    ("busy_poll_us", &["50"], "busy polling {} µs", "setsockopt(SO_BUSY_POLL, {})"),
];

/// Those of other workloads than streams of bytes, too.
const OF_ALL: [&str; 4] = [
    "messages_per_call",
    "receiver_delay_us",
    "waiting",
    "busy_poll_us",
];

/// The receive mode that throws the data away.
pub(super) const NO_USE: &str = "truncate";

pub(super) fn larger_messages(base: &Base) -> Vec<Offer> {
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
    let times = LARGER.map(|times| has.saturating_mul(times));
    let all = times.into_iter().chain([ENOUGH_BYTES]);
    let mut sizes: Vec<u32> = all.map(|bytes| bytes.min(most)).collect();
    sizes.sort_unstable();
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

/// Bursts as short as those of a sender that is told no size.
pub(super) fn no_bursts(base: &Base) -> Vec<Offer> {
    let has = base.conditions.burst_messages;
    let rate = base.conditions.asked_messages_per_second(None);
    let both = has.zip(rate.map(|rate| (rate * BURST_S).max(1.0)));
    let offer = |(_, count): (u32, f64)| {
        let keep = "send each message when it is due";
        let settings = [("burst_messages", &*format!("{count:.0}"))];
        Ok(How {
            removes: Some("burst_messages"),
            ..program("no bursts", &settings, keep)
        })
    };
    let longer = both.filter(|(has, count)| f64::from(*has) > *count);
    longer.map(offer).into_iter().collect()
}

pub(super) fn more_flows(base: &Base) -> Vec<Offer> {
    // Each flow of a stream would have the rate that one has.
    if !base.conditions.workload.is_transactional() && base.conditions.is_paced() {
        return Vec::new();
    }
    let offer = |times: u32| {
        let count = base.conditions.flows.saturating_mul(times).to_string();
        let keep = format!("{count} connections at the same time");
        Ok(program(
            format!("{count} flows"),
            &[("flows", &count)],
            keep,
        ))
    };
    // What waits for answers has more of them at a time for nothing.
    let times: &[u32] = match base.conditions.workload.is_transactional() {
        true => &[2, 4, 16],
        false => &[2, 4],
    };
    times.iter().map(|times| offer(*times)).collect()
}

/// Many datagrams in a send call, and in a receive call: with one of the two alone the other end is soon the slower one.
pub(super) fn super_datagrams(base: &Base) -> Vec<Offer> {
    let conditions = &base.conditions;
    let [send, receive] = [("send_mode", "gso"), ("receive_mode", "gro")].map(|(setting, mode)| {
        let mut modes = levels(conditions, setting).into_iter();
        modes.find(|how| how.settings.values().any(|value| value == mode))
    });
    let both = send.zip(receive).filter(|_| !conditions.is_paced());
    let both = both.map(|(send, receive)| How {
        label: format!("{}, {}", send.label, receive.label),
        ..with(&send, &receive)
    });
    both.map(Ok).into_iter().collect()
}

/// Ends that poll, which need no wake-up for what arrives.
pub(super) fn waiting(base: &Base) -> Vec<Offer> {
    let is_slow = base.rate < f64::from(base.conditions.flows) * FAST_PER_S;
    match base.conditions.workload.is_transactional() && is_slow {
        true => Vec::new(),
        false => calls(base, &["waiting", "busy_poll_us"]),
    }
}

/// The changes of the calls by these settings: modes in which the program still has the data, and receive buffers that are
/// larger than what fills the path, which they would hold back.
pub(super) fn calls(base: &Base, settings: &[&str]) -> Vec<Offer> {
    let conditions = &base.conditions;
    let in_flight = base.load.in_flight_bytes();
    let is_tried = |how: &How| {
        let mut settings = how.settings.iter();
        settings.all(|(name, value)| match name.as_str() {
            "receive_mode" => value != NO_USE,
            "receive_size_bytes" => {
                conditions.message_size_bytes < RECEIVE_BYTES
                    && conditions.receive_size_bytes == ReceiveSize::Message
            }
            "receive_buffer_bytes" => {
                let bytes = parse_bytes(value).unwrap_or(0) as f64;
                in_flight.is_some_and(|in_flight| in_flight < bytes)
            }
            _ => true,
        })
    };
    let all = settings
        .iter()
        .flat_map(|setting| levels(conditions, setting));
    all.filter(is_tried).map(Ok).collect()
}

/// The changes of one setting, a mode or a call, that a run does not have.
pub(super) fn levels(conditions: &Conditions, setting: &str) -> Vec<How> {
    let modes = MODES
        .iter()
        .filter(|row| mode_setting(row.end) == setting && row.is_of(conditions.workload));
    let modes = modes.map(|row| {
        let label = format!("{} {}", setting.replace('_', " "), row.mode.name());
        let keep = format!("{} at the {}", row.about, row.end.name());
        program(label, &[(mode_setting(row.end), row.mode.name())], keep)
    });
    let is_stream = conditions.workload.is_byte_stream();
    let calls = CALLS
        .iter()
        .filter(|(name, ..)| *name == setting && (is_stream || OF_ALL.contains(name)));
    let calls = calls.flat_map(|(name, values, label, call)| {
        values.iter().map(move |value| {
            let shown = value.replace('K', " KiB").replace('M', " MiB");
            let number = parse_bytes(value).map_or(shown.clone(), |bytes| bytes.to_string());
            let (label, call) = (label.replace("{}", &shown), call.replace("{}", &number));
            program(label, &[(*name, *value)], call)
        })
    });
    let is_new = |how: &How| {
        let mut changed = conditions.clone();
        apply(&how.settings, &mut changed).is_ok() && changed != *conditions
    };
    modes.chain(calls).filter(is_new).collect()
}
