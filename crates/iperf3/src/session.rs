//! One test with one client, in its own thread, from the parameters to the exchange of results.

use std::io;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use bitcost_sys::socket::congestion_control;
use bitcost_sys::thread::cpu_times;
use rustix::net::{Shutdown, shutdown};

use crate::control::{Control, Lost, STEP, unexpected};
use crate::event::{Event, Stream, Test};
use crate::flow::{Counted, Course, QUIET, Stage};
use crate::limits::{Admitted, Limits, Meter};
use crate::params::Params;
use crate::protocol::{Cookie, Refusal, code, state, stream_id};
use crate::registry::{Awaited, Registry};
use crate::results::{Results, StreamResult};
use crate::{options, tcp, udp};

/// Bytes of the stack of a thread; buffers are not on it.
pub const STACK_BYTES: usize = 256 * 1024;

/// How long receivers take what is on its way after the end of a test.
const DRAIN: Duration = Duration::from_secs(2);

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

struct Running {
    receives: bool,
    congestion: Option<String>,
    bytes: Arc<AtomicU64>,
    /// Its socket is open until the results are exchanged, so that no client sees its end before.
    thread: JoinHandle<io::Result<(Counted, OwnedFd)>>,
}

impl Session {
    pub fn run(mut self, admitted: Admitted) -> Event {
        let peer = self.peer;
        let event = match self.test() {
            Ok(test) => Event::Test(Box::new(test)),
            Err(End::Refused(refusal)) => {
                self.control.refuse(&refusal);
                Event::Refused { peer, refusal }
            }
            Err(End::Lost(lost)) => {
                let reason = self.part_from(&lost);
                Event::Failed { peer, reason }
            }
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

    fn test(&mut self) -> Result<Test, End> {
        let sockets = self.connect()?;
        let host = self.peer.ip().to_canonical();
        for socket in &sockets {
            options::set(socket, host, &self.params)?;
            options::set_timeouts(socket, QUIET).map_err(|error| stream_failed(&error))?;
        }
        self.control.send_state(state::TEST_START)?;
        self.control.send_state(state::TEST_RUNNING)?;
        let cpu_before = cpu_times();
        let course = Arc::new(Course::new(self.params.clone()));
        let flows = self.start(&course, sockets)?;
        let ended = self.watch(&course, &flows);
        let took = course.started.elapsed();
        let omitted = Duration::from_secs(self.params.omit_seconds);
        finish(&course, &flows);
        let mut test = Test {
            peer: self.peer,
            params: self.params.clone(),
            seconds: took.saturating_sub(omitted).as_secs_f64(),
            streams: Vec::new(),
            cpu_pct: [0.0; 3],
            ended: None,
        };
        let mut cpu = cpu_times();
        cpu.user_ns -= cpu_before.user_ns;
        cpu.kernel_ns -= cpu_before.kernel_ns;
        let mut open = Vec::new();
        for (index, flow) in flows.into_iter().enumerate() {
            let ended = flow.thread.join();
            let ended = ended.unwrap_or_else(|_| Err(io::Error::other("its thread failed")));
            let (counted, socket) = ended.map_err(|error| stream_failed(&error))?;
            if !flow.receives && !self.params.is_udp {
                // Clients up to 3.15 wait for a whole block after the end of the test, or for the
                // end of the stream. The client may have closed it.
                let _ = shutdown(&socket, Shutdown::Write);
            }
            open.push(socket);
            cpu.user_ns += counted.cpu.user_ns;
            cpu.kernel_ns += counted.cpu.kernel_ns;
            let result = result(stream_id(index), &counted, test.seconds);
            test.streams.push(Stream {
                receives: flow.receives,
                result,
                congestion: flow.congestion,
            });
        }
        let share = |ns: u64| ns as f64 / took.as_nanos() as f64 * 100.0;
        test.cpu_pct = [cpu.user_ns + cpu.kernel_ns, cpu.user_ns, cpu.kernel_ns].map(share);
        let ended = ended.and_then(|()| Ok(self.exchange(&test)?));
        test.ended = match ended {
            Ok(()) => None,
            Err(End::Refused(refusal)) => {
                self.control.refuse(&refusal);
                Some(format!("ended: {}", refusal.rule))
            }
            Err(End::Lost(lost)) => Some(format!("ended: {}", self.part_from(&lost))),
        };
        Ok(test)
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

    fn start(&self, course: &Arc<Course>, sockets: Vec<OwnedFd>) -> Result<Vec<Running>, End> {
        let mut flows = Vec::new();
        for (receives, socket) in self.params.receives().into_iter().zip(sockets) {
            let congestion = match self.params.is_udp {
                true => None,
                false => congestion_control(&socket).ok(),
            };
            let bytes = Arc::<AtomicU64>::default();
            let counted = Counted::new(course, bytes.clone());
            let course_of_flow = course.clone();
            let thread = Builder::new()
                .stack_size(STACK_BYTES)
                .spawn(move || flow(socket, receives, &course_of_flow, counted));
            match thread {
                Ok(thread) => flows.push(Running {
                    receives,
                    congestion,
                    bytes,
                    thread,
                }),
                Err(error) => {
                    course.enter(Stage::Over);
                    return Err(stream_failed(&error).into());
                }
            }
        }
        Ok(flows)
    }

    /// Waits for the end of the test, and ends it where it breaks a rule.
    fn watch(&mut self, course: &Course, flows: &[Running]) -> Result<(), End> {
        let mut meter = Meter::default();
        loop {
            match self.control.byte()? {
                Some(state::TEST_END) => return Ok(()),
                Some(state::CLIENT_TERMINATE) => {
                    return Err(Lost::Closed("the client was stopped".to_owned()).into());
                }
                Some(byte) => return Err(Lost::Closed(unexpected(byte)).into()),
                None => {}
            }
            let total = |receives| {
                let flows = flows.iter().filter(|flow| flow.receives == receives);
                flows.map(|flow| flow.bytes.load(Relaxed)).sum()
            };
            let bytes = [total(true), total(false)];
            let time = course.started.elapsed();
            meter.judge(time, bytes, &self.params, &self.limits)?;
        }
    }

    fn exchange(&mut self, test: &Test) -> Result<(), Lost> {
        self.control.send_state(state::EXCHANGE_RESULTS)?;
        let theirs = self.control.text()?;
        Results::read(&theirs).map_err(|why| Lost::Closed(why.0))?;
        let sends = test.streams.iter().any(|stream| !stream.receives);
        let mut streams = test.streams.iter();
        let congestion_used = streams.find_map(|stream| stream.congestion.clone());
        let [total, user, system] = test.cpu_pct;
        let results = Results {
            cpu_util_total: Some(total),
            cpu_util_user: Some(user),
            cpu_util_system: Some(system),
            sender_has_retransmits: (sends && !self.params.is_udp).then_some(1),
            congestion_used,
            streams: test
                .streams
                .iter()
                .map(|stream| stream.result.clone())
                .collect(),
        };
        self.control.send_text(&results)?;
        self.control.send_state(state::DISPLAY_RESULTS)?;
        match self.control.expect(state::IPERF_DONE) {
            // Both sides have all results.
            Err(Lost::Closed(_) | Lost::Silent) | Ok(()) => Ok(()),
            Err(stopped) => Err(stopped),
        }
    }
}

/// Lets receivers take what is on its way, and ends all streams.
fn finish(course: &Course, flows: &[Running]) {
    course.enter(Stage::Draining);
    let until = Instant::now() + DRAIN;
    while flows.iter().any(|flow| !flow.thread.is_finished()) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    course.enter(Stage::Over);
}

/// Counts until the end of a stream, and returns its socket.
fn flow(
    socket: OwnedFd,
    receives: bool,
    course: &Course,
    mut counted: Counted,
) -> io::Result<(Counted, OwnedFd)> {
    let socket = match course.params.is_udp {
        true => {
            let socket = UdpSocket::from(socket);
            match receives {
                true => udp::receive(&socket, course, &mut counted),
                false => udp::send(&socket, course, &mut counted),
            }
            socket.into()
        }
        false => {
            let stream = TcpStream::from(socket);
            match receives {
                true => tcp::receive(&stream, course, &mut counted),
                false => tcp::send(&stream, course, &mut counted)?,
            }
            stream.into()
        }
    };
    counted.cpu = cpu_times();
    Ok((counted, socket))
}

fn result(id: u64, counted: &Counted, seconds: f64) -> StreamResult {
    let (all, omitted) = (counted.all, counted.omitted);
    let retransmits = all.retransmits.zip(omitted.retransmits.or(Some(0)));
    StreamResult {
        id,
        bytes: all.bytes - omitted.bytes,
        retransmits: retransmits.map(|(all, omitted)| all.saturating_sub(omitted)),
        jitter: all.jitter_ns.map(|ns| ns / 1e9),
        errors: all.lost,
        packets: all.packets,
        omitted_errors: omitted.lost,
        omitted_packets: omitted.packets,
        start_time: 0,
        end_time: seconds,
    }
}

fn stream_failed(error: &io::Error) -> Refusal {
    Refusal::of_host(code::STREAM, "a stream", error)
}
