//! Several flows in one thread: each is served when its socket is ready, a bounded turn at a time.
//!
//! Readiness is told by `epoll`, level-triggered: a flow that used up its turn is told again with the
//! next call, after the others. Beside its send and receive calls a thread makes one `epoll_wait` per
//! round, and a call that finds nothing to take or no room once a flow has no more to do; both are
//! counted. The clock is read once a round.
//!
//! The flows of a thread share one buffer, so that their number does not multiply the memory that is
//! touched.

mod tcp_stream;
mod udp_stream;

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::Timespec;
use sys::clock::monotonic_ns;

use crate::control::{Control, Phase};
use crate::flow::{Flow, Outcome, Sent, TrafficError};
use crate::intake::QUIET;
use crate::tcp_stream::TAKING;

pub use tcp_stream::{Receiver as TcpReceiver, Sender as TcpSender};
pub use udp_stream::{Receiver as UdpReceiver, Sender as UdpSender};

/// Most calls that a flow makes in one turn.
const TURN: u32 = 16;

/// How often flows that are not ready look whether the run is over, in ns.
const LOOK_NS: u64 = 10_000_000;

/// Most flows that one `epoll_wait` tells of.
const EVENTS: usize = 256;

/// What a flow does after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It takes another turn when its socket can be read from.
    Read,
    /// It takes another turn when its socket can be written to.
    Write,
    /// Nothing more.
    End,
    /// Nothing more, though the other end has not taken everything.
    CutOff,
}

impl Next {
    fn is_last(self) -> bool {
        matches!(self, Next::End | Next::CutOff)
    }

    fn flags(self) -> EventFlags {
        match self {
            Next::Read => EventFlags::IN,
            Next::Write => EventFlags::OUT,
            Next::End | Next::CutOff => EventFlags::empty(),
        }
    }
}

/// A flow that shares its thread: no call of it waits.
pub trait Shared: Send {
    /// The socket whose readiness it waits for.
    fn socket(&self) -> BorrowedFd<'_>;

    /// What it waits for before its first turn.
    fn first(&self) -> Next;

    /// Bytes of the buffer that it needs.
    fn room(&self) -> usize;

    /// Makes at most `calls` calls. What the buffer holds before and after does not matter.
    ///
    /// # Errors
    /// What failed; the counts up to then stay in `control`.
    fn turn(&mut self, control: &Control, buffer: &mut [u8], calls: u32) -> Result<Next, TrafficError>;

    /// True where it takes a turn although its socket is not ready, because the time has come.
    fn is_due(&mut self, control: &Control, now_ns: u64) -> bool;

    /// As [`Flow::outcome`].
    fn outcome(&self, sent: Sent) -> Outcome;
}

impl<S: Shared> Flow for S {
    fn handle(&self) -> io::Result<OwnedFd> {
        self.socket().try_clone_to_owned()
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        alone(self, control)
    }

    fn as_shared(&mut self) -> Option<&mut dyn Shared> {
        Some(self)
    }

    fn outcome(&self, sent: Sent) -> Outcome {
        Shared::outcome(self, sent)
    }
}

/// The flows of one thread.
pub struct Together<'a> {
    epoll: OwnedFd,
    seats: Vec<Seat<'a>>,
    /// Flows that came to their end in good order.
    ended: usize,
    buffer: Vec<u8>,
}

struct Seat<'a> {
    flow: &'a mut dyn Shared,
    control: &'a Control,
    next: Next,
}

impl<'a> Together<'a> {
    /// Makes flows ready to share the calling thread; each has the control of the same place.
    ///
    /// # Errors
    /// The place of the flow that cannot, and why.
    pub fn new(
        flows: &'a mut [Box<dyn Flow>],
        controls: &'a [Arc<Control>],
    ) -> Result<Together<'a>, (usize, TrafficError)> {
        let mut seats = Vec::new();
        for (place, (flow, control)) in flows.iter_mut().zip(controls).enumerate() {
            let no_turns =
                || TrafficError::Peer("its workload cannot share a thread; use the same bitcost on both hosts".into());
            let flow = flow.as_shared().ok_or_else(|| (place, no_turns()))?;
            seats.push(Seat { next: flow.first(), flow, control });
        }
        Together::of(seats)
    }

    fn of(seats: Vec<Seat<'a>>) -> Result<Together<'a>, (usize, TrafficError)> {
        let epoll =
            epoll::create(CreateFlags::CLOEXEC).map_err(|error| (0, TrafficError::errno("epoll_create")(error)))?;
        for (place, seat) in seats.iter().enumerate() {
            epoll::add(&epoll, seat.flow.socket(), EventData::new_u64(place as u64), seat.next.flags())
                .map_err(|error| (place, TrafficError::errno("epoll_ctl")(error)))?;
        }
        let room = seats.iter().map(|seat| seat.flow.room()).max().unwrap_or_default();
        Ok(Together { epoll, seats, ended: 0, buffer: vec![0x5A; room] })
    }

    /// Serves the flows until each has come to its end.
    ///
    /// # Errors
    /// The place of the first flow that failed, and why; the others are left where they are.
    pub fn run(&mut self) -> Result<(), (usize, TrafficError)> {
        let look = Timespec { tv_sec: 0, tv_nsec: LOOK_NS as i64 };
        let mut events = [MaybeUninit::uninit(); EVENTS];
        let mut next_look_ns = monotonic_ns() + LOOK_NS;
        let mut left = self.seats.len();
        while left > 0 {
            let ready = match epoll::wait(&self.epoll, &mut events[..], Some(&look)) {
                Ok((ready, _)) => &*ready,
                Err(Errno::INTR) => &[],
                Err(error) => return Err((0, TrafficError::errno("epoll_wait")(error))),
            };
            self.seats[0].control.count_wait();
            for event in ready {
                left -= self.serve(event.data.u64() as usize)?;
            }
            let now_ns = monotonic_ns();
            if now_ns >= next_look_ns {
                next_look_ns = now_ns + LOOK_NS;
                left -= self.look(now_ns)?;
            }
        }
        Ok(())
    }

    /// Gives a turn to flows that are due; says how many came to their end.
    fn look(&mut self, now_ns: u64) -> Result<usize, (usize, TrafficError)> {
        let mut ended = 0;
        for place in 0..self.seats.len() {
            let seat = &mut self.seats[place];
            if !seat.next.is_last() && seat.flow.is_due(seat.control, now_ns) {
                ended += self.serve(place)?;
            }
        }
        Ok(ended)
    }

    /// Gives a flow its turn; 1 when it came to its end.
    fn serve(&mut self, place: usize) -> Result<usize, (usize, TrafficError)> {
        let seat = &mut self.seats[place];
        let next = if seat.control.phase() == Phase::Abort {
            Next::End
        } else {
            seat.flow.turn(seat.control, &mut self.buffer, TURN).map_err(|error| (place, error))?
        };
        self.ended += usize::from(next == Next::End);
        if next == Next::CutOff && self.ended == 0 {
            return Err((place, not_taken()));
        }
        if next != seat.next {
            let changed = match next {
                last if last.is_last() => epoll::delete(&self.epoll, seat.flow.socket()),
                _ => epoll::modify(&self.epoll, seat.flow.socket(), EventData::new_u64(place as u64), next.flags()),
            };
            changed.map_err(|error| (place, TrafficError::errno("epoll_ctl")(error)))?;
            seat.next = next;
        }
        Ok(usize::from(next.is_last()))
    }
}

/// Why a flow did not end in good order.
fn not_taken() -> TrafficError {
    TrafficError::Peer(format!("the receiver did not take everything within {TAKING:?}"))
}

/// Tells when nothing more comes after the sender has ended.
#[derive(Default)]
struct Silence {
    came: u64,
    since_ns: Option<u64>,
}

impl Silence {
    /// True where the sender has ended and nothing has been added for [`QUIET`] to what came.
    fn lasts(&mut self, control: &Control, came: u64, now_ns: u64) -> bool {
        if control.expected_messages().is_none() {
            return false;
        }
        if came != self.came || self.since_ns.is_none() {
            (self.came, self.since_ns) = (came, Some(now_ns));
        }
        self.since_ns.is_some_and(|since_ns| now_ns.saturating_sub(since_ns) >= QUIET.as_nanos() as u64)
    }
}

/// Runs one flow as the only one of its thread.
fn alone(flow: &mut dyn Shared, control: &Control) -> Result<(), TrafficError> {
    let seat = Seat { next: flow.first(), flow, control };
    Together::of(vec![seat]).and_then(|mut together| together.run()).map_err(|(_, error)| error)
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::AsFd;
    use std::sync::Mutex;

    use super::*;

    /// Always has more to send; writes down its turns.
    struct Eager {
        number: usize,
        socket: UdpSocket,
        turns: Arc<Mutex<Vec<usize>>>,
        left: usize,
    }

    impl Shared for Eager {
        fn socket(&self) -> BorrowedFd<'_> {
            self.socket.as_fd()
        }

        fn first(&self) -> Next {
            Next::Write
        }

        fn room(&self) -> usize {
            self.number
        }

        fn turn(&mut self, _control: &Control, buffer: &mut [u8], calls: u32) -> Result<Next, TrafficError> {
            assert_eq!((buffer.len(), calls), (4, TURN));
            self.turns.lock().expect("no panic").push(self.number);
            self.left -= 1;
            Ok(if self.left == 0 { Next::End } else { Next::Write })
        }

        fn is_due(&mut self, _control: &Control, _now_ns: u64) -> bool {
            false
        }

        fn outcome(&self, _sent: Sent) -> Outcome {
            Outcome::default()
        }
    }

    #[test]
    fn each_flow_has_its_turn_before_any_has_the_next() {
        let turns: Arc<Mutex<Vec<usize>>> = Arc::default();
        let eager = |number| {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
            Box::new(Eager { number, socket, turns: turns.clone(), left: 10 }) as Box<dyn Flow>
        };
        let mut flows: Vec<Box<dyn Flow>> = (0..5).map(eager).collect();
        let controls: Vec<Arc<Control>> = (0..5).map(|_| Arc::default()).collect();
        Together::new(&mut flows, &controls).and_then(|mut together| together.run()).expect("all end");
        let turns = turns.lock().expect("no panic");
        for round in turns.chunks(5) {
            let mut round = round.to_vec();
            round.sort_unstable();
            assert_eq!(round, [0, 1, 2, 3, 4]);
        }
        assert_eq!((turns.len(), controls[0].counts().total().wait_calls), (50, 10));
    }
}
