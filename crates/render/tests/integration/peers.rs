//! Results in iperf3's form, compared with what iperf3 prints: paths of JSON and units.

use crate::common::{Did, STUDY, ended, findings, log, plain};
use bitcost_analysis::cells::RunRow;
use bitcost_analysis::metrics::RunView;
use bitcost_model::conditions::{Conditions, Direction, Workload};
use bitcost_model::event::Event;
use bitcost_model::record::{
    Counts, EndpointRecord, FlowRecord, PartRecord, PartSample, PhaseCounts, Role, Sample,
    Sequence, TcpInfo,
};
use bitcost_model::study::Cell;
use bitcost_render::iperf3::iperf3;
use serde_json::Value as Json;

/// What iperf3 3.12 printed.
const TCP: &str = include_str!("../../../import/tests/fixtures/iperf3/iperf3-tcp.json");
const UDP: &str = include_str!("../../../import/tests/fixtures/iperf3/iperf3-udp.json");
const BIDIR: &str = include_str!("../../../import/tests/fixtures/iperf3/iperf3-tcp-bidir.json");

fn events(study: &str) -> Vec<Event> {
    log(study, 1, |cell, planned| {
        let did = plain(cell, planned);
        ended(
            cell,
            &Did {
                sent_mbps: did.sent_mbps * 1.25,
                ..did
            },
        )
    })
}

/// Hands over each run with a result.
fn each_run(events: &[Event], take: &mut dyn FnMut(&RunRow, &Cell, &RunView)) {
    findings(events).each_run(|_| true, take);
}

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

#[test]
fn json_has_no_path_that_iperf3_has_not_and_those_that_scripts_read() {
    let events = events(STUDY);
    each_run(&events, &mut |row, cell, view| {
        let own = iperf3(view, Some("2026-11-21T10:00:00+01:00"), "0.1.0").expect("a stream");
        let real: Json = serde_json::from_str(if cell.name().contains("UDP") {
            UDP
        } else {
            TCP
        })
        .expect("JSON");
        let (own_paths, real_paths) = (paths_of(&own), paths_of(&real));
        let more: Vec<&String> = own_paths
            .iter()
            .filter(|path| !real_paths.contains(path))
            .collect();
        assert!(more.is_empty(), "{}: {more:?}", cell.name());
        for path in [
            "/end/sum_received/bits_per_second",
            "/end/sum_sent/bytes",
            "/intervals/0/sum/bits_per_second",
        ] {
            assert!(
                own.pointer(path).is_some_and(Json::is_number),
                "{path} of run {}: {own:#}",
                row.run
            );
        }
        for path in ["/start/test_start/protocol", "/start/version"] {
            assert!(own.pointer(path).is_some_and(Json::is_string), "{path}");
        }
        let rate = own["end"]["sum_received"]["bits_per_second"]
            .as_f64()
            .expect("a rate");
        let expected = if cell.name().starts_with("1024") {
            1024e6
        } else {
            2048e6
        };
        assert!((rate - expected).abs() < 1e5, "{rate}");
    });
}

/// `TCP_INFO` of a connection with this number of retransmitted segments, this round-trip time and
/// this window.
fn info(total_retrans: u32, rtt_us: u32, snd_cwnd_segments: u32) -> TcpInfo {
    let of = |value| Some(value);
    TcpInfo {
        total_retrans: of(total_retrans),
        rtt_us: of(rtt_us),
        snd_cwnd_segments: of(snd_cwnd_segments),
        snd_mss_bytes: of(1000),
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
    let run = RunView {
        sender,
        receiver,
        conditions,
        shared_cpus: false,
        napi_threaded: false,
        capacity_mbps: None,
    };
    iperf3(&run, Some("2026-11-21T10:00:00.5+01:00"), "0.1.0").expect("a stream")
}

#[test]
fn what_was_retransmitted_is_that_of_the_window_and_state_is_of_all_samples() {
    let own = document(&tcp(Direction::Forward));
    let stream = &own["end"]["streams"][0]["sender"];
    for again in [
        &own["end"]["sum_sent"]["retransmits"],
        &stream["retransmits"],
    ] {
        assert_eq!(again, 10, "as the intervals, 7 and 3: {own:#}");
    }
    let again: Vec<&Json> = [0, 1]
        .map(|place| &own["intervals"][place]["sum"]["retransmits"])
        .to_vec();
    assert_eq!(again, [7, 3]);
    assert_eq!(
        (&stream["min_rtt"], &stream["mean_rtt"], &stream["max_rtt"]),
        (&100.into(), &250.into(), &400.into())
    );
    assert_eq!(stream["max_snd_cwnd"], 40_000);
    assert_eq!(own["intervals"][0]["sum"]["bytes"], 1_000_000);
    assert_eq!(
        own["start"]["timestamp"]["time"],
        "Sat, 21 Nov 2026 09:00:00 GMT"
    );
    assert_eq!(own["start"]["timestamp"]["timesecs"], 1_795_251_600);
}

#[test]
fn a_receiving_client_tells_nothing_of_the_sender_s_connection() {
    let own = document(&tcp(Direction::Reverse));
    let stream = &own["intervals"][0]["streams"][0];
    assert_eq!(
        (&stream["bytes"], &stream["sender"]),
        (&950_000.into(), &false.into())
    );
    for name in ["rtt", "snd_cwnd", "retransmits"] {
        assert!(
            stream.get(name).is_none(),
            "{name} of the receiver's own: {stream}"
        );
    }
    assert_eq!(own["end"]["sum_sent"]["retransmits"], 10);
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
            let counts = Counts {
                bytes: theirs.counts.bytes / 2,
                ..Counts::default()
            };
            sample.background = vec![PartSample {
                counts,
                tcp_info: theirs.tcp_info.clone(),
                ..PartSample::default()
            }];
        }
    }
    let own = document(&(conditions, [sender, receiver]));
    let end = &own["end"];
    assert_eq!(
        (
            &end["sum_sent"]["bytes"],
            &end["sum_sent_bidir_reverse"]["bytes"]
        ),
        (&2_000_000.into(), &1_000_000.into())
    );
    assert_eq!(end["sum_received_bidir_reverse"]["bytes"], 950_000);
    assert_eq!(end["sum_sent_bidir_reverse"]["retransmits"], 10);
    let sockets: Vec<(&Json, &Json)> = end["streams"]
        .as_array()
        .expect("streams")
        .iter()
        .map(|stream| (&stream["sender"]["socket"], &stream["sender"]["sender"]))
        .collect();
    assert_eq!(
        sockets,
        [(&5.into(), &true.into()), (&6.into(), &false.into())]
    );
    let interval = &own["intervals"][0];
    assert_eq!(
        (
            &interval["sum"]["bytes"],
            &interval["sum_bidir_reverse"]["bytes"]
        ),
        (&1_000_000.into(), &475_000.into())
    );
    let real = paths_of(&serde_json::from_str(BIDIR).expect("JSON"));
    let more: Vec<String> = paths_of(&own)
        .into_iter()
        .filter(|path| !real.contains(path) && path != ".start.test_start.bidir")
        .collect();
    assert_eq!(more, [""; 0]);
}

#[test]
fn each_flow_of_datagrams_tells_its_share_of_loss() {
    let (_, [mut sender, mut receiver]) = tcp(Direction::Forward);
    let conditions = Conditions {
        workload: Workload::UdpStream,
        ..Conditions::default()
    };
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
    let (conditions, [sender, receiver]) = tcp(Direction::Forward);
    let conditions = Conditions {
        workload: Workload::TcpCrr,
        ..conditions
    };
    let run = RunView {
        sender: &sender,
        receiver: &receiver,
        conditions: &conditions,
        shared_cpus: false,
        napi_threaded: false,
        capacity_mbps: None,
    };
    assert!(iperf3(&run, None, "0.1.0").is_none());
}
