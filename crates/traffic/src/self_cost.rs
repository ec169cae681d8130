//! What the plain loops cost by themselves: the same code, with [`Nothing`] in the kernel's place.
//!
//! No system call at all stands in for the kernel's, not a cheap one: entering the kernel is the kernel's cost, and a
//! cheap call would have to be measured and taken off again.

use std::time::{Duration, Instant};

use model::buffers::Buffers;
use model::conditions::{Conditions, Workload};
use model::modes::Mode;
use model::record::{Role, SelfCost};
use sys::clock::monotonic_ns;

use crate::calls::Nothing;
use crate::control::{Control, Phase};
use crate::handshake::{TOKEN_BYTES, Token};
use crate::intake::Intake;
use crate::lengths::Lengths;
use crate::loops::receive_flags;
use crate::low_water::LowWater;
use crate::ring::Ring;
use crate::sequence::{HEADER_BYTES, Tag};
use crate::transactions::{Asker, Exchange, transaction_bytes};
use crate::udp_stream::Extras;
use crate::{tcp_rr, tcp_stream, udp_rr, udp_stream};

/// Messages of one batch: some hundred microseconds, so that batches lie between the interruptions of a busy host.
const MESSAGES: u64 = 10_000;

/// Larger messages cost the loop no more: it does not touch what it sends.
const SIZE_MAX: u32 = 4096;

/// One length needs no order, and no stranger is there.
const NO_TOKEN: Token = [0; TOKEN_BYTES];

/// Moves one batch of messages.
type Batch = Box<dyn FnOnce(&Control)>;

type Front = [u8; HEADER_BYTES];

/// Measures batches for about `length` and gives the fastest: whatever disturbs a batch makes it longer. Absent for fast
/// modes and for workloads that make connections.
pub fn self_cost(conditions: &Conditions, role: Role, length: Duration) -> Option<SelfCost> {
    let conditions = Conditions {
        message_size_bytes: conditions.message_size_bytes.min(SIZE_MAX),
        request_size_bytes: conditions.request_size_bytes.min(SIZE_MAX),
        response_size_bytes: conditions.response_size_bytes.min(SIZE_MAX),
        stop_bytes: None,
        stop_messages: Some(MESSAGES),
        stop_transactions: None,
        // The loop itself is the same for every length. Writing a message is the payload's cost.
        message_sizes: None,
        buffers: Buffers { dirty: false, ..conditions.buffers },
        transaction_rate: None,
        ..conditions.clone()
    };
    let deadline = Instant::now() + length;
    let mut best: Option<SelfCost> = None;
    loop {
        let run = batch(&conditions, role)?;
        let control = Control::default();
        control.enter(Phase::Measured);
        control.expect_messages(MESSAGES);
        let begin_ns = monotonic_ns();
        run(&control);
        let elapsed_ns = monotonic_ns() - begin_ns;
        let counts = control.counts().measured;
        let messages = if counts.messages == 0 { counts.calls } else { counts.messages };
        if best.is_none_or(|best| elapsed_ns * best.messages < best.elapsed_ns * messages) {
            best = Some(SelfCost { messages, elapsed_ns });
        }
        if Instant::now() >= deadline {
            return best.filter(|best| best.messages > 0);
        }
    }
}

fn batch(conditions: &Conditions, role: Role) -> Option<Batch> {
    let mode = if role == Role::Sender { conditions.send_mode } else { conditions.receive_mode };
    match (conditions.workload, role) {
        _ if mode != Mode::Plain => None,
        (Workload::TcpStream, Role::Sender) => Some(tcp_sender(conditions)),
        (Workload::TcpStream, Role::Receiver) => Some(tcp_receiver(conditions)),
        (Workload::UdpStream, Role::Sender) => Some(udp_sender(conditions)),
        // Its timestamps come with the kernel's own call.
        (Workload::UdpStream, Role::Receiver) if conditions.delay_variation => None,
        (Workload::UdpStream, Role::Receiver) => Some(udp_receiver(conditions)),
        (Workload::TcpRr, Role::Sender) => Some(tcp_asker(conditions)),
        (Workload::TcpRr, Role::Receiver) => Some(tcp_answerer(conditions)),
        (Workload::UdpRr, role) => Some(udp_rr::without_kernel(conditions, NO_TOKEN, role, MESSAGES)),
        (Workload::TcpCrr | Workload::TcpConnect, _) => None,
    }
}

fn same(front: Front) -> Front {
    front
}

/// The header of the datagram after this one.
fn next_number(front: Front) -> Front {
    (u64::from_be_bytes(front) + 1).to_be_bytes()
}

fn tcp_sender(conditions: &Conditions) -> Batch {
    let mut ring = Ring::of_sender(conditions.message_size_bytes, conditions.buffers);
    let (lengths, mut times) = (Lengths::of(conditions, &NO_TOKEN), tcp_stream::recorder(conditions));
    let nothing = Nothing::echo(usize::MAX);
    Box::new(move |control| {
        // What takes everything gives no error.
        let _ = tcp_stream::send_all(&nothing, control, &mut ring, &lengths, &mut None, &mut times);
    })
}

fn tcp_receiver(conditions: &Conditions) -> Batch {
    let mut ring = Ring::of_receiver(conditions.receive_bytes(), conditions.buffers);
    let (nothing, flags) = (Nothing::give(usize::MAX, MESSAGES, [0; HEADER_BYTES], same), receive_flags(conditions));
    let low_water = LowWater::settled();
    Box::new(move |control| {
        let took = |phase| assert!(!low_water.is_due(phase), "a mark that is set stays so");
        let _ = tcp_stream::receive_all(&nothing, control, &mut ring, flags, Duration::ZERO, took);
    })
}

fn udp_sender(conditions: &Conditions) -> Batch {
    let mut ring = Ring::of_sender(conditions.message_size_bytes, conditions.buffers);
    let lengths = Lengths::of(conditions, &NO_TOKEN);
    let mut extras =
        Extras { tag: Tag::of(&NO_TOKEN), stamps: conditions.delay_variation, times: tcp_stream::recorder(conditions) };
    let nothing = Nothing::echo(usize::MAX);
    Box::new(move |control| {
        let _ = udp_stream::send_all(&nothing, control, &mut ring, &lengths, &mut None, &mut extras);
    })
}

fn udp_receiver(conditions: &Conditions) -> Batch {
    let size = conditions.message_size_bytes as usize;
    let mut ring = Ring::of_receiver(conditions.receive_bytes(), conditions.buffers);
    let tag = Tag::of(&NO_TOKEN);
    let mut intake = Intake::of(&Conditions { receiver_delay_us: 0, ..conditions.clone() }, tag);
    let (first, next): (Front, fn(Front) -> Front) =
        if size < HEADER_BYTES { ([0; HEADER_BYTES], same) } else { (tag.header(Phase::Measured, 0), next_number) };
    let nothing = Nothing::give(size, MESSAGES, first, next);
    let flags = receive_flags(conditions);
    Box::new(move |control| {
        let _ = udp_stream::receive_all(&nothing, control, &mut ring, flags, &mut intake);
    })
}

fn tcp_asker(conditions: &Conditions) -> Batch {
    let (mut asker, mut exchange) = (Asker::of(conditions, transaction_bytes(conditions)), Exchange::of(conditions));
    let nothing = Nothing::echo(usize::MAX);
    Box::new(move |control| {
        let _ = asker.ask(control, |phase| exchange.ask(&nothing, phase, control));
    })
}

fn tcp_answerer(conditions: &Conditions) -> Batch {
    let mut exchange = Exchange::of(conditions);
    let (nothing, bytes) =
        (Nothing::give(usize::MAX, MESSAGES, [1; HEADER_BYTES], same), transaction_bytes(conditions));
    Box::new(move |control| {
        let _ = tcp_rr::answer_all(&nothing, control, &mut exchange, Duration::ZERO, bytes);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_plain_loop_moves_every_message_of_a_batch() {
        for workload in [Workload::TcpStream, Workload::UdpStream, Workload::TcpRr, Workload::UdpRr] {
            for (role, size) in [(Role::Sender, 1), (Role::Sender, 64), (Role::Receiver, 1), (Role::Receiver, 64)] {
                let conditions = Conditions {
                    workload,
                    message_size_bytes: size,
                    request_size_bytes: size,
                    response_size_bytes: size,
                    ..Conditions::default()
                };
                let cost = self_cost(&conditions, role, Duration::ZERO).expect("a plain loop");
                assert!(cost.messages == MESSAGES && cost.elapsed_ns > 0, "{workload:?} {role:?} {size}: {cost:?}");
            }
        }
    }

    #[test]
    fn what_has_no_plain_loop_has_no_figure() {
        let fast = Conditions { send_mode: Mode::Writev, ..Conditions::default() };
        assert_eq!(self_cost(&fast, Role::Sender, Duration::ZERO), None);
        assert!(self_cost(&fast, Role::Receiver, Duration::ZERO).is_some());
        let connections = Conditions { workload: Workload::TcpCrr, ..Conditions::default() };
        assert_eq!(self_cost(&connections, Role::Sender, Duration::ZERO), None);
    }
}
