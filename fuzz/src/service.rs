//! What clients and services of bitcost send each other, and the links that users are given.

use bitcost_service::address::{HostPort, PORT};
use bitcost_service::link::Link;
use bitcost_service::message::{Answer, OPENING_BYTES_MAX, read_frame};

use super::text;

/// What a client and a service say before the control protocol begins: none is taken over the limit, and what is refused is shown
/// without control characters.
pub fn service(bytes: &[u8]) {
    let mut left = bytes;
    while let Ok(text) = read_frame(&mut left, OPENING_BYTES_MAX) {
        assert!(text.len() <= OPENING_BYTES_MAX);
        if let Err(why) = Answer::read(&text) {
            assert!(!why.contains('\u{1b}'), "{why:?}");
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
