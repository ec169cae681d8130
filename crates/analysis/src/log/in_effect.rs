//! Settings that were requested of the endpoints of a run and are not in effect.

use crate::metrics::{RunView, actual, parts};
use bitcost_model::protocol::DRAIN_MAX;
use bitcost_model::record::{
    CACHED_METRICS, EndpointRecord, InEffect, NO_CACHED_METRICS, OffloadsInEffect,
};

const CACHED: &str = "TCP began with what the kernel had cached of an earlier test; `ip tcp_metrics flush` at both hosts begins without";

/// What of the parts of a run is not as it was requested, or not as it is expected, a sentence each. For parts after the
/// first, the part is named, too.
#[derive(Default)]
pub(crate) struct PartsInEffect {
    /// Each setting that was requested of an endpoint and is not in effect there:
    /// `receiver: receive_buffer_bytes requested 4194304, in effect 212992`.
    pub settings: Vec<String>,
    /// TCP connections that started with metrics that the kernel had cached from earlier ones to the peer, and datagrams
    /// that are not of the run.
    pub notes: Vec<String>,
    /// Data that were on their way when the connection was ended: the receiver took them too slowly for the time after
    /// the window ([`DRAIN_MAX`]).
    pub undelivered: Vec<String>,
}

impl PartsInEffect {
    pub fn of(run: &RunView) -> PartsInEffect {
        let mut found = PartsInEffect::default();
        if run.ends().into_iter().any(began_with_cached) {
            found.notes.push(CACHED.to_owned());
        }
        for (index, part) in parts(run).iter().enumerate() {
            let name = match index {
                0 => String::new(),
                _ => format!("{}: ", part.conditions.phrase()),
            };
            let (sender, receiver) = (&part.sender, &part.receiver);
            for end in [sender, receiver] {
                let settings = settings_not_in_effect(end).into_iter();
                let settings = settings.map(|words| format!("{name}{}: {words}", end.role.name()));
                found.settings.extend(settings);
            }
            if receiver
                .sequence
                .is_some_and(|sequence| sequence.foreign > 0)
            {
                found.notes.push(format!(
                    "{name}receiver: datagrams that are not of the run came from the sender's address and port; they were ignored"
                ));
            }
            let bytes = |end: &EndpointRecord| -> u64 {
                let flows = end.flows.iter();
                flows.map(|flow| flow.counts.total().bytes).sum()
            };
            let left = bytes(sender).saturating_sub(bytes(receiver));
            if left > 0 && part.conditions.workload.is_byte_stream() {
                found.undelivered.push(format!(
                    "{name}{:.1} MB that were sent had not arrived when the connection was ended, up to {} s after the window; the figures are of the window",
                    left as f64 / 1e6,
                    DRAIN_MAX.as_secs()
                ));
            }
        }
        found
    }
}

/// The round trip, in microseconds, below which a window grows from anything to what the path needs within a warm-up.
const SHORT_RTT_US: u32 = 5000;

/// Whether connections of an end began with what an earlier one had left, on a path where that matters: the kernel's slow
/// start then ends where that one met a loss.
fn began_with_cached(end: &EndpointRecord) -> bool {
    let info = end.samples.last().and_then(|last| last.tcp_info.as_ref());
    let rtt_us = info.and_then(|info| info.min_rtt_us);
    if rtt_us.is_some_and(|rtt_us| rtt_us < SHORT_RTT_US) {
        return false;
    }
    actual(end, CACHED_METRICS).is_some_and(|cached| cached != NO_CACHED_METRICS)
}

/// `mss_bytes requested 1024, in effect 1012` for each setting of an endpoint that differs from the
/// request.
pub fn settings_not_in_effect(end: &EndpointRecord) -> Vec<String> {
    let settings = end.in_effect.iter().filter_map(of_setting);
    settings.chain(of_offloads(&end.offloads)).collect()
}

fn of_setting(setting: &InEffect) -> Option<String> {
    let (name, asked) = (&setting.name, setting.requested.as_ref()?);
    match &setting.actual {
        None => Some(format!("{name} requested {asked}, could not be read back")),
        Some(actual) if asked == actual => None,
        Some(actual) => Some(format!(
            "{name} requested {asked}, in effect {actual}{}",
            limit(setting)
        )),
    }
}

/// `veth: rx-gro requested on, in effect off`.
pub(crate) fn of_offloads(offloads: &OffloadsInEffect) -> impl Iterator<Item = String> {
    let word = |on: &bool| if *on { "on" } else { "off" };
    let active = &offloads.active;
    let differs = move |(bit, asked): &(&String, &bool)| active.get(*bit) != Some(*asked);
    let other = offloads.requested.iter().filter(differs);
    other.map(move |(bit, asked)| {
        let (asked, active) = (word(asked), active.get(bit).map_or("unknown", word));
        let device = &offloads.device;
        format!("{device}: {bit} requested {asked}, in effect {active}")
    })
}

/// The limit that reduced a socket buffer (socket(7)), in brackets after a space; empty where none
/// did.
fn limit(setting: &InEffect) -> String {
    let limit = match setting.name.as_str() {
        "send_buffer_bytes" => "net.core.wmem_max",
        "receive_buffer_bytes" => "net.core.rmem_max",
        _ => return String::new(),
    };
    let number = |text: &Option<String>| text.as_deref()?.parse::<u64>().ok();
    match number(&setting.actual).zip(number(&setting.requested)) {
        Some((actual, asked)) if actual < asked => format!(" (limit: {limit})"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_as_asked_when_all_of_it_was_granted() {
        let setting = |asked: &str, actual: &str| InEffect {
            name: "receive_buffer_bytes".into(),
            requested: Some(asked.into()),
            actual: Some(actual.into()),
        };
        assert_eq!(of_setting(&setting("4194304", "4194304")), None);
        let clamped =
            "receive_buffer_bytes requested 4194304, in effect 212992 (limit: net.core.rmem_max)";
        assert_eq!(of_setting(&setting("4194304", "212992")).unwrap(), clamped);
        // The kernel's minimum, which happens to be twice the requested size.
        assert_eq!(
            of_setting(&setting("576", "1152")).unwrap(),
            "receive_buffer_bytes requested 576, in effect 1152"
        );
    }
}
