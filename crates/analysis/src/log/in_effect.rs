//! Settings that were requested of the endpoints of a run and are not in effect.

use crate::metrics::{PartRun, RunView, parts};
use bitcost_model::protocol::DRAIN_MAX;
use bitcost_model::record::{
    CACHED_METRICS, EndpointRecord, InEffect, NO_CACHED_METRICS, OffloadsInEffect,
};

/// Each setting that was requested of an endpoint and is not in effect there, in any part:
/// `receiver: receive_buffer_bytes requested 4194304, in effect 212992`. For parts after the first, the
/// part is named, too.
pub fn not_in_effect(run: &RunView) -> Vec<String> {
    of_parts(run, |part| {
        let of_end = |end: &EndpointRecord| {
            let name = end.role.name();
            settings_not_in_effect(end)
                .into_iter()
                .map(move |sentence| format!("{name}: {sentence}"))
        };
        of_end(&part.sender).chain(of_end(&part.receiver)).collect()
    })
}

/// A sentence for each part that asked for a size of segments which could not be read back.
pub(crate) fn unread_segments(run: &RunView) -> Vec<String> {
    of_parts(run, |part| {
        let segment = part
            .sender
            .tcp_info
            .as_ref()
            .and_then(|info| info.snd_mss_bytes);
        let asked = part
            .conditions
            .segment_bytes()
            .filter(|_| segment.is_none());
        let sentence = |asked| {
            format!("sender: user data per segment requested {asked} bytes, could not be read back")
        };
        asked.map(sentence).into_iter().collect()
    })
}

/// A sentence for each endpoint whose TCP connections started with metrics that the kernel had
/// cached from earlier ones to the peer.
pub fn cached_metrics(run: &RunView) -> Vec<String> {
    let of_end = |end: &EndpointRecord| {
        let entry = end
            .in_effect
            .iter()
            .find(|entry| entry.name == CACHED_METRICS)?;
        let name = end.role.name();
        match entry.actual.as_deref() {
            Some(NO_CACHED_METRICS) => None,
            Some(_) => Some(format!(
                "{name}: TCP began with what the kernel had cached of earlier connections to the peer ({CACHED_METRICS} in the record); to begin without: ip tcp_metrics delete ADDRESS"
            )),
            None => Some(format!(
                "{name}: what the kernel had cached of earlier TCP connections could not be read"
            )),
        }
    };
    [run.sender, run.receiver]
        .into_iter()
        .filter_map(of_end)
        .collect()
}

/// A sentence for each part that received datagrams which are not of the run.
pub fn foreign_datagrams(run: &RunView) -> Vec<String> {
    of_parts(run, |part| {
        let came = part
            .receiver
            .sequence
            .is_some_and(|sequence| sequence.foreign > 0);
        let sentence = "datagrams that are not of the run came from the sender's address and port; they were ignored";
        came.then(|| format!("receiver: {sentence}"))
            .into_iter()
            .collect()
    })
}

/// A sentence for each part of which data were on their way when the connection was ended: the
/// receiver took them too slowly for the time after the window ([`DRAIN_MAX`]).
pub fn undelivered(run: &RunView) -> Vec<String> {
    let bytes = |end: &EndpointRecord| -> u64 {
        let flows = end.flows.iter();
        flows.map(|flow| flow.counts.total().bytes).sum()
    };
    of_parts(run, |part| {
        let left = bytes(&part.sender).saturating_sub(bytes(&part.receiver));
        let is_kept_whole = left == 0 || !part.conditions.workload.is_byte_stream();
        let sentence = format!(
            "{:.1} MB that were sent had not arrived when the connection was ended, up to {} s after the window; the figures are of the window",
            left as f64 / 1e6,
            DRAIN_MAX.as_secs()
        );
        (!is_kept_whole).then_some(sentence).into_iter().collect()
    })
}

/// The sentences on each part; for parts after the first, with the part's name.
fn of_parts(run: &RunView, of: impl Fn(&PartRun) -> Vec<String>) -> Vec<String> {
    let named = |(index, part): (usize, &PartRun)| {
        let name = if index == 0 {
            String::new()
        } else {
            format!("{}: ", part.conditions.phrase())
        };
        of(part)
            .into_iter()
            .map(|sentence| format!("{name}{sentence}"))
            .collect::<Vec<_>>()
    };
    parts(run).iter().enumerate().flat_map(named).collect()
}

/// `mss_bytes asked 1024, in effect 1012` for each setting of an endpoint that differs from the
/// request.
pub fn settings_not_in_effect(end: &EndpointRecord) -> Vec<String> {
    end.in_effect
        .iter()
        .filter_map(of_setting)
        .chain(of_offloads(&end.offloads))
        .collect()
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
    let word = |state: Option<&bool>| match state {
        Some(true) => "on",
        Some(false) => "off",
        None => "unknown",
    };
    offloads.mismatched.iter().map(move |bit| {
        let (asked, active) = (
            word(offloads.requested.get(bit)),
            word(offloads.active.get(bit)),
        );
        format!(
            "{}: {bit} requested {asked}, in effect {active}",
            offloads.device
        )
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
    let cut = number(&setting.actual)
        .zip(number(&setting.requested))
        .is_some_and(|(actual, asked)| actual < asked);
    if cut {
        format!(" (limit: {limit})")
    } else {
        String::new()
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

    #[test]
    fn a_setting_that_nobody_asked_for_is_no_news() {
        let setting = InEffect {
            name: "send_buffer_bytes".into(),
            requested: None,
            actual: Some("16384".into()),
        };
        assert_eq!(of_setting(&setting), None);
    }
}
