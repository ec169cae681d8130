//! What clients and services of bitcost send each other, and the links that users are given.

use std::net::{IpAddr, SocketAddr};

use bitcost_model::protocol::ToAgent;
use bitcost_service::address::{HostPort, PORT};
use bitcost_service::link::Link;
use bitcost_service::message::{Answer, Hello, OPENING_BYTES_MAX, frame, read_frame, refused};
use bitcost_service::policy::{Policy, Rules};

use super::text;

/// The messages of a client before and after it shows the link: none is taken over the limit, and what the
/// rules allow is the same message once more when the service passes it on.
pub fn service(bytes: &[u8]) {
    let policy = Policy {
        rules: Rules::default(),
        peer: IpAddr::from([192, 0, 2, 1]),
        local: IpAddr::from([192, 0, 2, 2]),
        listening: SocketAddr::from(([192, 0, 2, 2], 7351)),
        device: "eth0".to_owned(),
    };
    let mut left = bytes;
    loop {
        match read_frame(&mut left, OPENING_BYTES_MAX) {
            Ok(text) => {
                assert!(text.len() <= OPENING_BYTES_MAX);
                opening(&text);
                judged(&policy, &text);
            }
            // It states too long a message, or the rest is none.
            Err(error) => return assert!(refused(&error).is_some() || left.is_empty()),
        }
    }
}

fn opening(text: &[u8]) {
    if let Err(why) = Hello::read(text) {
        assert!(!why.0.contains(char::is_control), "{why:?}");
    }
    let _ = Answer::read(text);
}

fn judged(policy: &Policy, text: &[u8]) {
    let Ok(message) = serde_json::from_slice::<ToAgent>(text) else {
        return;
    };
    match policy.judge(message, 0) {
        Err(why) => assert!(!why.0.is_empty()),
        Ok(judged) => {
            let passed = frame(&judged);
            let again: ToAgent = serde_json::from_slice(&passed[4..]).expect("the same message");
            assert_eq!(policy.judge(again.clone(), 0).as_ref(), Ok(&again));
            if let ToAgent::Prepare(prepare) = &again {
                let confinement = prepare.confinement.as_ref();
                assert_eq!(confinement.map(|to| to.peer), Some(policy.peer));
            }
            if let ToAgent::Meet { addresses, .. } = &again {
                let is_peer = |ip: IpAddr| ip.to_canonical() == policy.peer;
                assert!(
                    addresses
                        .iter()
                        .flatten()
                        .all(|address| is_peer(address.ip()))
                );
            }
        }
    }
}

/// A link, and a host with its port: what is read is written the same way.
pub fn link(bytes: &[u8]) {
    let text = text(bytes);
    if let Ok(link) = Link::parse(text) {
        assert_eq!(Link::parse(&link.to_string()), Ok(link));
    }
    if let Ok(at) = HostPort::parse(text, PORT) {
        assert!(!at.host.contains(['/', '@', ' ']), "{at}");
        assert_eq!(HostPort::parse(&at.to_string(), PORT), Ok(at));
    }
}
