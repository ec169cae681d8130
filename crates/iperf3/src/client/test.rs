//! One test with a stock server, from its parameters to its results.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitcost_model::conditions::{Conditions, Direction};
use bitcost_model::protocol::{FromAgent, Part, Prepare, SentCounts, Start};
use bitcost_model::record::{EndpointRecord, FlowRecord, Role};
use bitcost_sys::clock::monotonic_ns;
use bitcost_sys::process::wait_readable;
use bitcost_traffic::iperf3::cookie;

use super::record::record_of;
use super::request::params;
use crate::control::{Control, Lost, STEP, unexpected};
use crate::protocol::{state, stream_id};
use crate::results::{Results, StreamResult};

/// How long the server may take to accept the control connection.
const CONNECT: Duration = Duration::from_secs(4);

/// How long a server that receives is given to take what has arrived at its host: it counts nothing
/// after the end of the test.
const DRAIN: Duration = Duration::from_millis(300);

/// How long a server is waited for to close a test that has ended, before which it refuses or resets the next one.
const CLOSES: Duration = Duration::from_secs(1);

/// Tells the controller that this agent lives, while the server does not answer.
pub type Alive<'a> = &'a mut dyn FnMut();

/// A test. Dropping it ends it.
pub struct Test {
    server: SocketAddr,
    prepare: Prepare,
    control: Control,
    /// Whether data flow: whatever the server says before the end is why it ends the test.
    is_running: bool,
    start: Option<Start>,
    is_over: bool,
}

impl Drop for Test {
    fn drop(&mut self) {
        if !self.is_over {
            let _ = self.control.send_state(state::CLIENT_TERMINATE);
        }
    }
}

impl Test {
    /// Asks the server for a test; the other endpoint may then connect.
    pub fn open(
        server: SocketAddr,
        control: Control,
        prepare: Prepare,
        alive: Alive,
    ) -> Result<Test, String> {
        let first = prepare.parts.first().ok_or("a run without any part")?;
        // The direction of the first part of a test both ways is forward.
        let params = params(&Conditions {
            direction: direction(&prepare.parts),
            ..first.conditions.clone()
        })?;
        let mut test = Test {
            server,
            control,
            prepare,
            is_running: false,
            start: None,
            is_over: false,
        };
        let until = Instant::now() + CLOSES;
        let mut first = test.next(alive);
        while first.is_err() && Instant::now() < until {
            std::thread::sleep(CLOSES / 4);
            alive();
            let Ok(again) = connect(server, &test.prepare) else {
                break;
            };
            test.control = again;
            first = test.next(alive);
        }
        match first.map_err(|why| test.no_server(&why))? {
            state::PARAM_EXCHANGE => {}
            state::ACCESS_DENIED => {
                return Err(format!(
                    "the iperf3 server at {server} is busy with another client; try later"
                ));
            }
            byte => return Err(test.no_server(&unexpected(byte))),
        }
        let sent = test.control.send_text(&params);
        sent.map_err(|lost| test.lost(&lost))?;
        test.expect(state::CREATE_STREAMS, alive)?;
        Ok(test)
    }

    pub fn listening(&self) -> FromAgent {
        FromAgent::Listening {
            addresses: vec![Some(self.server); self.prepare.parts.len()],
            origin: None,
        }
    }

    /// The connection on which the server may say why it ends a test that takes place.
    pub fn heard(&self) -> Option<BorrowedFd<'_>> {
        self.is_running.then(|| self.control.stream.as_fd())
    }

    /// Takes what the server said while data flow.
    pub fn listen(&mut self, _: Alive) -> Result<Vec<FromAgent>, String> {
        let said = self.heard().map(|of| wait_readable(of, Duration::ZERO));
        if let Some(Ok(true)) = said
            && let Some(byte) = self.control.byte().map_err(|lost| self.lost(&lost))?
        {
            return Err(self.ended(byte));
        }
        Ok(Vec::new())
    }

    /// Waits until the server has the connections of the other endpoint.
    pub fn meet(&mut self, alive: Alive) -> Result<Vec<FromAgent>, String> {
        self.expect(state::TEST_START, alive)?;
        self.expect(state::TEST_RUNNING, alive)?;
        self.is_running = true;
        Ok(vec![FromAgent::Ready])
    }

    pub fn start(&mut self, start: Start) -> Result<Vec<FromAgent>, String> {
        self.start = Some(start);
        Ok(Vec::new())
    }

    /// Ends the test: the other endpoint has sent these messages of its parts.
    pub fn finish(&mut self, theirs: &SentCounts, alive: Alive) -> Result<Vec<FromAgent>, String> {
        let start = self.start.take();
        let start = start.ok_or("the controller did not start the run")?;
        let ended_ns = monotonic_ns();
        let parts = &self.prepare.parts;
        if parts.iter().any(|part| part.role == Role::Receiver) {
            std::thread::sleep(DRAIN);
        }
        self.is_running = false;
        let sent = self.control.send_state(state::TEST_END);
        sent.map_err(|lost| self.lost(&lost))?;
        self.expect(state::EXCHANGE_RESULTS, alive)?;
        let ours = self.own_results(theirs);
        let sent = self.control.send_text(&ours);
        let results = sent.and_then(|()| self.control.text());
        let results = results.map_err(|lost| self.lost(&lost))?;
        let results = Results::read(&results).map_err(|why| self.no_server(&why.0))?;
        self.expect(state::DISPLAY_RESULTS, alive)?;
        let _ = self.control.send_state(state::IPERF_DONE);
        let _ = wait_readable(self.control.stream.as_fd(), CLOSES);
        self.is_over = true;
        let parts = &self.prepare.parts;
        let is_timed =
            |part: &Part| part.conditions.workload.is_datagram() && !part.conditions.is_bounded();
        let end_ns = match parts.first().is_some_and(is_timed) {
            true => start.window_end_ns,
            false => ended_ns,
        };
        let record = record_of(&results, parts, theirs, [start.window_start_ns, end_ns])
            .map_err(|why| format!("the iperf3 server at {} {why}", self.server))?;
        let sent = FromAgent::Sent {
            sent: sent_of(&record),
            stalled_ms: None,
        };
        Ok(vec![sent, FromAgent::Done(Box::new(record))])
    }

    fn next(&mut self, alive: Alive) -> Result<u8, String> {
        let until = Instant::now() + STEP;
        loop {
            match self.control.byte() {
                Ok(Some(byte)) => return Ok(byte),
                Ok(None) if Instant::now() < until => alive(),
                Ok(None) => return Err(format!("it has not answered for {STEP:?}")),
                Err(Lost::Closed(why)) => return Err(why),
                Err(lost) => return Err(self.lost(&lost)),
            }
        }
    }

    fn expect(&mut self, expected: u8, alive: Alive) -> Result<(), String> {
        let byte = self.next(alive);
        match byte.map_err(|why| format!("the iperf3 server at {}: {why}", self.server))? {
            byte if byte == expected => Ok(()),
            byte => Err(self.ended(byte)),
        }
    }

    fn ended(&mut self, byte: u8) -> String {
        let server = self.server;
        match byte {
            state::SERVER_TERMINATE => {
                format!("the iperf3 server at {server} was stopped in the middle of the test")
            }
            state::SERVER_ERROR => match self.control.numbers() {
                Ok([code, errno]) => format!(
                    "the iperf3 server at {server} refuses the test: iperf3's error {code}, errno {errno}"
                ),
                Err(_) => format!("the iperf3 server at {server} refuses the test"),
            },
            state::ACCESS_DENIED => {
                format!("the iperf3 server at {server} denies a connection of the test")
            }
            byte => format!("the iperf3 server at {server}: {}", unexpected(byte)),
        }
    }

    fn no_server(&self, why: &str) -> String {
        format!(
            "what answers at {} is not an iperf3 server, or is busy: {why}",
            self.server
        )
    }

    fn lost(&self, lost: &Lost) -> String {
        match lost {
            Lost::Closed(why) => format!(
                "the iperf3 server at {}: {why}; it may have been stopped",
                self.server
            ),
            Lost::Silent => format!("the iperf3 server at {} does not answer", self.server),
            Lost::Stopped => "stopped".to_owned(),
        }
    }

    /// What the other endpoint sent, as the server wants to know it.
    fn own_results(&self, theirs: &SentCounts) -> Results {
        let mut streams = Vec::new();
        for (part, sent) in self.prepare.parts.iter().zip(theirs) {
            let flows = part.conditions.flows as usize;
            for flow in 0..flows {
                let packets = sent.get(flow).map_or(0, |[_, total]| *total);
                let bytes = bytes_of(&part.conditions, flow as u64, packets);
                streams.push(StreamResult {
                    id: stream_id(streams.len()),
                    bytes,
                    packets,
                    ..StreamResult::default()
                });
            }
        }
        Results {
            streams,
            ..Results::default()
        }
    }
}

/// The direction of a run, seen from the sender's host, with these parts at the receiver's.
fn direction(parts: &[Part]) -> Direction {
    match parts {
        [_, _, ..] => Direction::Both,
        [part] if part.role == Role::Sender => Direction::Reverse,
        _ => Direction::Forward,
    }
}

/// The bytes of a flow's messages; the last one of a bounded flow may be shorter.
fn bytes_of(conditions: &Conditions, flow: u64, messages: u64) -> u64 {
    let bytes = messages * u64::from(conditions.message_size_bytes);
    let flows = u64::from(conditions.flows);
    let share = |whole: u64| whole / flows + u64::from(flow < whole % flows);
    bytes.min(conditions.stop_bytes.map_or(u64::MAX, share))
}

fn sent_of(record: &EndpointRecord) -> SentCounts {
    let of_part = |role: Role, flows: &[FlowRecord]| match role {
        Role::Receiver => Vec::new(),
        Role::Sender => flows
            .iter()
            .map(|flow| [flow.counts.measured.messages, flow.counts.total().messages])
            .collect(),
    };
    let background = record.background.iter();
    std::iter::once(of_part(record.role, &record.flows))
        .chain(background.map(|part| of_part(part.role, &part.flows)))
        .collect()
}

/// A new control connection; a server that cannot be reached is named.
pub fn connect(server: SocketAddr, prepare: &Prepare) -> Result<Control, String> {
    let stream = TcpStream::connect_timeout(&server, CONNECT);
    let control = stream.and_then(|stream| Control::new(stream, Arc::default()));
    let mut control = control.map_err(|error| unreachable(server, &error))?;
    // A server that is busy may close the connection before it has read this; what it said before is still there.
    let _ = control.send(&cookie(&prepare.token));
    Ok(control)
}

fn unreachable(server: SocketAddr, error: &io::Error) -> String {
    let hint = match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            "; nothing listens there: start `iperf3 -s` on that host, or name its port: HOST:PORT"
        }
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            "; nothing answers there: is the host up, and does a firewall let the port through?"
        }
        _ => "",
    };
    format!("connect to the iperf3 server at {server}: {error}{hint}")
}
