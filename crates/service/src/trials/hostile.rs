//! Hostile clients that proved a key: what they send is bounded, and so is what they leave unread.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use bitcost_model::protocol::ToAgent;
use rustls::ClientConnection;
use rustls::sign::CertifiedKey;

use super::{Served, agent, check, resolve, soon};
use crate::frames::{Frames, frame};
use crate::judge::REFUSED_MAX;
use crate::message::{Answer, Hello, Wants};
use crate::own_key::OwnKey;
use crate::rules::Rules;
use crate::secure::Secure;
use crate::stream::Stream;
use crate::tls;

fn describe(device: &str) -> Vec<u8> {
    frame(&ToAgent::Describe {
        device: device.to_owned(),
    })
}

#[test]
fn a_thousand_refused_messages_end_the_session() {
    let served = Served::start();
    let (client, known, _folder) = served.client("mallory", Rules::default());
    let (mut opened, answer) = agent(&client, &known);
    assert_eq!(answer, Answer::welcome());
    // A sentence that quotes what was sent is cut.
    let long = describe(&"../".repeat(10_000));
    for _ in 0..1000 {
        // The service may have ended the session.
        let _ = opened.secure.send(&long, soon());
    }
    let mut answers = Vec::new();
    while let Ok(text) = opened.secure.read_frame(&mut opened.frames, soon()) {
        answers.push(String::from_utf8_lossy(&text).into_owned());
    }
    assert!(answers.len() <= REFUSED_MAX as usize + 1);
    assert!(answers.iter().all(|answer| answer.len() < 4096));
    assert_eq!(check(&client, &known, &resolve), Ok(None));
    let events = served.stop();
    let is_named = |event: &String| {
        event.contains("mallory") && event.contains("more than 64 messages were refused")
    };
    assert!(events.iter().any(is_named), "{events:?}");
    let refused = events.iter().filter(|event| event.starts_with("Refused"));
    assert_eq!(refused.count(), REFUSED_MAX as usize);
}

#[test]
fn a_client_that_reads_nothing_is_read_no_further() {
    let served = Served::start();
    let (client, known, _folder) = served.client("mallory", Rules::default());
    let (mut opened, answer) = agent(&client, &known);
    assert_eq!(answer, Answer::welcome());
    // The agent returns each of them, and nobody takes it.
    let many = frame(&ToAgent::Renew).repeat(10_000);
    let mut taken = 0;
    while taken < 64 << 20 && opened.secure.send(&many, soon()).is_ok() {
        taken += many.len();
    }
    assert!(taken < 64 << 20, "the service takes whatever comes");
    drop(opened);
    assert_eq!(check(&client, &known, &resolve), Ok(None));
    drop(served.stop());
}

#[test]
fn a_key_is_not_proved_by_the_signature_of_another() {
    let served = Served::start();
    let (alice, known, _folder) = served.client("alice", Rules::default());
    let (mallory, _, _other) = served.client("mallory", Rules::default());
    let [alices, mallorys] = [&alice, &mallory].map(|client| client.own_key().expect("a key"));
    let chain = alices.certified.cert.clone();
    let forged = OwnKey {
        certified: Arc::new(CertifiedKey::new(chain, mallorys.certified.key.clone())),
        ..alices
    };
    let config = tls::of_client(&forged, served.key).expect("a configuration");
    let tls = ClientConnection::new(config, tls::no_name()).expect("a client");
    let socket = TcpStream::connect(served.address()).expect("connected");
    let mut secure = Secure::new(socket, tls).expect("a connection");
    // A client of TLS 1.3 has done its part before the service judges it.
    let _ = secure.handshake(soon());
    let _ = secure.send(&frame(&Hello::new(Wants::Agent)), soon());
    let answer = secure.read_frame(&mut Frames::new(1 << 20), soon());
    assert!(answer.is_err(), "{answer:?}");
    assert_eq!(check(&alice, &known, &resolve), Ok(None));
    let events = served.stop();
    let is_failed = |event: &String| event.starts_with("Failed") && event.contains("ignature");
    assert!(events.iter().any(is_failed), "{events:?}");
    assert!(!events.iter().any(|event| event.starts_with("Began")));
}

#[test]
fn connections_wait_for_events_that_nobody_takes() {
    let served = Served::start();
    let (client, known, _folder) = served.client("alice", Rules::default());
    let hold = served.hold.clone();
    let held = hold.lock().expect("no test failed");
    let mut opened = 0;
    let mut waiting = Vec::new();
    // Each is an event once it has ended; when too many wait, no other connection is ended.
    while waiting.is_empty() && opened < 4096 {
        let mut socket = TcpStream::connect(served.address()).expect("connected");
        opened += 1;
        let _ = socket.write_all(&[0xAB; 600]);
        let time = Some(Duration::from_secs(2));
        socket.set_read_timeout(time).expect("a time");
        match socket.read_to_end(&mut Vec::new()) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => waiting.push(socket),
            _ => {}
        }
    }
    assert!(opened < 1024, "events of {opened} connections wait");
    drop((held, waiting));
    assert_eq!(check(&client, &known, &resolve), Ok(None));
    let events = served.stop();
    let failed = events.iter().filter(|event| event.starts_with("Failed"));
    assert_eq!(failed.count(), opened);
}

#[test]
fn names_with_paths_leave_the_folder_of_keys_alone() {
    let served = Served::start();
    for name in ["../../etc/passwd", "/etc/passwd", "..\\..\\x\0"] {
        let (client, known, _folder) = served.client(name, Rules::default());
        assert_eq!(check(&client, &known, &resolve), Ok(None));
    }
    let folder = served.folder.path();
    let names = |part: &str| {
        let entries = std::fs::read_dir(folder.join(part)).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        names.collect::<Vec<_>>()
    };
    let keys = served.store().keys().expect("keys");
    let expected: Vec<String> = keys.iter().map(|(key, _)| format!("{key}.json")).collect();
    let found = names("keys");
    assert_eq!(found.len(), 3);
    for name in found {
        assert!(
            expected.iter().any(|expected| name == **expected),
            "{name:?}"
        );
    }
    assert_eq!(names("seen").len(), 3);
    drop(served.stop());
}

#[test]
fn another_protocol_over_tls_is_not_served() {
    let served = Served::start();
    let (client, known, _folder) = served.client("mallory", Rules::default());
    let own = client.own_key().expect("a key");
    let mut config = (*tls::of_client(&own, served.key).expect("a configuration")).clone();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let tls = ClientConnection::new(Arc::new(config), tls::no_name()).expect("a client");
    let socket = TcpStream::connect(served.address()).expect("connected");
    let mut secure = Secure::new(socket, tls).expect("a connection");
    assert!(secure.handshake(soon()).is_err());
    assert_eq!(check(&client, &known, &resolve), Ok(None));
    let events = served.stop();
    let is_failed = |event: &String| event.starts_with("Failed");
    assert!(events.iter().any(is_failed), "{events:?}");
}
