//! What a server tells about its clients.

use std::fmt::Write as _;
use std::net::SocketAddr;

use bitcost_model::conditions::Direction;

use crate::params::Params;
use crate::protocol::Refusal;
use crate::results::StreamResult;

#[derive(Clone, Debug)]
pub enum Event {
    Test(Box<Test>),
    Refused { peer: SocketAddr, refusal: Refusal },
    Failed { peer: SocketAddr, reason: String },
}

#[derive(Clone, Debug)]
pub struct Test {
    pub peer: SocketAddr,
    pub params: Params,
    /// Seconds from the start of the data to their end, without the omitted time.
    pub seconds: f64,
    pub streams: Vec<Stream>,
    /// CPU time of the threads of this test in percent of one CPU: in all, user, kernel.
    pub cpu_pct: [f64; 3],
    /// Why it ended before the client ended it; absent where it did not.
    pub ended: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Stream {
    pub receives: bool,
    pub result: StreamResult,
    /// The congestion control in effect; absent for UDP.
    pub congestion: Option<String>,
}

impl Test {
    pub fn line(&self) -> String {
        let params = &self.params;
        let protocol = if params.is_udp { "UDP" } else { "TCP" };
        let direction = match params.direction {
            Direction::Forward => "to this host",
            Direction::Reverse => "from this host",
            Direction::Both => "both ways",
        };
        let flows = bitcost_model::units::counted(params.streams, "flow");
        let seconds = self.seconds;
        let mut line = format!("{protocol} {direction}, {flows}, {seconds:.1} s:");
        let mut separator = " ";
        for receives in [true, false] {
            if let Some(figures) = self.direction(receives) {
                let _ = write!(line, "{separator}{figures}");
                separator = "; ";
            }
        }
        if let Some(ended) = &self.ended {
            let _ = write!(line, "; {ended}");
        }
        line
    }

    pub fn bytes(&self) -> u64 {
        self.streams.iter().map(|stream| stream.result.bytes).sum()
    }

    /// The figures of all streams of a direction; absent where there is none.
    fn direction(&self, receives: bool) -> Option<String> {
        let streams: Vec<&Stream> = self
            .streams
            .iter()
            .filter(|stream| stream.receives == receives)
            .collect();
        if streams.is_empty() {
            return None;
        }
        let bytes: u64 = streams.iter().map(|stream| stream.result.bytes).sum();
        let what = if receives { "received" } else { "sent" };
        let rate = rate(bytes, self.seconds);
        let mut text = format!("{what} {bytes} bytes{rate}");
        if self.params.is_udp && receives {
            text += &loss(&streams);
        }
        let retransmits: Option<u64> = streams.iter().map(|stream| stream.result.retransmits).sum();
        if let (Some(count), false) = (retransmits, self.params.is_udp) {
            let _ = write!(text, ", {count} segments retransmitted");
        }
        Some(text)
    }
}

/// The rate of these bytes, with a comma in front; nothing for a test that took no time.
fn rate(bytes: u64, seconds: f64) -> String {
    match seconds > 0.0 {
        true => format!(", {:.2} Mbit/s", bytes as f64 * 8.0 / seconds / 1e6),
        false => String::new(),
    }
}

/// Loss and jitter, with a comma in front.
fn loss(streams: &[&Stream]) -> String {
    let (mut lost, mut of) = (0, 0);
    for Stream { result, .. } in streams {
        lost += result.errors.saturating_sub(result.omitted_errors);
        of += result.packets.saturating_sub(result.omitted_packets);
    }
    let mut text = format!(", {lost} of {of} datagrams lost");
    if of > 0 {
        let _ = write!(text, " ({:.2} %)", lost as f64 / of as f64 * 100.0);
    }
    let jitters = streams.iter().filter_map(|stream| stream.result.jitter);
    if let Some(jitter) = jitters.reduce(f64::max) {
        let _ = write!(text, ", jitter {:.3} ms", jitter * 1000.0);
    }
    text
}
