//! Hostile clients: events of their connections that nobody takes are bounded, and another version is not served.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConnection;

use super::{Served, soon};
use crate::stream::Secure;
use crate::tls;

#[test]
fn connections_wait_for_events_that_nobody_takes() {
    let served = Served::start();
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
    drop(served.next_client());
    let events = served.stop();
    let failed = events.iter().filter(|event| event.starts_with("Failed"));
    assert_eq!(failed.count(), opened);
}

#[test]
fn another_version_is_not_served() {
    let served = Served::start();
    let mut config = (*tls::of_client(served.link.service).expect("a configuration")).clone();
    config.alpn_protocols = vec![b"bitcost/0".to_vec()];
    let tls = ClientConnection::new(Arc::new(config), tls::no_name()).expect("a client");
    let socket = TcpStream::connect(served.address()).expect("connected");
    let mut secure = Secure::new(socket, tls).expect("a connection");
    let error = secure.handshake(soon()).expect_err("refused").to_string();
    assert!(error.contains("NoApplicationProtocol"), "{error}");
    drop(served.next_client());
    let events = served.stop();
    let is_failed = |event: &String| event.starts_with("Failed");
    assert!(events.iter().any(is_failed), "{events:?}");
}
