//! One test with a stock server, from its parameters to its results.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use bitcost_model::conditions::{Conditions, Direction};
use bitcost_model::protocol::{FailureCause, FromAgent, Part, Prepare, SentCounts, Start};
use bitcost_model::record::{EndpointRecord, FlowRecord, Role};
use bitcost_sys::clock::monotonic_ns;
use bitcost_traffic::iperf3::cookie;

use super::output::Output;
use super::record::record_of;
use super::request::params;
use crate::control::{Control, Lost, STEP, unexpected};
use crate::protocol::{state, stream_id};
use crate::results::{Results, StreamResult};

/// How long the server may take to accept the control connection.
const CONNECT: Duration = Duration::from_secs(4);

/// How long a command of the controller may take.
const COMMAND: Duration = Duration::from_secs(60);

/// How long a server that receives is given to take what has arrived at its host: it counts nothing
/// after the end of the test.
const DRAIN: Duration = Duration::from_millis(300);

pub enum Command {
    Meet,
    Start(Start),
    /// The other endpoint has sent everything: the messages of its parts.
    Finish(SentCounts),
}

pub struct Test {
    pub server: SocketAddr,
    pub prepare: Prepare,
    pub output: Output,
    pub commands: Receiver<Command>,
    pub stop: Arc<AtomicBool>,
}

impl Test {
    /// Makes the test, and sends its record or why there is none.
    pub fn run(self) {
        match self.record() {
            _ if self.stop.load(Relaxed) => {}
            Ok(record) => self.output.send(&FromAgent::Done(Box::new(record))),
            Err(reason) => self.output.send(&FromAgent::Failed {
                reason,
                cause: FailureCause::Other,
            }),
        }
    }

    fn record(&self) -> Result<EndpointRecord, String> {
        let first = self.prepare.parts.first().ok_or("a run without any part")?;
        let mut control = self.open(&first.conditions)?;
        let result = self.play(&mut control, &first.conditions);
        if result.is_err() {
            let _ = control.send_state(state::CLIENT_TERMINATE);
        }
        result
    }

    fn open(&self, conditions: &Conditions) -> Result<Control, String> {
        // The direction of the first part of a test both ways is forward.
        let whole = Conditions {
            direction: direction(&self.prepare.parts),
            ..conditions.clone()
        };
        let params = params(&whole)?;
        let stream = TcpStream::connect_timeout(&self.server, CONNECT)
            .map_err(|error| unreachable(self.server, &error))?;
        let control = Control::new(stream, self.stop.clone());
        let mut control = control.map_err(|error| unreachable(self.server, &error))?;
        // A server that is busy may close the connection before it has read this; what it said
        // before is still there.
        let _ = control.send(&cookie(&self.prepare.token));
        match self
            .next(&mut control, STEP)
            .map_err(|why| self.no_server(&why))?
        {
            state::PARAM_EXCHANGE => {}
            state::ACCESS_DENIED => {
                return Err(format!(
                    "the iperf3 server at {} is busy with another client; try later",
                    self.server
                ));
            }
            byte => return Err(self.no_server(&unexpected(byte))),
        }
        control
            .send_text(&params)
            .map_err(|lost| self.lost(&lost))?;
        self.expect(&mut control, state::CREATE_STREAMS)?;
        Ok(control)
    }

    fn play(
        &self,
        control: &mut Control,
        conditions: &Conditions,
    ) -> Result<EndpointRecord, String> {
        self.output.send(&FromAgent::Listening {
            addresses: vec![Some(self.server); self.prepare.parts.len()],
            origin: None,
        });
        let Command::Meet = self.command()? else {
            return Err("the controller did not say where the other endpoint is".to_owned());
        };
        self.expect(control, state::TEST_START)?;
        self.expect(control, state::TEST_RUNNING)?;
        self.output.send(&FromAgent::Ready);
        let Command::Start(start) = self.command()? else {
            return Err("the controller did not start the run".to_owned());
        };
        let theirs = self.await_finish(control)?;
        let ended_ns = monotonic_ns();
        if self.receives() {
            std::thread::sleep(DRAIN);
        }
        let send = |control: &mut Control, state| {
            control.send_state(state).map_err(|lost| self.lost(&lost))
        };
        send(control, state::TEST_END)?;
        self.expect(control, state::EXCHANGE_RESULTS)?;
        let ours = self.own_results(&theirs);
        control.send_text(&ours).map_err(|lost| self.lost(&lost))?;
        let results = control.text().map_err(|lost| self.lost(&lost))?;
        let results = Results::read(&results).map_err(|why| self.no_server(&why.0))?;
        self.expect(control, state::DISPLAY_RESULTS)?;
        let _ = control.send_state(state::IPERF_DONE);
        let window = match conditions.workload.is_datagram() && !conditions.is_bounded() {
            true => [start.window_start_ns, start.window_end_ns],
            false => [start.window_start_ns, ended_ns],
        };
        let record = record_of(&results, &self.prepare.parts, &theirs, window)
            .map_err(|why| format!("the iperf3 server at {} {why}", self.server))?;
        self.output.send(&FromAgent::Sent {
            sent: sent(&record),
            stalled_ms: None,
        });
        Ok(record)
    }

    /// Whether the server receives a part.
    fn receives(&self) -> bool {
        let mut parts = self.prepare.parts.iter();
        parts.any(|part| part.role == Role::Receiver)
    }

    fn command(&self) -> Result<Command, String> {
        let until = Instant::now() + COMMAND;
        loop {
            if self.stop.load(Relaxed) {
                return Err("stopped".to_owned());
            }
            match self.commands.recv_timeout(Duration::from_millis(50)) {
                Ok(command) => return Ok(command),
                Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
                Err(_) => return Err(format!("the controller sent nothing for {COMMAND:?}")),
            }
        }
    }

    /// Waits until the other endpoint has sent everything; the server must not end before.
    fn await_finish(&self, control: &mut Control) -> Result<SentCounts, String> {
        loop {
            match self.commands.try_recv() {
                Ok(Command::Finish(sent)) => return Ok(sent),
                Ok(_) => return Err("the controller sent a command twice".to_owned()),
                Err(TryRecvError::Disconnected) => return Err("the controller is gone".to_owned()),
                Err(TryRecvError::Empty) => {}
            }
            if let Some(byte) = control.byte().map_err(|lost| self.lost(&lost))? {
                return Err(self.ended(control, byte));
            }
        }
    }

    fn next(&self, control: &mut Control, patience: Duration) -> Result<u8, String> {
        let until = Instant::now() + patience;
        loop {
            match control.byte() {
                Ok(Some(byte)) => return Ok(byte),
                Ok(None) if Instant::now() < until => {}
                Ok(None) => return Err(format!("it has not answered for {patience:?}")),
                Err(Lost::Closed(why)) => return Err(why),
                Err(lost) => return Err(self.lost(&lost)),
            }
        }
    }

    fn expect(&self, control: &mut Control, expected: u8) -> Result<(), String> {
        let byte = self.next(control, STEP);
        match byte.map_err(|why| format!("the iperf3 server at {}: {why}", self.server))? {
            byte if byte == expected => Ok(()),
            byte => Err(self.ended(control, byte)),
        }
    }

    fn ended(&self, control: &mut Control, byte: u8) -> String {
        let server = self.server;
        match byte {
            state::SERVER_TERMINATE => {
                format!("the iperf3 server at {server} was stopped in the middle of the test")
            }
            state::SERVER_ERROR => match control.numbers() {
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

fn sent(record: &EndpointRecord) -> SentCounts {
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
