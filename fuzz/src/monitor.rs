//! What monitoring asks `bitcost serve` over HTTP.

use std::net::IpAddr;

use bitcost_service::monitor::counts::{Counts, Peer, Tested};
use bitcost_service::monitor::http::response;
use bitcost_service::monitor::text::text as figures;

/// Any request is answered in HTTP; the figures are given to whole requests for them alone, and hold
/// their format whatever a client calls itself.
pub fn metrics(bytes: &[u8]) {
    let counts = Counts::default();
    let key = Peer::Key {
        name: super::text(bytes).to_owned(),
        key: "key".to_owned(),
    };
    counts.tested("bitcost", key, Tested::default());
    let address = Peer::Address(IpAddr::from([192, 0, 2, 7]));
    counts.tested("iperf3", address, Tested::default());
    let answer = response(bytes, &figures(&counts));
    let (head, body) = answer.split_once("\r\n\r\n").expect("fields, then a body");
    assert!(head.starts_with("HTTP/1.1 "), "{head}");
    if head.starts_with("HTTP/1.1 200 ") {
        assert!(bytes.starts_with(b"GET /") || bytes.starts_with(b"HEAD /"));
    }
    let is_figure = |line: &str| line.starts_with("bitcost_") || line.starts_with("# ");
    if bytes.starts_with(b"GET") && head.starts_with("HTTP/1.1 200 ") {
        assert!(body.lines().all(is_figure), "{body}");
    }
}
