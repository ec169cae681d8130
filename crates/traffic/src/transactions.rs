//! What every workload shares in which the sender asks and the receiver answers: one transaction after
//! the other, each counted at both ends by the phase that the sender was in when it asked.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use model::conditions::Conditions;
use model::record::Latency;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use sys::clock::monotonic_ns;

use crate::calls::Calls;
use crate::control::{Control, Phase};
use crate::flow::TrafficError;
use crate::intake::QUIET;
use crate::latency::Recorder;
use crate::schedule::Schedule;

/// What came of a request.
pub enum Answer {
    /// The whole response; so many send and receive calls moved data.
    Came {
        /// The calls.
        calls: u64,
    },
    /// None within the time that it was given.
    Lost,
    /// The run was stopped meanwhile.
    Halted,
}

/// The asking end's loop.
pub struct Asker {
    transactions: u64,
    bytes: u64,
    schedule: Option<Schedule>,
    recorder: Option<Recorder>,
}

impl Asker {
    /// As the run asks for. `bytes` are those of a whole transaction.
    pub fn of(conditions: &Conditions, bytes: u64) -> Asker {
        Asker {
            transactions: conditions.stop_transactions.or(conditions.stop_messages).unwrap_or(u64::MAX),
            bytes,
            schedule: conditions.transaction_rate.map(Schedule::new),
            recorder: if conditions.latency { Recorder::new() } else { None },
        }
    }

    /// Asks until the window is over or every transaction that was asked for is made.
    ///
    /// In a closed loop a transaction begins when the one before it is over; in an open loop at its
    /// intended time, so that one that waited for those before it carries its waiting. The clock is read
    /// once per transaction where times are recorded, and where there is a schedule; else never.
    ///
    /// # Errors
    /// What `transact` says.
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
                let Some(intended_ns) = schedule.next(control) else { return Ok(()) };
                began_ns = intended_ns;
            }
            let phase = control.phase();
            if phase as u8 >= Phase::Over as u8 {
                return Ok(());
            }
            let answer = transact(phase)?;
            let ended_ns = if self.recorder.is_some() { monotonic_ns() } else { 0 };
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

    /// The times that were recorded.
    pub fn latency(&self) -> Option<Latency> {
        self.recorder.as_ref().map(Recorder::latency)
    }
}

/// The user data of one transaction, in bytes.
pub fn transaction_bytes(conditions: &Conditions) -> u64 {
    u64::from(conditions.request_size_bytes) + u64::from(conditions.response_size_bytes)
}

/// First byte of a request over TCP: it says whether the transaction belongs to the measured window.
pub fn mark(phase: Phase) -> u8 {
    u8::from(phase == Phase::Measured)
}

/// The phase that a request's first byte tells.
pub fn phase_of(mark: u8) -> Phase {
    if mark & 1 == 1 { Phase::Measured } else { Phase::Warmup }
}

/// How receiving a whole request or response ended.
pub enum Received {
    /// All of it is there; it took so many calls.
    Whole(u64),
    /// The other end closed first.
    End,
    /// The run was stopped meanwhile.
    Halted,
}

/// Fills the buffer from a TCP socket. A call that waited in vain is made again until the run is stopped.
pub fn receive_whole(
    calls: &impl Calls,
    buffer: &mut [u8],
    flags: RecvFlags,
    control: &Control,
) -> Result<Received, Errno> {
    let (mut done, mut made) = (0, 0);
    while done < buffer.len() {
        match calls.receive(&mut buffer[done..], flags) {
            Ok(0) => return Ok(Received::End),
            Ok(length) => {
                done += length;
                made += 1;
            }
            Err(Errno::AGAIN | Errno::INTR) if control.phase() == Phase::Abort => return Ok(Received::Halted),
            Err(Errno::AGAIN) => control.count_empty(),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Received::Whole(made))
}

/// Hands all bytes to a TCP socket; says in how many calls, or nothing when the run was stopped meanwhile.
pub fn send_whole(calls: &impl Calls, bytes: &[u8], control: &Control) -> Result<Option<u64>, Errno> {
    let (mut done, mut made) = (0, 0);
    while done < bytes.len() {
        match calls.send(&bytes[done..], SendFlags::NOSIGNAL) {
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

/// What came of a request within a while.
pub enum Request {
    /// All of it; it took so many calls.
    Whole(u64),
    /// So many bytes in so many calls.
    Begun(usize, u64),
    /// The asking end closed, or the run was stopped.
    End,
}

/// A spinning receiver reads the clock once in so many calls that bring nothing.
const SPINS: u32 = 1024;

/// The buffers of one end of a TCP transaction.
pub struct Exchange {
    request: Vec<u8>,
    response: Vec<u8>,
    flags: RecvFlags,
}

impl Exchange {
    /// Buffers of the sizes that the run asks for.
    pub fn of(conditions: &Conditions) -> Exchange {
        Exchange {
            request: vec![0x5A; conditions.request_size_bytes as usize],
            response: vec![0x5A; conditions.response_size_bytes as usize],
            flags: crate::loops::receive_flags(conditions),
        }
    }

    /// Sends the request and takes the response.
    pub fn ask(&mut self, calls: &impl Calls, phase: Phase, control: &Control) -> Result<Answer, TrafficError> {
        self.request[0] = mark(phase);
        let asked = send_whole(calls, &self.request, control).map_err(TrafficError::errno("send a request"))?;
        let Some(sent) = asked else { return Ok(Answer::Halted) };
        let answer = receive_whole(calls, &mut self.response, self.flags, control);
        match answer.map_err(TrafficError::errno("receive a response"))? {
            Received::Whole(received) => Ok(Answer::Came { calls: sent + received }),
            Received::Halted => Ok(Answer::Halted),
            Received::End if control.phase() == Phase::Abort => Ok(Answer::Halted),
            Received::End => Err(TrafficError::Peer("the server closed the connection instead of answering".into())),
        }
    }

    /// Takes a request, and waits for its next bytes no longer than [`QUIET`], or not at all where `at_once`.
    ///
    /// # Errors
    /// What the call answers.
    pub fn take_soon(&mut self, socket: impl AsFd, at_once: bool, control: &Control) -> Result<Request, Errno> {
        let flags = if at_once { RecvFlags::DONTWAIT } else { self.flags };
        let (mut done, mut made, mut in_vain, mut since) = (0, 0, 0_u32, None);
        while done < self.request.len() {
            match rustix::net::recv(&socket, &mut self.request[done..], flags) {
                Ok((0, _)) => return Ok(Request::End),
                Ok((length, _)) => {
                    done += length;
                    made += 1;
                }
                Err(Errno::AGAIN | Errno::INTR) if control.phase() == Phase::Abort => return Ok(Request::End),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    control.count_empty();
                    in_vain += 1;
                    // A call that sleeps has waited for as long.
                    let has_waited = at_once || self.flags.is_empty();
                    let mut is_over = || since.get_or_insert_with(Instant::now).elapsed() >= QUIET;
                    if has_waited || in_vain.is_multiple_of(SPINS) && is_over() {
                        return Ok(Request::Begun(done, made));
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Request::Whole(made))
    }

    /// What was taken last.
    pub fn request(&self) -> &[u8] {
        &self.request
    }

    /// Sends the response; says in how many calls, or nothing where the run was stopped.
    ///
    /// # Errors
    /// What the call answers.
    pub fn respond(&self, calls: &impl Calls, delay: Duration, control: &Control) -> Result<Option<u64>, Errno> {
        if !delay.is_zero() {
            control.sleep(delay);
        }
        send_whole(calls, &self.response, control)
    }

    /// Takes a request and sends the response; says which phase it belongs to and how many calls it took.
    /// Nothing where the asking end closed, or the run was stopped.
    pub fn answer(
        &mut self,
        calls: &impl Calls,
        delay: Duration,
        control: &Control,
    ) -> Result<Option<(Phase, u64)>, Errno> {
        let Received::Whole(received) = receive_whole(calls, &mut self.request, self.flags, control)? else {
            return Ok(None);
        };
        let sent = self.respond(calls, delay, control)?;
        Ok(sent.map(|sent| (phase_of(self.request[0]), received + sent)))
    }
}
