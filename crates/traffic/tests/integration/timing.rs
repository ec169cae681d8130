//! Times of a stream's messages, delay variation, and counts of lost, duplicate, reordered and late
//! datagrams; over the loopback, both endpoints in this process.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::modes::Mode;
use bitcost_model::record::{Arrivals, InEffect};
use bitcost_traffic::{Control, Flow, Outcome, Phase, Ready, Sent};

const PATIENCE: Duration = Duration::from_secs(5);
const TOKEN: [u8; 16] = *b"sixteen letters!";
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Both endpoints of a run, the sender first; `via` may give it another address than the
/// receiver's.
fn meet_via(conditions: &Conditions, via: impl FnOnce(SocketAddr) -> SocketAddr) -> [Ready; 2] {
    let pending = bitcost_traffic::listen(conditions, HERE, TOKEN).expect("listen");
    let address = via(pending.address());
    let asked = conditions.clone();
    let sender = thread::spawn(move || bitcost_traffic::connect(&asked, address, TOKEN, PATIENCE));
    let receiver = pending.accept(PATIENCE).expect("the sender comes");
    [
        sender
            .join()
            .expect("no panic")
            .expect("the receiver answers"),
        receiver,
    ]
}

fn start(mut flow: Box<dyn Flow>, control: &Arc<Control>) -> JoinHandle<Box<dyn Flow>> {
    let control = control.clone();
    thread::spawn(move || {
        flow.run(&control).expect("the flow succeeds");
        flow
    })
}

/// Runs both endpoints to the run's bound; all of it is the window.
fn play([sender, receiver]: [Ready; 2]) -> [(Outcome, Arc<Control>); 2] {
    let controls: [Arc<Control>; 2] = Default::default();
    controls
        .iter()
        .for_each(|control| control.enter(Phase::Measured));
    let (sender, receiver) = (
        start(sender.flow, &controls[0]),
        start(receiver.flow, &controls[1]),
    );
    let sender = sender.join().expect("no panic");
    let counts = controls[0].counts();
    let sent = Sent {
        measured: counts.measured.messages,
        total: counts.total().messages,
    };
    controls[1].expect_messages(sent.total);
    let receiver = receiver.join().expect("no panic");
    let [first, second] = controls;
    [
        (sender.outcome(Sent::default()), first),
        (receiver.outcome(sent), second),
    ]
}

#[test]
fn send_calls_are_timed_where_requested() {
    for workload in [Workload::TcpStream, Workload::UdpStream] {
        for latency in [true, false] {
            let conditions = Conditions {
                workload,
                latency,
                message_size_bytes: 512,
                stop_messages: Some(3000),
                ..Conditions::default()
            };
            assert_eq!(conditions.check(1500), Ok(()));
            let [(sender, control), (receiver, _)] = play(meet_via(&conditions, |address| address));
            let measured = control.counts().measured;
            assert_eq!(
                (measured.messages, receiver.latency.is_none()),
                (3000, true)
            );
            let times = sender.latency.map(|times| {
                (
                    times.count(),
                    times.max_ns > 0,
                    times.sum_ns >= times.max_ns,
                )
            });
            assert_eq!(times, latency.then_some((3000, true, true)), "{workload:?}");
        }
    }
}

#[test]
fn delay_variation_is_recorded_where_requested() {
    let conditions = Conditions {
        workload: Workload::UdpStream,
        delay_variation: true,
        message_size_bytes: 16,
        message_rate: Some(20_000),
        stop_messages: Some(2000),
        ..Conditions::default()
    };
    assert_eq!(conditions.check(1500), Ok(()));
    let ends = meet_via(&conditions, |address| address);
    let yes = || Some("true".to_owned());
    let wanted = InEffect {
        name: "delay_variation".into(),
        requested: yes(),
        actual: yes(),
    };
    assert!(ends.iter().all(|end| end.in_effect.contains(&wanted)));
    let [(sender, _), (receiver, control)] = play(ends);
    let received = control.counts().measured.messages;
    let found = receiver.delay_variation.expect("asked for");
    // Each pair without a gap has a difference; every lost datagram may cost two.
    let pairs = found.differences.count();
    assert!(
        pairs < received && pairs + 2 * (2000 - received) >= 1999,
        "{pairs} pairs of {received} datagrams"
    );
    assert!(
        found.differences.max_ns > 0 && found.differences.max_ns < 10_000_000_000,
        "{found:?}"
    );
    assert!(sender.delay_variation.is_none());
    let plain = play(meet_via(
        &Conditions {
            delay_variation: false,
            ..conditions
        },
        |address| address,
    ));
    assert!(
        plain
            .iter()
            .all(|(outcome, _)| outcome.delay_variation.is_none())
    );
}

/// Relays the handshake of sender and receiver; its socket then sends planted datagrams to the
/// receiver.
fn planter(conditions: &Conditions) -> (UdpSocket, Ready) {
    let bind = || UdpSocket::bind((HERE, 0)).expect("binds");
    let (front, back) = (bind(), bind());
    let mut relay = None;
    let [sender, receiver] = meet_via(conditions, |address| {
        let at = front.local_addr().expect("an address");
        back.connect(address).expect("connects");
        let back = back.try_clone().expect("a handle");
        relay = Some(thread::spawn(move || {
            let mut buffer = [0; 2048];
            for socket in [&front, &back] {
                socket
                    .set_read_timeout(Some(Duration::from_millis(50)))
                    .expect("a timeout");
            }
            let mut asker = None;
            let mut quiet = 0;
            while quiet < 4 {
                quiet += 1;
                if let Ok((length, from)) = front.recv_from(&mut buffer) {
                    (asker, quiet) = (Some(from), 0);
                    back.send(&buffer[..length]).expect("sends");
                }
                if let (Ok(length), Some(asker)) = (back.recv(&mut buffer), asker) {
                    front.send_to(&buffer[..length], asker).expect("sends");
                }
            }
        }));
        at
    });
    relay.expect("started").join().expect("no panic");
    drop(sender);
    (back, receiver)
}

/// The number of datagrams; more than the receiver remembers.
const NUMBERS: u64 = 270_000;

/// A datagram of the window, as a sender numbers it: a mark, two bytes of the token, and the
/// number.
fn datagram(number: u64) -> [u8; 64] {
    let mut message = [0; 64];
    message[..8].copy_from_slice(&number.to_be_bytes());
    message[0] = 0xB1;
    message[1..3].copy_from_slice(&TOKEN[..2]);
    message
}

/// The planted order of the numbers, with loss, duplicates, reordering and a late one; the number
/// lost; the other counts.
fn planted() -> (Vec<u64>, u64, Arrivals) {
    let mut order = Vec::new();
    let (mut lost, mut arrivals) = (0, Arrivals::default());
    for number in 0..NUMBERS {
        match number % 100 {
            _ if number == 10 => (lost, arrivals.late) = (lost + 1, 1),
            20 => lost += 1,
            40 => {
                order.extend([number, number]);
                arrivals.duplicated += 1;
            }
            // This number is sent after the next one.
            60 => arrivals.reordered += 1,
            61 => order.extend([number, number - 1]),
            _ => order.push(number),
        }
        if number == 262_200 {
            order.push(10);
        }
    }
    (order, lost, arrivals)
}

/// Waits until the receiver has counted this many messages of the window.
///
/// # Panics
/// When no further message is counted for [`PATIENCE`]: a planted datagram did not reach the
/// receiver.
fn await_messages(control: &Control, count: u64) {
    let counted = || control.counts().measured.messages;
    let (mut last, mut since) = (counted(), Instant::now());
    while last < count {
        thread::yield_now();
        let now = counted();
        if now != last {
            (last, since) = (now, Instant::now());
        }
        assert!(
            since.elapsed() < PATIENCE,
            "{last} of {count} planted datagrams were counted; the kernel dropped the rest"
        );
    }
}

#[test]
fn planted_loss_duplicates_reordering_and_lateness_are_counted_exactly() {
    for receive_mode in [Mode::Plain, Mode::Gro] {
        let conditions = Conditions {
            workload: Workload::UdpStream,
            message_size_bytes: 64,
            receive_mode,
            ..Conditions::default()
        };
        let (planter, receiver) = planter(&conditions);
        let control = Arc::new(Control::default());
        control.enter(Phase::Measured);
        let receiver = start(receiver.flow, &control);
        let (order, lost, arrivals) = planted();
        let mut distinct = std::collections::BTreeSet::new();
        for number in order {
            planter.send(&datagram(number)).expect("sends");
            if number != 10 {
                distinct.insert(number);
            }
            // Never more in flight than the receive buffer holds.
            await_messages(&control, (distinct.len() as u64).saturating_sub(50));
        }
        await_messages(&control, distinct.len() as u64);
        control.expect_messages(NUMBERS);
        let outcome = receiver.join().expect("no panic").outcome(Sent {
            measured: NUMBERS,
            total: NUMBERS,
        });
        let sequence = outcome.sequence.expect("numbered");
        assert_eq!(
            (sequence.measured_lost, sequence.total_lost),
            (lost, lost),
            "{receive_mode:?}"
        );
        assert_eq!(sequence.measured, Some(arrivals), "{receive_mode:?}");
        assert_eq!(
            control.counts().measured.messages,
            NUMBERS - lost,
            "{receive_mode:?}"
        );
    }
}
