//! One test with one client, in its own thread, from the parameters to the exchange of results.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bitcost_model::client_event::ClientEvent;
use bitcost_sys::thread::cpu_times;
use rustix::net::sockopt::tcp_congestion;

use crate::control::{Control, Lost, SLICE, STEP, unexpected};
use crate::limits::{Admitted, Limits};
use crate::line;
use crate::options;
use crate::params::Params;
use crate::protocol::{Cookie, Refusal, code, state};
use crate::registry::{Awaited, Registry};
use crate::results::Results;
use crate::streams::{QUIET, Streams};

pub struct Session {
    pub control: Control,
    pub peer: SocketAddr,
    /// The server's side of the control connection.
    pub local: SocketAddr,
    pub cookie: Cookie,
    pub params: Params,
    pub limits: Limits,
    pub registry: Arc<Registry>,
}

pub enum End {
    Refused(Refusal),
    Lost(Lost),
}

impl From<Lost> for End {
    fn from(lost: Lost) -> End {
        End::Lost(lost)
    }
}

impl From<Refusal> for End {
    fn from(refusal: Refusal) -> End {
        End::Refused(refusal)
    }
}

impl Session {
    pub fn run(mut self, admitted: Admitted) -> ClientEvent {
        let event = match self.test() {
            Ok(line) => ClientEvent::Served(line),
            Err(End::Refused(refusal)) => {
                self.control.refuse(&refusal);
                ClientEvent::Refused(refusal.rule)
            }
            Err(End::Lost(lost)) => ClientEvent::Failed(self.part_from(&lost)),
        };
        // Another client may take the place before the server's user reads of this one.
        drop(admitted);
        event
    }

    /// Says farewell as far as there is somebody; returns what happened.
    fn part_from(&mut self, lost: &Lost) -> String {
        match lost {
            Lost::Closed(what) => what.clone(),
            Lost::Silent => format!("it did not answer for {} s", STEP.as_secs()),
            Lost::Stopped => {
                self.control.terminate();
                "the server was stopped".to_owned()
            }
        }
    }

    /// Makes the test; returns the line about it.
    fn test(&mut self) -> Result<String, End> {
        let sockets = self.connect()?;
        let host = self.peer.ip().to_canonical();
        for socket in &sockets {
            options::set(socket, host, &self.params)?;
            options::set_blocking(socket, QUIET).map_err(|error| stream_failed(&error))?;
        }
        let tcp = sockets.first().filter(|_| !self.params.is_udp);
        let congestion_used = tcp.and_then(|socket| tcp_congestion(socket).ok());
        self.control.send_state(state::TEST_START)?;
        self.control.send_state(state::TEST_RUNNING)?;
        let cpu_before = cpu_times();
        let streams = Streams::start(&self.params, sockets);
        let mut streams = streams.map_err(|error| stream_failed(&error))?;
        let ended = self.watch(&mut streams);
        let took = streams.started.elapsed();
        let streams = streams.finish();
        if let Some(why) = streams.failed {
            return Err(Refusal::new(code::STREAM, format!("a stream: {why}")).into());
        }
        let mut cpu = cpu_times();
        cpu.user_ns = cpu.user_ns + streams.cpu.user_ns - cpu_before.user_ns;
        cpu.kernel_ns = cpu.kernel_ns + streams.cpu.kernel_ns - cpu_before.kernel_ns;
        let seconds = streams.seconds;
        let share = |ns: u64| Some(ns as f64 / took.as_nanos() as f64 * 100.0);
        let sends_tcp = !self.params.is_udp && self.params.receives().contains(&false);
        let results = Results {
            cpu_util_total: share(cpu.user_ns + cpu.kernel_ns),
            cpu_util_user: share(cpu.user_ns),
            cpu_util_system: share(cpu.kernel_ns),
            sender_has_retransmits: sends_tcp.then_some(1),
            congestion_used,
            streams: streams.results,
        };
        let mut line = line::of_test(&self.params, seconds, &results.streams);
        match ended.and_then(|()| Ok(self.exchange(&results)?)) {
            Ok(()) => {}
            Err(End::Refused(refusal)) => {
                self.control.refuse(&refusal);
                line += &format!("; ended: {}", refusal.rule);
            }
            Err(End::Lost(lost)) => line += &format!("; ended: {}", self.part_from(&lost)),
        }
        Ok(line)
    }

    fn connect(&mut self) -> Result<Vec<OwnedFd>, End> {
        let missing = self.params.receives().len();
        let (taker, sockets) = channel();
        let _registered = self.registry.enter(Awaited {
            cookie: self.cookie,
            peer: self.peer.ip().to_canonical(),
            local: self.local,
            is_udp: self.params.is_udp,
            missing,
            taker,
        })?;
        self.control.send_state(state::CREATE_STREAMS)?;
        self.collect(&sockets, missing)
    }

    fn collect(
        &mut self,
        sockets: &Receiver<(u64, OwnedFd)>,
        missing: usize,
    ) -> Result<Vec<OwnedFd>, End> {
        let until = Instant::now() + STEP;
        let mut collected = Vec::new();
        while collected.len() < missing {
            match sockets.recv_timeout(Duration::from_millis(20)) {
                Ok(socket) => collected.push(socket),
                Err(RecvTimeoutError::Disconnected) => return Err(Lost::Stopped.into()),
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(byte) = self.control.byte()? {
                        return Err(Lost::Closed(unexpected(byte)).into());
                    }
                    if Instant::now() >= until {
                        let (made, time) = (collected.len(), STEP.as_secs());
                        let rule = format!("{made} of {missing} streams made within {time} s");
                        return Err(Refusal::new(code::ACCEPT, rule).into());
                    }
                }
            }
        }
        // A flow's direction follows from its place.
        collected.sort_by_key(|(number, _)| *number);
        Ok(collected.into_iter().map(|(_, socket)| socket).collect())
    }

    /// Waits for the end of the test, and ends it where it breaks a rule.
    fn watch(&mut self, streams: &mut Streams) -> Result<(), End> {
        loop {
            if let Some(left) = streams.omit().filter(|left| *left < SLICE) {
                sleep(left);
                continue;
            }
            match self.control.byte()? {
                Some(state::TEST_END) => return Ok(()),
                Some(state::CLIENT_TERMINATE) => {
                    return Err(Lost::Closed("the client was stopped".to_owned()).into());
                }
                Some(byte) => return Err(Lost::Closed(unexpected(byte)).into()),
                None => {}
            }
            let time = streams.started.elapsed();
            self.limits.judge(time, streams.moved(), &self.params)?;
        }
    }

    fn exchange(&mut self, results: &Results) -> Result<(), Lost> {
        self.control.send_state(state::EXCHANGE_RESULTS)?;
        let theirs = self.control.text()?;
        Results::read(&theirs).map_err(|why| Lost::Closed(why.0))?;
        self.control.send_text(results)?;
        self.control.send_state(state::DISPLAY_RESULTS)?;
        match self.control.expect(state::IPERF_DONE) {
            // Both sides have all results.
            Err(Lost::Closed(_) | Lost::Silent) | Ok(()) => Ok(()),
            Err(stopped) => Err(stopped),
        }
    }
}

fn stream_failed(error: &io::Error) -> Refusal {
    Refusal::of_host(code::STREAM, "a stream", error)
}
