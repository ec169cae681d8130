//! What iperf3 sends to bitcost over the network: clients and servers.

use std::time::Duration;

use bitcost_iperf3::client::record::record_of;
use bitcost_iperf3::limits::Limits;
use bitcost_iperf3::params::Params;
use bitcost_iperf3::results::Results;
use bitcost_iperf3::server::cookie_of;
use bitcost_iperf3::udp::answer;
use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::protocol::Part;
use bitcost_model::record::Role;

/// The first byte says what follows: a text, or datagrams, or a connection's beginning. Nothing
/// panics, nothing grows beyond its limit, and what is admitted is bounded.
pub fn iperf3_peer(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else {
        return;
    };
    match kind {
        b'P' => params(rest),
        b'R' => results(rest),
        b'D' => datagrams(rest),
        _ => {
            let cookie = rest
                .split_first_chunk()
                .map(|(cookie, rest)| (cookie_of(*cookie), rest));
            if let Some((Ok(_), [_, _, _, _, text @ ..])) = cookie {
                params(text);
            }
        }
    }
}

fn params(text: &[u8]) {
    let Ok(params) = Params::read(text) else {
        return;
    };
    assert!((1..=128).contains(&params.streams) && (1..=1 << 20).contains(&params.length));
    assert!(!params.is_udp || (16..=65_507).contains(&params.length));
    let limits = Limits {
        duration: Duration::from_secs(3600),
        bitrate: Some(1_000_000),
        clients: 1,
        flows: 1,
    };
    if limits.check(&params).is_ok() {
        assert!(limits.time_of(&params) <= Duration::from_secs(3700));
        assert!(params.total_bitrate().is_some_and(|rate| rate <= 1_000_000));
    }
}

fn results(text: &[u8]) {
    if let Ok(results) = Results::read(text) {
        let written = serde_json::to_vec(&results).expect("results are JSON");
        let again = Results::read(&written).expect("own results are read");
        assert_eq!(again.streams.len(), results.streams.len());
    }
}

/// The results of an iperf3 server of a test with several flows, both ways: a record is made of them or
/// refused, whatever the server counted.
pub fn iperf3_client(bytes: &[u8]) {
    let Some((kind, text)) = bytes.split_first() else {
        return;
    };
    let Ok(results) = Results::read(text) else {
        return;
    };
    let is_udp = kind % 2 == 1;
    let workload = if is_udp {
        Workload::UdpStream
    } else {
        Workload::TcpStream
    };
    let conditions = Conditions {
        flows: u32::from(kind / 2 % 4) + 1,
        ..Conditions::of(workload)
    };
    let part = |role: Role| Part {
        role,
        conditions: conditions.clone(),
        listen_on: None,
    };
    let parts = [part(Role::Receiver), part(Role::Sender)];
    let theirs = vec![vec![[700, 1000]; conditions.flows as usize], Vec::new()];
    if let Ok(record) = record_of(&results, &parts, &theirs, [0, 1]) {
        assert_eq!(record.flows.len(), conditions.flows as usize);
        assert!(record.window_seconds() > 0.0);
        if let Some(sequence) = record.sequence {
            assert!(sequence.measured_lost <= sequence.measured_sent);
        }
    }
}

/// Datagrams of 20 bytes; each is answered with no more than it has.
fn datagrams(bytes: &[u8]) {
    for datagram in bytes.chunks(20) {
        assert!(answer(datagram).is_none_or(|answer| answer.len() <= datagram.len()));
    }
}
