//! Several flows in one thread: each is served when its socket is ready, a bounded turn at a time.
//!
//! `epoll` reports readiness, level-triggered: a flow that used up its turn is reported again by
//! the next call, after the others. In addition to its send and receive calls a thread makes one
//! `epoll_wait` per round, and a call that finds no data or no space in the buffer when a flow has
//! no more to do; both are counted. The clock is read once a round.
//!
//! The flows of a thread share one buffer, so that the memory that is touched does not grow with
//! their number.

mod silence;
mod tcp_stream;
mod udp_stream;

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use bitcost_sys::clock::monotonic_ns;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::control::{Control, Phase};
use crate::flow::{Flow, Multiplexed, Next, Outcome, Sent, TrafficError};
use crate::tcp;

pub use tcp_stream::{Receiver as TcpReceiver, Sender as TcpSender};
pub use udp_stream::{Receiver as UdpReceiver, Sender as UdpSender};

/// Most calls that a flow makes in one turn.
const TURN: u32 = 16;

/// The interval at which flows that are not ready check whether the run is over, in ns.
const LOOK_NS: u64 = 10_000_000;

/// Most flows that one `epoll_wait` reports.
const EVENTS: usize = 256;

impl<S: Multiplexed> Flow for S {
    fn handle(&self) -> io::Result<OwnedFd> {
        self.socket().try_clone_to_owned()
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        alone(self, control)
    }

    fn as_multiplexed(&mut self) -> Option<&mut dyn Multiplexed> {
        Some(self)
    }

    fn outcome(&self, sent: Sent) -> Outcome {
        Multiplexed::outcome(self, sent)
    }
}

/// The flows of one thread.
pub struct Multiplexer<'a> {
    epoll: OwnedFd,
    slots: Vec<Slot<'a>>,
    /// Flows that have ended normally.
    ended: usize,
    buffer: Vec<u8>,
}

struct Slot<'a> {
    flow: &'a mut dyn Multiplexed,
    control: &'a Control,
    next: Next,
}

impl<'a> Multiplexer<'a> {
    /// Prepares flows to share the calling thread; flows and controls have the same order.
    ///
    /// # Errors
    /// The index of the flow that cannot share a thread, and the reason.
    pub fn new(
        flows: &'a mut [Box<dyn Flow>],
        controls: &'a [Arc<Control>],
    ) -> Result<Multiplexer<'a>, (usize, TrafficError)> {
        let mut slots = Vec::new();
        for (place, (flow, control)) in flows.iter_mut().zip(controls).enumerate() {
            let no_turns = || {
                TrafficError::Peer(
                    "its workload cannot share a thread; use the same bitcost on both hosts".into(),
                )
            };
            let flow = flow.as_multiplexed().ok_or_else(|| (place, no_turns()))?;
            slots.push(Slot {
                next: flow.first(),
                flow,
                control,
            });
        }
        Multiplexer::of(slots)
    }

    fn of(slots: Vec<Slot<'a>>) -> Result<Multiplexer<'a>, (usize, TrafficError)> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)
            .map_err(|error| (0, TrafficError::errno("epoll_create")(error)))?;
        for (place, slot) in slots.iter().enumerate() {
            epoll::add(
                &epoll,
                slot.flow.socket(),
                EventData::new_u64(place as u64),
                events(slot.next),
            )
            .map_err(|error| (place, TrafficError::errno("epoll_ctl")(error)))?;
        }
        let room = slots
            .iter()
            .map(|slot| slot.flow.room())
            .max()
            .unwrap_or_default();
        Ok(Multiplexer {
            epoll,
            slots,
            ended: 0,
            buffer: vec![0x5A; room],
        })
    }

    /// Serves the flows until each has ended.
    ///
    /// # Errors
    /// The index of the first flow that failed, and the reason; the others are left as they are.
    pub fn run(&mut self) -> Result<(), (usize, TrafficError)> {
        let look = Timespec {
            tv_sec: 0,
            tv_nsec: LOOK_NS as i64,
        };
        let mut events = [MaybeUninit::uninit(); EVENTS];
        let mut next_look_ns = monotonic_ns() + LOOK_NS;
        let mut left = self.slots.len();
        while left > 0 {
            let ready = match epoll::wait(&self.epoll, &mut events[..], Some(&look)) {
                Ok((ready, _)) => &*ready,
                Err(Errno::INTR) => &[],
                Err(error) => return Err((0, TrafficError::errno("epoll_wait")(error))),
            };
            self.slots[0].control.count_wait();
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

    /// Gives a turn to flows that are due; returns how many have ended.
    fn look(&mut self, now_ns: u64) -> Result<usize, (usize, TrafficError)> {
        let mut ended = 0;
        for place in 0..self.slots.len() {
            let slot = &mut self.slots[place];
            if !slot.next.is_last() && slot.flow.is_due(slot.control, now_ns) {
                ended += self.serve(place)?;
            }
        }
        Ok(ended)
    }

    /// Gives a flow its turn; returns 1 when it has ended.
    fn serve(&mut self, place: usize) -> Result<usize, (usize, TrafficError)> {
        let slot = &mut self.slots[place];
        let next = if slot.control.phase() == Phase::Abort {
            Next::End
        } else {
            slot.flow
                .turn(slot.control, &mut self.buffer, TURN)
                .map_err(|error| (place, error))?
        };
        self.ended += usize::from(next == Next::End);
        if next == Next::CutOff && self.ended == 0 {
            return Err((place, TrafficError::Peer(tcp::not_drained())));
        }
        if next != slot.next {
            let changed = match next {
                last if last.is_last() => epoll::delete(&self.epoll, slot.flow.socket()),
                _ => epoll::modify(
                    &self.epoll,
                    slot.flow.socket(),
                    EventData::new_u64(place as u64),
                    events(next),
                ),
            };
            changed.map_err(|error| (place, TrafficError::errno("epoll_ctl")(error)))?;
            slot.next = next;
        }
        Ok(usize::from(next.is_last()))
    }
}

/// The readiness that a flow waits for.
fn events(next: Next) -> EventFlags {
    match next {
        Next::Read => EventFlags::IN,
        Next::Write => EventFlags::OUT,
        Next::End | Next::CutOff => EventFlags::empty(),
    }
}

/// Runs one flow as the only one of its thread.
fn alone(flow: &mut dyn Multiplexed, control: &Control) -> Result<(), TrafficError> {
    let slot = Slot {
        next: flow.first(),
        flow,
        control,
    };
    Multiplexer::of(vec![slot])
        .and_then(|mut together| together.run())
        .map_err(|(_, error)| error)
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::{AsFd, BorrowedFd};
    use std::sync::Mutex;

    use super::*;

    /// Always has more to send; records its turns.
    struct Eager {
        number: usize,
        socket: UdpSocket,
        turns: Arc<Mutex<Vec<usize>>>,
        left: usize,
    }

    impl Multiplexed for Eager {
        fn socket(&self) -> BorrowedFd<'_> {
            self.socket.as_fd()
        }

        fn first(&self) -> Next {
            Next::Write
        }

        fn room(&self) -> usize {
            self.number
        }

        fn turn(
            &mut self,
            _control: &Control,
            buffer: &mut [u8],
            calls: u32,
        ) -> Result<Next, TrafficError> {
            assert_eq!((buffer.len(), calls), (4, TURN));
            self.turns.lock().expect("no panic").push(self.number);
            self.left -= 1;
            Ok(if self.left == 0 {
                Next::End
            } else {
                Next::Write
            })
        }

        fn is_due(&mut self, _control: &Control, _now_ns: u64) -> bool {
            false
        }

        fn outcome(&self, _sent: Sent) -> Outcome {
            Outcome::default()
        }
    }

    #[test]
    fn flows_take_turns_in_rounds() {
        let turns: Arc<Mutex<Vec<usize>>> = Arc::default();
        let eager = |number| {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
            Box::new(Eager {
                number,
                socket,
                turns: turns.clone(),
                left: 10,
            }) as Box<dyn Flow>
        };
        let mut flows: Vec<Box<dyn Flow>> = (0..5).map(eager).collect();
        let controls: Vec<Arc<Control>> = (0..5).map(|_| Arc::default()).collect();
        Multiplexer::new(&mut flows, &controls)
            .and_then(|mut together| together.run())
            .expect("all end");
        let turns = turns.lock().expect("no panic");
        for round in turns.chunks(5) {
            let mut round = round.to_vec();
            round.sort_unstable();
            assert_eq!(round, [0, 1, 2, 3, 4]);
        }
        assert_eq!(
            (turns.len(), controls[0].counts().total().wait_calls),
            (50, 10)
        );
    }
}
