//! The streams of a test: threads that send and receive as the flows of a run do.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use bitcost_model::conditions::{Conditions, ReceiveSize, Workload};
use bitcost_model::modes::Mode;
use bitcost_model::record::{FlowRecord, Role};
use bitcost_sys::thread::{CpuTimes, cpu_times};
use bitcost_traffic::{Control, End, FlowId, Phase, tcp_info};
use rustix::net::{Shutdown, shutdown};

use crate::params::Params;
use crate::protocol::stream_id;
use crate::results::StreamResult;

/// Bytes of the stack of a thread; buffers are not on it.
pub const STACK_BYTES: usize = 256 * 1024;

/// How long receivers take what is on its way after the end of a test, and how long nothing comes when they have everything.
const DRAIN: Duration = Duration::from_secs(2);
pub const QUIET: Duration = Duration::from_millis(200);

const LOOK: Duration = Duration::from_millis(5);

pub struct Streams {
    pub started: Instant,
    /// When they began to count, or will.
    counted_from: Instant,
    is_omitting: bool,
    streams: Vec<Stream>,
}

struct Stream {
    id: u64,
    receives: bool,
    /// Open until the results are exchanged, so that no client sees its end before.
    socket: OwnedFd,
    control: Arc<Control>,
    /// Segments that were retransmitted while data were omitted.
    omitted_retransmits: u64,
    thread: JoinHandle<Result<(FlowRecord, CpuTimes), String>>,
}

/// What came of them.
pub struct Ended {
    pub results: Vec<StreamResult>,
    /// Why one of them could not begin; absent where all did.
    pub failed: Option<String>,
    /// From the first data that counted to the last.
    pub seconds: f64,
    pub cpu: CpuTimes,
    /// Their sockets, still open.
    pub sockets: Vec<OwnedFd>,
}

impl Streams {
    /// Starts a thread for each socket of a test, in the order of [`Params::receives`].
    pub fn start(params: &Params, sockets: Vec<OwnedFd>) -> io::Result<Streams> {
        let started = Instant::now();
        let mut streams = Streams {
            counted_from: started + Duration::from_secs(params.omit_seconds),
            is_omitting: params.omit_seconds > 0,
            started,
            streams: Vec::new(),
        };
        for (receives, socket) in params.receives().into_iter().zip(sockets) {
            let at = streams.streams.len();
            match Stream::start(params, at, receives, socket) {
                Ok(stream) => streams.streams.push(stream),
                Err(error) => {
                    streams.finish();
                    return Err(error);
                }
            }
        }
        Ok(streams)
    }

    /// Begins to count where the omitted time is over; returns how long it still takes.
    pub fn omit(&mut self) -> Option<Duration> {
        let left = self.counted_from.saturating_duration_since(Instant::now());
        if self.is_omitting && left.is_zero() {
            (self.is_omitting, self.counted_from) = (false, Instant::now());
            for stream in &mut self.streams {
                stream.control.enter(Phase::Measured);
                stream.omitted_retransmits = retransmits(&stream.socket).unwrap_or(0);
            }
        }
        self.is_omitting.then_some(left)
    }

    /// The bytes that were sent and received so far.
    pub fn moved(&self) -> [u64; 2] {
        let mut bytes = [0; 2];
        for stream in &self.streams {
            bytes[usize::from(stream.receives)] += stream.control.moved_bytes();
        }
        bytes
    }

    /// Ends the senders, and the receivers when they have everything.
    pub fn finish(self) -> Ended {
        let seconds = self.counted_from.elapsed().as_secs_f64();
        for stream in self.streams.iter().filter(|stream| !stream.receives) {
            stream.control.enter(Phase::Abort);
            // A client that reads no more holds up the last call. Clients up to 3.15 wait for a whole block after the end of
            // the test, or for this end of the stream. Sockets of UDP have none.
            let _ = shutdown(&stream.socket, Shutdown::Write);
        }
        let (until, mut quiet_since) = (Instant::now() + DRAIN, Instant::now());
        let mut moved = self.moved();
        let is_open = || {
            self.streams
                .iter()
                .any(|stream| !stream.thread.is_finished())
        };
        while is_open() && Instant::now() < until && quiet_since.elapsed() < QUIET {
            sleep(LOOK);
            let now = self.moved();
            if now != moved {
                (moved, quiet_since) = (now, Instant::now());
            }
        }
        let mut ended = Ended {
            results: Vec::new(),
            failed: None,
            seconds,
            cpu: CpuTimes::default(),
            sockets: Vec::new(),
        };
        for stream in &self.streams {
            stream.control.enter(Phase::Abort);
        }
        for stream in self.streams {
            let joined = stream.thread.join();
            let joined = joined.unwrap_or_else(|_| Err("its thread failed".to_owned()));
            let (record, cpu) = joined.unwrap_or_else(|why| {
                ended.failed = Some(why);
                Default::default()
            });
            ended.cpu.user_ns += cpu.user_ns;
            ended.cpu.kernel_ns += cpu.kernel_ns;
            let retransmits = (!stream.receives)
                .then(|| retransmits(&stream.socket))
                .flatten();
            let result = StreamResult {
                id: stream.id,
                retransmits: retransmits.map(|all| all.saturating_sub(stream.omitted_retransmits)),
                end_time: seconds,
                ..counted(&stream.control, &record)
            };
            ended.results.push(result);
            ended.sockets.push(stream.socket);
        }
        ended
    }
}

/// What a stream counted.
fn counted(control: &Control, record: &FlowRecord) -> StreamResult {
    let counts = control.counts();
    let (all, measured) = (counts.total().messages, counts.measured.messages);
    let result = StreamResult {
        bytes: counts.measured.bytes,
        ..StreamResult::default()
    };
    match &record.sequence {
        None => StreamResult {
            packets: all,
            omitted_packets: all - measured,
            ..result
        },
        Some(sequence) => {
            let packets = all + sequence.total_lost;
            let jitter = record.delay_variation.as_ref().filter(|_| all > 1);
            StreamResult {
                packets,
                omitted_packets: packets.saturating_sub(sequence.measured_sent),
                errors: sequence.total_lost,
                omitted_errors: sequence.total_lost.saturating_sub(sequence.measured_lost),
                jitter: jitter.map(|delays| delays.jitter_ns as f64 / 1e9),
                ..result
            }
        }
    }
}

impl Stream {
    fn start(params: &Params, at: usize, receives: bool, socket: OwnedFd) -> io::Result<Stream> {
        let conditions = conditions(params, at, receives);
        let (flow, wide) = (at as u16, params.wide_counters);
        let control = Arc::<Control>::default();
        if params.omit_seconds == 0 {
            control.enter(Phase::Measured);
        }
        let (own, second) = (control.clone(), socket.try_clone()?);
        let work = move || {
            let end = End {
                id: FlowId { part: 0, flow },
                role: if receives {
                    Role::Receiver
                } else {
                    Role::Sender
                },
                conditions: &conditions,
            };
            let made = bitcost_traffic::of_iperf3(end, second, wide);
            let mut made = made.map_err(|error| error.to_string())?;
            // A client that is gone ends it: what was counted remains.
            let _ = made.flow.run(&own);
            Ok((made.flow.outcome([0; 2]), cpu_times()))
        };
        Ok(Stream {
            id: stream_id(at),
            receives,
            socket,
            control,
            omitted_retransmits: 0,
            thread: Builder::new().stack_size(STACK_BYTES).spawn(work)?,
        })
    }
}

/// The conditions of a stream. A server that sends over TCP sends the blocks that the client asked for, or as many whole ones as
/// hold the bytes that it asked for, as iperf3's does. Over UDP the client waits for more where some were lost, and with an
/// omitted time both sides would count others: then only the client can end the test.
fn conditions(params: &Params, at: usize, receives: bool) -> Conditions {
    let (length, streams) = (params.length as u32, params.streams as u64);
    let blocks = match params.blocks {
        0 => params.bytes.div_ceil(length.into()),
        blocks => blocks,
    };
    let is_bounded = blocks > 0 && params.omit_seconds == 0 && !params.is_udp && !receives;
    let share = blocks / streams + u64::from(at as u64 % streams < blocks % streams);
    let (workload, room) = match params.is_udp {
        true => (Workload::UdpStream, 1 << 16),
        false => (Workload::TcpStream, length),
    };
    Conditions {
        message_size_bytes: length,
        receive_size_bytes: ReceiveSize::Bytes(room),
        rate_bps: (params.bitrate > 0).then_some(params.bitrate),
        burst_messages: (params.burst > 1).then_some(params.burst as u32),
        stop_messages: is_bounded.then_some(share),
        send_mode: match params.zerocopy && !params.is_udp {
            true => Mode::Sendfile,
            false => Mode::Plain,
        },
        delay_variation: params.is_udp && receives,
        ..Conditions::of(workload)
    }
}

fn retransmits(socket: &OwnedFd) -> Option<u64> {
    tcp_info(socket)?.total_retrans.map(u64::from)
}
