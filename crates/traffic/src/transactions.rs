//! The code that the request-response workloads share: transactions one after the other, each
//! counted at both endpoints in the phase of the client when it sent the request.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bitcost_model::conditions::Conditions;
use bitcost_model::record::FlowRecord;
use bitcost_sys::clock::monotonic_ns;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use crate::control::{Control, Phase};
use crate::flow::TrafficError;
use crate::latency::Recorder;
use crate::loops::receiver_delay;
use crate::schedule::Schedule;
use crate::syscalls::receive;
use crate::work::Work;

pub enum Answer {
    Came { calls: u64 },
    Lost,
    Halted,
}

pub struct Requester {
    transactions: u64,
    bytes: u64,
    schedule: Option<Schedule>,
    recorder: Option<Recorder>,
}

impl Requester {
    /// The loop that the run requests. `bytes` is the user data of a whole transaction.
    pub fn of(conditions: &Conditions, bytes: u64) -> Requester {
        Requester {
            transactions: conditions.stop_messages.unwrap_or(u64::MAX),
            bytes,
            schedule: conditions.transaction_rate.map(Schedule::new),
            recorder: Recorder::of(conditions),
        }
    }

    /// Makes transactions until the window is over or the requested number is made.
    ///
    /// In a closed loop the time of a transaction starts at the end of the previous one; in an open
    /// loop at its intended time, so that it includes the wait for previous ones. The clock is read
    /// once per transaction where times are recorded or there is a schedule, otherwise never.
    #[inline]
    pub fn ask(
        &mut self,
        control: &Control,
        mut transact: impl FnMut(Phase) -> Result<Answer, TrafficError>,
    ) -> Result<(), TrafficError> {
        let mut left = self.transactions;
        let mut began_ns = monotonic_ns();
        while left > 0 {
            if let Some(schedule) = &mut self.schedule {
                let Some(intended_ns) = schedule.next(control) else {
                    return Ok(());
                };
                began_ns = intended_ns;
            }
            let phase = control.phase();
            if phase as u8 >= Phase::Over as u8 {
                return Ok(());
            }
            let answer = transact(phase)?;
            let ended_ns = if self.recorder.is_some() {
                monotonic_ns()
            } else {
                0
            };
            match answer {
                Answer::Came { calls } => {
                    if let Some(recorder) = &mut self.recorder
                        && phase == Phase::Measured
                    {
                        recorder.record(ended_ns.saturating_sub(began_ns));
                    }
                    control.count_transaction(phase, calls, self.bytes);
                    left -= 1;
                }
                Answer::Lost => control.count_unanswered(phase),
                Answer::Halted => return Ok(()),
            }
            began_ns = ended_ns;
        }
        Ok(())
    }

    pub fn outcome(&self) -> FlowRecord {
        FlowRecord {
            latency: self.recorder.as_ref().map(Recorder::latency),
            ..FlowRecord::default()
        }
    }
}

pub fn transaction_bytes(conditions: &Conditions) -> u64 {
    u64::from(conditions.request_size_bytes) + u64::from(conditions.response_size_bytes)
}

/// First byte of a request over TCP: it says whether the transaction belongs to the measured
/// window.
pub fn mark(phase: Phase) -> u8 {
    u8::from(phase == Phase::Measured)
}

pub fn phase_of(mark: u8) -> Phase {
    if mark & 1 == 1 {
        Phase::Measured
    } else {
        Phase::Warmup
    }
}

enum Received {
    /// It is complete, after this number of calls.
    Whole(u64),
    /// The other endpoint closed first, or sent nothing in time.
    End,
    Halted,
}

/// Fills the buffer from a TCP socket. A call that timed out is repeated until the run is stopped, or nothing came for as
/// long as `patience`.
fn receive_whole(
    calls: &impl AsFd,
    buffer: &mut [u8],
    (flags, patience): (RecvFlags, Option<Duration>),
    control: &Control,
) -> Result<Received, Errno> {
    let (mut done, mut made, mut since) = (0, 0, None);
    let mut is_over = |most: Duration| since.get_or_insert_with(Instant::now).elapsed() >= most;
    while done < buffer.len() {
        match receive(calls, &mut buffer[done..], flags) {
            Ok(0) => {
                control.count_stray(done);
                return Ok(Received::End);
            }
            Ok(length) => {
                done += length;
                made += 1;
            }
            Err(Errno::AGAIN | Errno::INTR) if control.phase() == Phase::Abort => {
                return Ok(Received::Halted);
            }
            Err(Errno::AGAIN) => {
                control.count_empty();
                if patience.is_some_and(&mut is_over) {
                    control.count_stray(done);
                    return Ok(Received::End);
                }
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Received::Whole(made))
}

/// Sends all bytes over a TCP socket; returns the number of calls, absent when the run was stopped
/// meanwhile.
fn send_whole(calls: &impl AsFd, bytes: &[u8], control: &Control) -> Result<Option<u64>, Errno> {
    let (mut done, mut made) = (0, 0);
    while done < bytes.len() {
        match rustix::net::send(calls, &bytes[done..], SendFlags::NOSIGNAL) {
            Ok(length) => {
                done += length;
                made += 1;
            }
            Err(Errno::AGAIN | Errno::INTR) if control.phase() == Phase::Abort => return Ok(None),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(made))
}

/// The time that a server takes for each request before it responds. What takes none has no cost.
#[derive(Default)]
pub struct Handling(Option<Task>);

struct Task {
    delay: Duration,
    work: Option<Work>,
}

impl Handling {
    /// The handling that the run requests, calibrated on the CPU that calls this.
    pub fn of(conditions: &Conditions) -> Handling {
        let (delay, work) = (
            receiver_delay(conditions),
            Work::of(conditions.buffers.receive_work_ns),
        );
        let is_some = !delay.is_zero() || work.is_some();
        Handling(is_some.then_some(Task { delay, work }))
    }

    #[inline]
    pub fn handle(&mut self, control: &Control) {
        let Some(task) = &mut self.0 else { return };
        if !task.delay.is_zero() {
            control.sleep(task.delay);
        }
        if let Some(work) = &mut task.work {
            work.on_messages(1);
        }
    }
}

pub struct Exchange {
    request: Vec<u8>,
    response: Vec<u8>,
    flags: RecvFlags,
}

impl Exchange {
    pub fn of(conditions: &Conditions) -> Exchange {
        Exchange {
            request: vec![0x5A; conditions.request_size_bytes as usize],
            response: vec![0x5A; conditions.response_size_bytes as usize],
            flags: crate::loops::receive_flags(conditions),
        }
    }

    pub fn ask(
        &mut self,
        calls: &impl AsFd,
        phase: Phase,
        control: &Control,
    ) -> Result<Answer, TrafficError> {
        self.request[0] = mark(phase);
        let asked = send_whole(calls, &self.request, control)
            .map_err(TrafficError::errno("send a request"))?;
        let Some(sent) = asked else {
            return Ok(Answer::Halted);
        };
        let answer = receive_whole(calls, &mut self.response, (self.flags, None), control);
        match answer.map_err(TrafficError::errno("receive a response"))? {
            Received::Whole(received) => Ok(Answer::Came {
                calls: sent + received,
            }),
            Received::Halted => Ok(Answer::Halted),
            Received::End if control.phase() == Phase::Abort => Ok(Answer::Halted),
            Received::End => Err(TrafficError::Peer(
                "the server closed the connection instead of answering".into(),
            )),
        }
    }

    /// Receives a request and sends the response; returns its phase and the number of calls. Absent
    /// where the client closed, no whole request came within `patience`, or the run was stopped.
    pub fn answer(
        &mut self,
        calls: &impl AsFd,
        handling: &mut Handling,
        patience: Option<Duration>,
        control: &Control,
    ) -> Result<Option<(Phase, u64)>, Errno> {
        let Received::Whole(received) =
            receive_whole(calls, &mut self.request, (self.flags, patience), control)?
        else {
            return Ok(None);
        };
        handling.handle(control);
        let sent = send_whole(calls, &self.response, control)?;
        Ok(sent.map(|sent| (phase_of(self.request[0]), received + sent)))
    }
}
