//! The session of a plain test in the corpus of the fuzz target `session`: made from the types of the control
//! protocol, so that it is one of this version.

use std::path::Path;

use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::protocol::{
    Addresses, FromAgent, PROTOCOL, Part, Peer, Prepare, Route, Start, ToAgent,
};
use bitcost_model::record::{EndpointRecord, Role};
use serde::Serialize;

use crate::corpora::fuzz;

/// What the service's host is told to do.
fn prepare(listen_on: [u8; 4]) -> Prepare {
    Prepare {
        run: 1,
        device: "eth0".to_owned(),
        cpus: Vec::new(),
        peer_cpu: None,
        softirq_cpus: Vec::new(),
        token: [7; 16],
        parts: vec![Part {
            role: Role::Receiver,
            conditions: Conditions::of(Workload::TcpStream),
            listen_on: Some(listen_on.into()),
        }],
        receiving: None,
        peer: Peer::Bitcost,
        confinement: None,
        profile_hz: None,
    }
}

/// The messages of a client, each with the agent's answer.
fn messages() -> Vec<(ToAgent, FromAgent)> {
    let (peer, local) = ([192, 0, 2, 1], [192, 0, 2, 2]);
    let version = || "0.1.0".to_owned();
    let addresses = |host: [u8; 4]| -> Addresses { vec![vec![(host, 40_000).into()]] };
    let sent = vec![vec![[100, 120]]];
    let at = |second: u64| (1_000 + second) * 1_000_000_000;
    let start = Start {
        begin_ns: at(1),
        window_start_ns: at(2),
        window_end_ns: at(4),
        stop_ns: at(5),
    };
    let listening = FromAgent::Listening {
        addresses: addresses(local),
        origin: None,
    };
    let route = Route {
        device: "eth0".to_owned(),
        source: local.into(),
        is_local: false,
    };
    vec![
        (
            ToAgent::Hello {
                protocol: PROTOCOL,
                version: version(),
            },
            FromAgent::Hello {
                protocol: PROTOCOL,
                version: version(),
            },
        ),
        (ToAgent::Route { to: peer.into() }, FromAgent::Route(route)),
        (ToAgent::Prepare(Box::new(prepare(local))), listening),
        (
            ToAgent::Meet {
                addresses: addresses(peer),
                origin: None,
            },
            FromAgent::Ready,
        ),
        (ToAgent::Clock, FromAgent::Clock { now_ns: at(0) }),
        (
            ToAgent::Start(start),
            FromAgent::Sent { sent: sent.clone() },
        ),
        (ToAgent::Renew, FromAgent::Alive),
        (
            ToAgent::Finish { sent },
            FromAgent::Done(Box::<EndpointRecord>::default()),
        ),
        (ToAgent::Stop, FromAgent::Stopped),
    ]
}

/// A step of the session: its word, and a message.
fn line(word: &str, message: &impl Serialize) -> String {
    format!("{word} {}\n", serde_json::to_string(message).unwrap())
}

#[test]
fn a_plain_test_reaches_the_agent_whole() {
    let messages = messages();
    let lines = messages
        .iter()
        .map(|(client, agent)| line("client", client) + &line("agent", agent));
    let session: String = lines.collect();
    assert_eq!(fuzz::passed(session.as_bytes()) as usize, messages.len());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/session/test");
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&file, &session).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(
        kept == session,
        "{} is of another version: INSTA_UPDATE=always cargo test -p bitcost --test cli sessions",
        file.display()
    );
}
