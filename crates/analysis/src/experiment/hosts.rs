//! Settings of the hosts: sysctls, offloads, what a packet carries, and the CPUs that receive and work.

use bitcost_model::conditions::Mss;
use bitcost_model::host_settings::{HostSetting, OffloadSet, Offloads};
use bitcost_model::record::Role;

use super::base::{Base, Place};
use super::change::{How, Offer, cannot, host, program};
use crate::explain::OFFLOADS;

/// The MTU of frames that many networks carry instead of 1500, in bytes.
const JUMBO: u32 = 9000;

/// What the headers of tunnels need at most, in bytes.
const TUNNEL: u32 = 100;

/// TCP's first window in bytes: ten segments of 1460 (RFC 6928).
const FIRST_WINDOW: u32 = 14_600;

/// The kernel's own limit of memory for fragments, in bytes (net/ipv4/ip_fragment.c).
const REASSEMBLY: u64 = 4 << 20;

/// A sysctl of TCP that is set to what slows it, at the hosts where it is.
pub(super) fn sysctl(base: &Base, name: &str, slows: fn(&str) -> bool, value: &str) -> Vec<Offer> {
    if base.conditions.workload.is_datagram() {
        return Vec::new();
    }
    of_sysctl(base, &Role::ALL, &format!("net.ipv4.{name}"), slows, value)
}

fn of_sysctl(
    base: &Base,
    ends: &[Role],
    name: &str,
    slows: fn(&str) -> bool,
    value: &str,
) -> Vec<Offer> {
    let set = format!("{name}={value}");
    let command = format!("sysctl -w {set}");
    let is_slow = |end: &Role| base.sysctl(*end, name).is_some_and(slows);
    let ends: Vec<Role> = ends.iter().copied().filter(is_slow).collect();
    // Of several, one option would leave away all.
    let is_requested = |end: &Role| {
        let requests = base.conditions.of_host(base.host_role(*end));
        let mut sysctls = requests.filter_map(HostSetting::sysctl).peekable();
        sysctls.peek().is_some() && sysctls.all(|one| one.name == name)
    };
    let removes = ends.iter().all(is_requested).then_some("sysctl");
    let offer = |(typed, command): (String, (String, Place))| {
        Ok(How {
            removes,
            ..host(&*set, &[("sysctl", &typed)], command)
        })
    };
    match ends[..] {
        [] => Vec::new(),
        [end] => vec![offer((base.typed(end, &set), base.at(end, &command)))],
        _ => vec![offer((set.clone(), base.at_both(&command)))],
    }
}

/// After a pause TCP begins with a window of ten segments, which an answer of more waits for.
pub(super) fn window_after_pauses(base: &Base) -> Vec<Offer> {
    let conditions = &base.conditions;
    let has_pauses = conditions.transaction_rate.is_some();
    let [request, response] = [
        conditions.request_size_bytes,
        conditions.response_size_bytes,
    ];
    let ends = [(Role::Sender, request), (Role::Receiver, response)];
    let all = ends
        .into_iter()
        .filter(|(_, bytes)| has_pauses && *bytes > FIRST_WINDOW);
    all.flat_map(|(end, _)| {
        let name = "net.ipv4.tcp_slow_start_after_idle";
        of_sysctl(base, &[end], name, |is| is == "1", "0")
    })
    .collect()
}

/// Room for the fragments of datagrams.
pub(super) fn reassembly(base: &Base) -> Vec<Offer> {
    let is_less = |is: &str| is.parse::<u64>().is_ok_and(|bytes| bytes < REASSEMBLY);
    let value = REASSEMBLY.to_string();
    let name = "net.ipv4.ipfrag_high_thresh";
    match base.conditions.workload.is_datagram() {
        true => of_sysctl(base, &Role::ALL, name, is_less, &value),
        false => Vec::new(),
    }
}

/// Offloads that are off: at both hosts, and at each.
pub(super) fn offloads(base: &Base) -> Vec<Offer> {
    let off_at = |end: Role| {
        let features = &base.host(end)?.device.features;
        let is_off = |of: &str| features.get(of) == Some(&false) || is_requested_off(base, end);
        let mut off = OFFLOADS.iter().filter(|(feature, ..)| is_off(feature));
        let names: Vec<&str> = off.clone().map(|(.., name)| *name).collect();
        // The host was described before the run turned them on.
        let is_on = off.all(|row| is_requested_on(base, end, row));
        (!is_on).then_some((names, Some(end)))
    };
    let each: Vec<_> = Role::ALL.into_iter().filter_map(off_at).collect();
    let both = (each.len() > 1).then(|| (OFFLOADS.map(|(.., name)| name).to_vec(), None));
    let offer = |(names, end): (Vec<&str>, Option<Role>)| {
        let all: Vec<String> = names.iter().map(|name| format!("{name} on")).collect();
        let (list, command) = (all.join(", "), format!("ethtool -K DEV {}", all.join(" ")));
        let (place, typed, command) = match end {
            Some(end) => (
                format!("the {}", base.place(end)),
                base.typed(end, &list),
                base.at(end, &command),
            ),
            None => (
                "both hosts".to_owned(),
                list.clone(),
                base.at_both(&command),
            ),
        };
        let is_here = |one: Role| end.is_none_or(|end| end == one);
        let mut ends = Role::ALL.into_iter();
        let is_own = ends.all(|one| is_requested_off(base, one) == is_here(one));
        Ok(How {
            removes: is_own.then_some("offloads"),
            ..host(
                format!("{list} at {place}"),
                &[("offloads", &typed)],
                command,
            )
        })
    };
    both.into_iter().chain(each).map(offer).collect()
}

/// Whether the run itself requests that offloads of an endpoint's host are off.
fn is_requested_off(base: &Base, end: Role) -> bool {
    let mut requests = base.conditions.of_host(base.host_role(end));
    requests.any(|setting| match setting {
        HostSetting::Offloads(Offloads::Set(set)) => *set == OffloadSet::Off,
        HostSetting::Offloads(Offloads::Features(features)) => features.values().any(|on| !on),
        _ => false,
    })
}

/// Whether the run itself requests that this offload of an endpoint's host is on.
fn is_requested_on(base: &Base, end: Role, (feature, _, name): &(&str, Role, &str)) -> bool {
    let mut requests = base.conditions.of_host(base.host_role(end));
    requests.any(|setting| match setting {
        HostSetting::Offloads(Offloads::Set(set)) => set.turns_on(name),
        HostSetting::Offloads(Offloads::Features(all)) => {
            all.get(*name).or(all.get(*feature)) == Some(&true)
        }
        _ => false,
    })
}

/// More user data in a packet.
pub(super) fn segments(base: &Base) -> Vec<Offer> {
    let Some(sender) = base.host(Role::Sender) else {
        return Vec::new();
    };
    let mtu_bytes = sender.device.mtu_bytes;
    let mut offers = Vec::new();
    if let Some(Mss::Bytes(_) | Mss::Message) = base.conditions.mss {
        // Headers of IPv6 and TCP with timestamps.
        let full = mtu_bytes.saturating_sub(72).to_string();
        let label = format!("segments of {full} bytes");
        offers.push(Ok(program(
            label,
            &[("mss", &full)],
            "do not set TCP_MAXSEG",
        )));
    }
    if mtu_bytes < JUMBO && base.lab.is_none() {
        let command = base.at_both(&format!("ip link set DEV mtu {JUMBO}"));
        let reason = "the connection to the other host may use this interface, and a change of its MTU can interrupt it";
        offers.push(cannot(host(format!("MTU {JUMBO}"), &[], command), reason));
    }
    offers
}

/// Segments that leave room for the headers of a tunnel.
pub(super) fn room_for_headers(base: &Base) -> Vec<Offer> {
    let whole = base.load.segment_bytes;
    let whole = whole.filter(|_| base.conditions.workload.is_byte_stream());
    let offer = |bytes: f64| {
        let size = (bytes as u32).saturating_sub(TUNNEL).to_string();
        let label = format!("segments of {size} bytes, with room for the headers of a tunnel");
        Ok(program(
            label,
            &[("mss", &size)],
            format!("setsockopt(TCP_MAXSEG, {size})"),
        ))
    };
    whole.map(offer).into_iter().collect()
}

/// Endpoints on the first and on the last CPU, the other way round, and on one CPU.
pub(super) fn cpus(base: &Base) -> Vec<Offer> {
    let edges = |end: Role| {
        let cpus = &base.host(end)?.cpus;
        cpus.first().copied().zip(cpus.last().copied())
    };
    let (Some((first, last)), Some((at_first, at_last))) =
        (edges(Role::Sender), edges(Role::Receiver))
    else {
        return Vec::new();
    };
    if at_first == at_last {
        return Vec::new();
    }
    let mut pairs = vec![(first, at_last), (last, at_first)];
    if base.lab.is_some() {
        pairs.push((first, first));
    }
    let places = &base.conditions.places;
    pairs.retain(|(send, receive)| {
        places.sender.cpus != [*send] || places.receiver.cpus != [*receive]
    });
    let setting = |end: Role| match base.host_role(end) {
        Role::Sender => "sender_cpus",
        Role::Receiver => "receiver_cpus",
    };
    let offer = |(send, receive): (u32, u32)| {
        Ok(program(
            format!("sender on CPU {send}, receiver on CPU {receive}"),
            &[
                (setting(Role::Sender), &send.to_string()),
                (setting(Role::Receiver), &receive.to_string()),
            ],
            format!("taskset -c {send} of the sender, taskset -c {receive} of the receiver"),
        ))
    };
    pairs.into_iter().map(offer).collect()
}
