//! Results in iperf3's form, compared with what iperf3 prints: paths of JSON and units.

use crate::common::*;
use bitcost_model::conditions::{Direction, Workload};
use bitcost_model::record::{FlowRecord, PartRecord, PartSample};
use bitcost_render::iperf3::iperf3;
use insta::assert_snapshot;

/// What iperf3 3.12 printed.
const TCP: &str = include_str!("../../../import/tests/fixtures/iperf3/iperf3-tcp.json");
const UDP: &str = include_str!("../../../import/tests/fixtures/iperf3/iperf3-udp.json");
const BIDIR: &str = include_str!("../../../import/tests/fixtures/iperf3/iperf3-tcp-bidir.json");

/// The paths of all values; a list is represented by its first element.
fn paths(value: &Json, at: &str, found: &mut Vec<String>) {
    match value {
        Json::Object(map) => map
            .iter()
            .for_each(|(key, value)| paths(value, &format!("{at}.{key}"), found)),
        Json::Array(list) => list
            .iter()
            .take(1)
            .for_each(|value| paths(value, &format!("{at}[]"), found)),
        _ => found.push(at.to_owned()),
    }
}

fn paths_of(document: &Json) -> Vec<String> {
    let mut found = Vec::new();
    paths(document, "", &mut found);
    found
}

/// The paths of a document that iperf3's has not.
fn more_than(real: &str, own: &Json) -> Vec<String> {
    let real = paths_of(&serde_json::from_str(real).expect("JSON"));
    let own = paths_of(own).into_iter();
    own.filter(|path| !real.contains(path)).collect()
}

#[test]
fn json_has_no_path_that_iperf3_has_not_and_those_that_scripts_read() {
    let events = log(STUDY, 1, |cell, planned| {
        let mut did = plain(cell, planned);
        did.sent_mbps *= 1.25;
        ended(cell, &did)
    });
    findings(&events).each_run(|_| true, &mut |_, cell, view| {
        let own = iperf3(view, &[], Some("2026-11-21T10:00:00+01:00"), "0.1.0").expect("a stream");
        let real = if is(cell, "transport", "UDP") {
            UDP
        } else {
            TCP
        };
        assert_eq!(more_than(real, &own), [""; 0], "{}", cell.name());
        // What programs read of each document without asking, PyPI's iperf3 among them.
        let parts = [".start.", ".end.cpu", ".end.sum"];
        let is_read = |path: &String| parts.iter().any(|part| path.starts_with(part));
        let read = paths_of(&serde_json::from_str(real).expect("JSON"));
        let own_paths = paths_of(&own);
        let mut read = read.into_iter().filter(is_read);
        assert_eq!(read.find(|path| !own_paths.contains(path)), None);
        assert_snapshot!(cell.name().replace(" · ", "_"), pretty(&own));
    });
}

/// `TCP_INFO` of a connection with this number of retransmitted segments, this round-trip time and
/// this window.
fn info(total_retrans: u32, rtt_us: u32, snd_cwnd_segments: u32) -> TcpInfo {
    TcpInfo {
        total_retrans: Some(total_retrans),
        rtt_us: Some(rtt_us),
        snd_cwnd_segments: Some(snd_cwnd_segments),
        snd_mss_bytes: Some(1000),
        ..TcpInfo::default()
    }
}

/// Three samples of an endpoint: `step` bytes in each second, and the state of its connection if it
/// has one.
fn samples(step: u64, infos: &[TcpInfo]) -> Vec<Sample> {
    let sample = |place: u64| Sample {
        at_ns: (1 + place) * 1_000_000_000,
        counts: Counts {
            bytes: 500 + place * step,
            ..Counts::default()
        },
        tcp_info: infos.get(place as usize).cloned(),
        ..Sample::default()
    };
    (0..3).map(sample).collect()
}

/// A run of TCP in this direction, with 5000 retransmitted segments before the window.
fn tcp(direction: Direction) -> (Conditions, [EndpointRecord; 2]) {
    let conditions = Conditions {
        workload: Workload::TcpStream,
        direction,
        ..Conditions::default()
    };
    let infos = [
        info(5000, 100, 10),
        info(5007, 400, 40),
        info(5010, 250, 20),
    ];
    let end = |role, bytes, samples: Vec<Sample>| EndpointRecord {
        role,
        window_start_ns: 1_000_000_000,
        window_end_ns: 3_000_000_000,
        counts: PhaseCounts {
            measured: Counts {
                bytes,
                ..Counts::default()
            },
            ..PhaseCounts::default()
        },
        tcp_info: Some(info(5012, 250, 20)),
        flows: vec![FlowRecord {
            tcp_info: Some(info(5012, 250, 20)),
            ..FlowRecord::default()
        }],
        samples,
        ..EndpointRecord::default()
    };
    let receiver_infos = [info(0, 9, 10), info(0, 9, 10), info(0, 9, 10)];
    let ends = [
        end(Role::Sender, 2_000_000, samples(1_000_000, &infos)),
        end(Role::Receiver, 1_900_000, samples(950_000, &receiver_infos)),
    ];
    (conditions, ends)
}

fn document((conditions, [sender, receiver]): &(Conditions, [EndpointRecord; 2])) -> Json {
    let run = view(sender, receiver, conditions, false);
    iperf3(&run, &[], Some("2026-11-21T10:00:00.5+01:00"), "0.1.0").expect("a stream")
}

/// Ten segments are retransmitted in the window, 7 and 3 in its two intervals.
#[test]
fn what_was_retransmitted_is_that_of_the_window_and_state_is_of_all_samples() {
    assert_snapshot!(pretty(&document(&tcp(Direction::Forward))));
}

#[test]
fn a_receiving_client_tells_nothing_of_the_sender_s_connection() {
    let own = document(&tcp(Direction::Reverse));
    assert_snapshot!(pretty(&json!([own["intervals"], own["end"]["sum_sent"]])));
}

#[test]
fn both_ways_are_next_to_each_other() {
    let (conditions, [mut sender, mut receiver]) = tcp(Direction::Both);
    let part = |end: &EndpointRecord, role| PartRecord {
        role,
        in_effect: Vec::new(),
        all: FlowRecord {
            counts: end.counts,
            tcp_info: end.tcp_info.clone(),
            ..FlowRecord::default()
        },
        flows: end.flows.clone(),
    };
    // The mirrored direction carries half as much, and is otherwise the same.
    let (_, [mut back, mut taken]) = tcp(Direction::Forward);
    back.counts.measured.bytes /= 2;
    taken.counts.measured.bytes /= 2;
    for (end, mirror, role) in [
        (&mut sender, &taken, Role::Receiver),
        (&mut receiver, &back, Role::Sender),
    ] {
        end.background = vec![part(mirror, role)];
        for (sample, theirs) in end.samples.iter_mut().zip(&mirror.samples) {
            let mut part = PartSample::default();
            part.counts.bytes = theirs.counts.bytes / 2;
            part.tcp_info = theirs.tcp_info.clone();
            sample.background = vec![part];
        }
    }
    let own = document(&(conditions, [sender, receiver]));
    assert_snapshot!(pretty(&json!([own["intervals"], own["end"]])));
    assert_eq!(more_than(BIDIR, &own), [".start.test_start.bidir"]);
}

#[test]
fn each_flow_of_datagrams_tells_its_share_of_loss() {
    let (_, [mut sender, mut receiver]) = tcp(Direction::Forward);
    let conditions = Conditions::of(Workload::UdpStream);
    sender.flows[0].counts.measured.messages = 200;
    let sequence = Sequence {
        measured_sent: 200,
        measured_lost: 50,
        ..Sequence::default()
    };
    (receiver.flows[0].sequence, receiver.sequence) = (Some(sequence), Some(sequence));
    let own = document(&(conditions, [sender, receiver]));
    assert_eq!(own["end"]["streams"][0]["udp"]["lost_percent"], 25.0);
}

#[test]
fn transactions_are_none_of_iperf3_s() {
    let (mut conditions, [sender, receiver]) = tcp(Direction::Forward);
    conditions.workload = Workload::TcpCrr;
    let run = view(&sender, &receiver, &conditions, false);
    assert!(iperf3(&run, &[], None, "0.1.0").is_none());
}
