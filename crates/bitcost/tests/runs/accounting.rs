//! The receiver received everything that the sender sent, or counted it as lost; requested settings
//! are in effect.

use crate::bench::*;
use bitcost_model::host_settings::{HostSetting, OffloadSet, Offloads};

bitcost_testkit::trials! {
    QuietHost: sender_and_receiver_account_for_every_byte;
}

fn sender_and_receiver_account_for_every_byte() {
    let bench = Bench::new();
    let words = split("run not-all-mbits --duration 300ms --blocks 1");
    bench.bitcost(&words).assert_code(0);
    let runs = ended(&bench.log());
    assert_eq!(runs.len(), 8);
    for Ended {
        conditions, ends, ..
    } in &runs
    {
        let [sender, receiver] = ends;
        let size = u64::from(conditions.message_size_bytes);
        assert_eq!(
            sender.counts.measured.bytes,
            sender.counts.measured.messages * size
        );
        if !conditions.workload.is_datagram() {
            connection(conditions, sender, receiver);
        }
        as_requested(conditions, sender);
        as_requested(conditions, receiver);
        placement(conditions, sender, receiver);
        for end in ends {
            samples(end);
        }
    }
}

fn connection(conditions: &Conditions, sender: &EndpointRecord, receiver: &EndpointRecord) {
    let (sent, received) = (sender.counts.total(), receiver.counts.total());
    assert_eq!(sent.bytes, received.bytes);
    assert!(sent.bytes > 0 && received.calls > 0);
    let size = f64::from(conditions.message_size_bytes);
    let info = sender.tcp_info.as_ref().unwrap();
    assert_eq!(info.snd_mss_bytes, Some(conditions.message_size_bytes));
    let wire = info.bytes_sent.unwrap() as f64 / f64::from(info.data_segs_out.unwrap());
    // A segment at the edge of the receiver's window carries only a part of a message.
    let least = if info.rwnd_limited_us == Some(0) {
        0.99
    } else {
        0.95
    };
    assert!(
        wire <= size && wire >= least * size,
        "{wire} bytes per segment, messages of {size}"
    );
}

/// The offloads that a cell requests of both hosts.
fn set_of(conditions: &Conditions) -> Option<OffloadSet> {
    let mut requests = conditions.host_settings.iter();
    requests.find_map(|request| match request.setting {
        HostSetting::Offloads(Offloads::Set(set)) => Some(set),
        _ => None,
    })
}

fn as_requested(conditions: &Conditions, end: &EndpointRecord) {
    let offloads = &end.offloads;
    assert_eq!(
        offloads.requested,
        if offloads.requested.is_empty() {
            Default::default()
        } else {
            offloads.active.clone()
        }
    );
    let wanted = set_of(conditions).map(|set| set == OffloadSet::On);
    assert_eq!(offloads.requested.is_empty(), wanted.is_none());
    assert!(
        offloads.requested.values().all(|on| Some(*on) == wanted),
        "{:?}",
        offloads.requested
    );
    if !conditions.workload.is_datagram() {
        let found = in_effect(end, "congestion_control").unwrap();
        assert_eq!(found, ["cubic", "cubic"]);
    }
}

/// Each host receives on the CPUs of its traffic, and only what receives data is moderated; a set of
/// offloads leaves GRO on, so that every cell is received in the same way.
fn placement(conditions: &Conditions, sender: &EndpointRecord, receiver: &EndpointRecord) {
    let value = |end: &EndpointRecord, name: &str| in_effect(end, name).map(|[_, actual]| actual);
    let merged = (set_of(conditions) == Some(OffloadSet::Off)).then_some("1");
    for end in [sender, receiver] {
        assert_eq!(value(end, "gro_max_size").as_deref(), merged);
        assert_eq!(end.offloads.requested.get("rx-gro"), None);
    }
    // The lab of an ordinary user may not place its receive work, and says so in its log.
    let Some(moderated) = value(receiver, "moderation_us") else {
        return;
    };
    assert_eq!(
        (
            moderated.as_str(),
            value(sender, "moderation_us").as_deref()
        ),
        ("50", Some("0"))
    );
    let [at_sender, at_receiver] =
        [sender, receiver].map(|end| value(end, "receive_cpus").expect("the CPUs of its threads"));
    assert_eq!(at_sender, sender.pinned_cpus[0].to_string());
    assert_eq!(at_receiver, receiver.pinned_cpus[0].to_string());
    assert_ne!(at_sender, at_receiver);
}

/// The counters of the samples never decrease, and the first and the last sample are at the edges
/// of the window.
fn samples(end: &EndpointRecord) {
    assert!(
        end.samples.len() >= 3,
        "{} samples of 300 ms",
        end.samples.len()
    );
    let grows = |pair: &[bitcost_model::record::Sample]| {
        pair[0].at_ns < pair[1].at_ns && pair[0].counts.bytes <= pair[1].counts.bytes
    };
    assert!(end.samples.windows(2).all(grows));
    let edges = [end.samples.first(), end.samples.last()].map(|sample| sample.unwrap().at_ns);
    assert_eq!(edges, [end.window_start_ns, end.window_end_ns]);
}
