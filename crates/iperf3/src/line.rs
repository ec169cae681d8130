//! A test in a line for people.

use std::fmt::Write as _;

use bitcost_model::conditions::Direction;
use bitcost_model::units::counted;

use crate::params::Params;
use crate::results::StreamResult;

/// The figures of a test that took this many seconds, without the omitted ones.
pub fn of_test(params: &Params, seconds: f64, results: &[StreamResult]) -> String {
    let protocol = if params.is_udp { "UDP" } else { "TCP" };
    let direction = match params.direction {
        Direction::Forward => "to this host",
        Direction::Reverse => "from this host",
        Direction::Both => "both ways",
    };
    let flows = counted(params.streams, "flow");
    let mut line = format!("{protocol} {direction}, {flows}, {seconds:.1} s:");
    let mut separator = " ";
    for (receives, what) in [(true, "received"), (false, "sent")] {
        let streams = results.iter().zip(params.receives());
        let streams = streams.filter(|(_, other)| *other == receives);
        let streams: Vec<&StreamResult> = streams.map(|(stream, _)| stream).collect();
        if streams.is_empty() {
            continue;
        }
        let bytes: u64 = streams.iter().map(|stream| stream.bytes).sum();
        let rate = rate(bytes, seconds);
        let _ = write!(line, "{separator}{what} {bytes} bytes{rate}");
        separator = "; ";
        if params.is_udp && receives {
            line += &loss(&streams);
        }
        let retransmits: Option<u64> = streams.iter().map(|stream| stream.retransmits).sum();
        if let (Some(count), false) = (retransmits, params.is_udp) {
            let _ = write!(line, ", {count} segments retransmitted");
        }
    }
    line
}

/// The rate of these bytes, with a comma in front; nothing for a test that took no time.
fn rate(bytes: u64, seconds: f64) -> String {
    match seconds > 0.0 {
        true => format!(", {:.2} Mbit/s", bytes as f64 * 8.0 / seconds / 1e6),
        false => String::new(),
    }
}

/// Loss and jitter, with a comma in front.
fn loss(streams: &[&StreamResult]) -> String {
    // Their numbers are what the client sent.
    let (mut lost, mut of) = (0_u64, 0_u64);
    for result in streams {
        lost = lost.saturating_add(result.errors.saturating_sub(result.omitted_errors));
        of = of.saturating_add(result.packets.saturating_sub(result.omitted_packets));
    }
    let mut text = format!(", {lost} of {of} datagrams lost");
    if of > 0 {
        let _ = write!(text, " ({:.2} %)", lost as f64 / of as f64 * 100.0);
    }
    let jitters = streams.iter().filter_map(|stream| stream.jitter);
    if let Some(jitter) = jitters.reduce(f64::max) {
        let _ = write!(text, ", jitter {:.3} ms", jitter * 1000.0);
    }
    text
}
