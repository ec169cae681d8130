//! Settings of the interfaces: offloads, super-packets, and what a packet carries.

use bitcost_model::conditions::{Mss, Offloads};
use bitcost_model::host_settings::OFFLOADS as OFFLOADS_SETTING;
use bitcost_model::record::Role;

use crate::improve::intervention::{Candidate, Offer, Trial, host, program};
use crate::ladder::NotTried;

/// The features that make and take super-packets, by the kernel's names, and by ethtool's.
const FEATURES: [(&str, &str); 3] = [
    ("tx-tcp-segmentation", "tso"),
    ("tx-generic-segmentation", "gso"),
    ("rx-gro", "gro"),
];

/// A super-packet over 64 KiB, in bytes (BIG TCP).
const BIG: &str = "196608";

/// The MTU of frames that many networks carry instead of 1500, in bytes.
const JUMBO: u32 = 9000;

/// Super-packets of more than 64 KiB.
pub(super) fn super_packets(trial: &Trial) -> Vec<Offer> {
    if !trial.test.conditions.workload.is_byte_stream() {
        return Vec::new();
    }
    let command = format!(
        "ip link set DEV gso_max_size {BIG} gro_max_size {BIG} gso_ipv4_max_size {BIG} gro_ipv4_max_size {BIG}"
    );
    let settings = [("gso_max_size", BIG), ("gro_max_size", BIG)];
    let command = trial.at_both(&command);
    vec![Ok(host("super-packets of 192 KiB", &settings, command))]
}

/// Offloads that are off at a host, by one change for each host.
pub(super) fn offloads(trial: &Trial) -> Vec<Offer> {
    let off = |end: Role| -> Vec<&str> {
        let features = &trial.host(end).device.features;
        let is_off = |(feature, _): &&(&str, &str)| {
            features.get(*feature) == Some(&false) || is_requested_off(trial, end)
        };
        FEATURES
            .iter()
            .filter(is_off)
            .map(|(_, name)| *name)
            .collect()
    };
    [Role::Sender, Role::Receiver]
        .into_iter()
        .filter_map(|end| {
            let names = off(end);
            let role = trial.host_role(end).name();
            let list = |between: &str| {
                let all: Vec<String> = names.iter().map(|name| format!("{name} on")).collect();
                all.join(between)
            };
            let device = &trial.host(end).device.name;
            let command = trial.at(end, &format!("ethtool -K {device} {}", list(" ")));
            let typed = format!("{role}: {}", list(", "));
            let label = format!("{} at the {role}", list(", "));
            (!names.is_empty()).then(|| {
                Ok(Candidate {
                    restores: true,
                    ..host(label, &[("offloads", &typed)], command)
                })
            })
        })
        .collect()
}

/// Whether the run itself requests that offloads of an endpoint's host are off.
fn is_requested_off(trial: &Trial, end: Role) -> bool {
    let conditions = &trial.test.conditions;
    let host = trial.host_role(end);
    let mut requests = conditions.host_settings.iter();
    conditions.offloads == Offloads::Off
        || requests.any(|request| {
            request.setting == OFFLOADS_SETTING
                && request.endpoint.is_none_or(|asked| asked == host)
                && request.values.values().any(|value| value == "off")
        })
}

/// More user data in a packet.
pub(super) fn segments(trial: &Trial) -> Vec<Offer> {
    let conditions = &trial.test.conditions;
    let device = &trial.host(Role::Sender).device;
    let mut offers = Vec::new();
    if let Some(Mss::Bytes(_) | Mss::Message) = conditions.mss {
        // Headers of IPv6 and TCP with timestamps.
        let full = device.mtu_bytes.saturating_sub(72).to_string();
        let label = format!("segments of {full} bytes");
        let keep = "do not set TCP_MAXSEG";
        offers.push(program(label, &[("mss", &full)], keep));
    }
    if device.mtu_bytes >= JUMBO {
        return offers;
    }
    let command = trial.at_both(&format!("ip link set DEV mtu {JUMBO}"));
    let settings = [("mtu_bytes", &*JUMBO.to_string())];
    let mtu = host(format!("MTU {JUMBO}"), &settings, command);
    offers.push(Err(match trial.is_remote {
        true => mtu.untried(
            "the connection to the other host may use this interface, and a change of its MTU can interrupt it",
        ),
        false => NotTried {
            command: None,
            ..mtu.untried(format!(
                "the links of the lab carry {}; --mtu builds them for more",
                device.mtu_bytes
            ))
        },
    }));
    offers
}
