//! Queues of a lab, and how often a card interrupts.

use bitcost_model::record::Role;

use crate::improve::intervention::{Offer, Trial, host, program};
use crate::ladder::NotTried;

/// Bytes of a full packet on most links.
const PACKET_BYTES: f64 = 1514.0;

/// Queue limits, as multiples of what fills the path.
const TIMES: [f64; 3] = [0.5, 1.0, 2.0];

/// Time between two interrupts, in µs.
const MODERATION_US: u32 = 50;

/// The queue in front of a slow link.
pub(super) fn limits(trial: &Trial) -> Vec<Offer> {
    let lab = trial.test.lab.as_ref();
    let bdp = lab.and_then(|lab| lab.path()?.bdp_bytes());
    let not_tried = |reason: &str, command: Option<&str>| {
        vec![Err(NotTried {
            what: "a longer queue in front of the slowest link".to_owned(),
            reason: reason.to_owned(),
            command: command.map(str::to_owned),
        })]
    };
    match (lab, bdp) {
        (None, _) => not_tried("it may be at a host that is not reached from here", None),
        (Some(lab), _) if lab.running.is_some() => not_tried(
            "the lab is running, and other programs use it",
            Some("bitcost lab set LAB DEVICE queue_limit=…"),
        ),
        (Some(_), None) => Vec::new(),
        (Some(_), Some(bdp)) => TIMES
            .iter()
            .map(|times| {
                let packets = (bdp as f64 * times / PACKET_BYTES).ceil();
                let limit = format!("{packets:.0} packets");
                let keep =
                    format!("tc qdisc change dev DEV … limit {packets:.0} at the slowest link");
                let label = format!("queue of {limit}");
                program(label, &[("emulator_queue_limit", &limit)], keep)
            })
            .collect(),
    }
}

/// Interrupt moderation.
pub(super) fn moderation(trial: &Trial) -> Vec<Offer> {
    let label = format!("interrupts every {MODERATION_US} µs");
    if trial.test.lab.is_some() {
        let typed = format!("{MODERATION_US}us");
        let keep = format!("ethtool -C DEV rx-usecs {MODERATION_US} on a card");
        return match trial.test.conditions.moderation_us {
            Some(MODERATION_US) => Vec::new(),
            _ => vec![program(label, &[("moderation", &typed)], keep)],
        };
    }
    let device = &trial.host(Role::Receiver).device.name;
    let command = format!("ethtool -C {device} rx-usecs {MODERATION_US}");
    let typed = format!(
        "{}: rx_usecs {MODERATION_US}",
        trial.host_role(Role::Receiver).name()
    );
    let command = trial.at(Role::Receiver, &command);
    vec![Ok(host(label, &[("coalesce", &typed)], command))]
}
