//! Clients and services of other versions: the same protocols work together, and others say both
//! versions.

use std::net::TcpListener;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bitcost_model::protocol::PROTOCOL;
use rustls::ServerConnection;
use serde_json::{Value, json};

use super::{Served, resolve, soon};
use crate::client::{ANSWER_BYTES_MAX, Unreached, check, open_with};
use crate::frames::{Frames, frame};
use crate::known::{Client, Known};
use crate::message::{Answer, SERVICE};
use crate::own_key::OwnKey;
use crate::rules::Rules;
use crate::secure::Secure;
use crate::stream::Stream;
use crate::tls;

const OWN: &str = env!("CARGO_PKG_VERSION");

/// What a service of this version answers a client with this first message.
fn answered(client: &Client, known: &Known, first: &Value) -> Answer {
    let mut opened = open_with(client, known, &frame(first), &resolve).expect("open");
    let text = opened.secure.read_frame(&mut opened.frames, soon());
    serde_json::from_slice(&text.expect("an answer")).expect("an answer")
}

#[test]
fn a_client_of_another_version_is_served_or_told_both() {
    let served = Served::start();
    let (client, known, _folder) = served.client("alice", Rules::default());
    let hello = |service: u32, protocol: u32, wants: Value| {
        json!({
            "service": service, "protocol": protocol, "version": "9.9.9", "wants": wants,
            "later": { "field": true },
        })
    };
    let same = hello(SERVICE, PROTOCOL, json!("check"));
    assert_eq!(answered(&client, &known, &same), Answer::welcome());
    for other in [
        hello(SERVICE, PROTOCOL + 1, json!("agent")),
        hello(SERVICE, PROTOCOL - 1, json!({ "earlier": [1, 2] })),
        hello(SERVICE + 1, PROTOCOL, json!({ "later": {} })),
    ] {
        let Answer::Refused { rule } = answered(&client, &known, &other) else {
            panic!("{other} is served");
        };
        for part in ["the client is bitcost 9.9.9", OWN, "use the same bitcost"] {
            assert!(rule.contains(part), "{other}: {rule}");
        }
    }
    // The service goes on.
    assert_eq!(check(&client, &known, &resolve), Ok(None));
    drop(served.stop());
}

/// A service that proves its key and gives one client this answer.
fn of_another_version(answer: Value) -> (Known, tempfile::TempDir, JoinHandle<()>) {
    let folder = tempfile::tempdir().expect("a folder");
    let own = OwnKey::of_folder(folder.path()).expect("a key");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let known = Known {
        host: "127.0.0.1".to_owned(),
        port: listener.local_addr().expect("an address").port(),
        service: own.fingerprint,
        enrolled_s: 0,
    };
    let serving = std::thread::spawn(move || {
        let (socket, _) = listener.accept().expect("a client");
        let tls = ServerConnection::new(
            tls::of_service(
                &own.public,
                own.certified.key.clone(),
                tls::Proved::default(),
            )
            .expect("TLS"),
        )
        .expect("TLS");
        let mut secure = Secure::new(socket, tls).expect("a connection");
        let until = Instant::now() + Duration::from_secs(10);
        secure.handshake(until).expect("keys are proved");
        let mut frames = Frames::new(ANSWER_BYTES_MAX);
        secure.read_frame(&mut frames, until).expect("a message");
        secure.send(&frame(&answer), until).expect("sent");
        secure.close(until);
    });
    (known, folder, serving)
}

#[test]
fn a_service_of_another_version_is_used_with_a_note_or_both_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let client = Client::of(folder.path());
    let asked = |answer: Value| {
        let (known, _folder, serving) = of_another_version(answer);
        let result = check(&client, &known, &resolve);
        serving.join().expect("it answers");
        result
    };
    let welcome = |protocol: u32| json!({ "welcome": { "protocol": protocol, "version": "9.9.9", "later": 1 } });
    let note = asked(welcome(PROTOCOL)).expect("it works");
    let note = note.expect("a note");
    assert!(note.contains("9.9.9") && note.contains(OWN), "{note}");
    for (answer, parts) in [
        (welcome(PROTOCOL + 1), ["bitcost 9.9.9", OWN]),
        (
            json!({ "later": {} }),
            ["not one of this version", "same bitcost"],
        ),
    ] {
        let Err(Unreached::Refused { why, .. }) = asked(answer) else {
            panic!("it works");
        };
        assert!(parts.iter().all(|part| why.contains(part)), "{why}");
    }
}
