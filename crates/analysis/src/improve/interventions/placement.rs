//! The CPUs on which both endpoints work.

use bitcost_model::record::Role;

use crate::improve::intervention::{Offer, Trial, program};

/// Endpoints on the first and on the last CPU, the other way round, and on one CPU.
pub(super) fn cpus(trial: &Trial) -> Vec<Offer> {
    let edges = |end: Role| {
        let cpus = &trial.host(end).cpus;
        cpus.first().copied().zip(cpus.last().copied())
    };
    let (Some((first, _)), Some((at_first, at_last))) =
        (edges(Role::Sender), edges(Role::Receiver))
    else {
        return Vec::new();
    };
    if at_first == at_last {
        return Vec::new();
    }
    let (_, last) = edges(Role::Sender).unwrap_or((first, first));
    let mut pairs = vec![(first, at_last), (last, at_first)];
    if !trial.is_remote {
        pairs.push((first, first));
    }
    let places = &trial.test.conditions.places;
    pairs.retain(|(send, receive)| {
        places.sender.cpus != [*send] || places.receiver.cpus != [*receive]
    });
    let settings = |end: Role| match trial.host_role(end) {
        Role::Sender => "sender_cpus",
        Role::Receiver => "receiver_cpus",
    };
    pairs
        .into_iter()
        .map(|(send, receive)| {
            program(
                format!("sender on CPU {send}, receiver on CPU {receive}"),
                &[
                    (settings(Role::Sender), &send.to_string()),
                    (settings(Role::Receiver), &receive.to_string()),
                ],
                format!("taskset -c {send} of the sender, taskset -c {receive} of the receiver"),
            )
        })
        .collect()
}
