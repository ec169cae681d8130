//! What is recorded of single messages of a stream, and what is counted of datagrams that come otherwise than they were
//! sent; over the loopback, both ends in this process.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use model::conditions::{Conditions, Workload};
use model::modes::Mode;
use model::record::{Arrivals, InForce};
use traffic::{Control, Flow, Outcome, Phase, Ready, Sent};

const PATIENCE: Duration = Duration::from_secs(5);
const TOKEN: [u8; 16] = *b"sixteen letters!";
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Both ends of a run, the sender first; `via` may give it another address than the receiver's.
fn meet_via(conditions: &Conditions, via: impl FnOnce(SocketAddr) -> SocketAddr) -> [Ready; 2] {
    let pending = traffic::listen(conditions, HERE, TOKEN).expect("listen");
    let address = via(pending.address());
    let asked = conditions.clone();
    let sender = thread::spawn(move || traffic::connect(&asked, address, TOKEN, PATIENCE));
    let receiver = pending.accept(PATIENCE).expect("the sender comes");
    [sender.join().expect("no panic").expect("the receiver answers"), receiver]
}

fn start(mut flow: Box<dyn Flow>, control: &Arc<Control>) -> JoinHandle<Box<dyn Flow>> {
    let control = control.clone();
    thread::spawn(move || {
        flow.run(&control).expect("the flow ends well");
        flow
    })
}

/// Runs both ends until the run's bound; all of it is the window.
fn play([sender, receiver]: [Ready; 2]) -> [(Outcome, Arc<Control>); 2] {
    let controls: [Arc<Control>; 2] = Default::default();
    controls.iter().for_each(|control| control.enter(Phase::Measured));
    let (sender, receiver) = (start(sender.flow, &controls[0]), start(receiver.flow, &controls[1]));
    let sender = sender.join().expect("no panic");
    let counts = controls[0].counts();
    let sent = Sent { measured: counts.measured.messages, total: counts.total().messages };
    controls[1].expect_messages(sent.total);
    let receiver = receiver.join().expect("no panic");
    let [first, second] = controls;
    [(sender.outcome(Sent::default()), first), (receiver.outcome(sent), second)]
}

#[test]
fn each_send_call_of_a_stream_is_timed_where_that_is_asked_for() {
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
            assert_eq!((measured.messages, receiver.latency.is_none()), (3000, true));
            let times = sender.latency.map(|times| (times.count(), times.max_ns > 0, times.sum_ns >= times.max_ns));
            assert_eq!(times, latency.then_some((3000, true, true)), "{workload:?}");
        }
    }
}

#[test]
fn delays_are_compared_where_that_is_asked_for() {
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
    let wanted = InForce { name: "delay_variation".into(), asked: yes(), actual: yes() };
    assert!(ends.iter().all(|end| end.in_force.contains(&wanted)));
    let [(sender, _), (receiver, control)] = play(ends);
    let received = control.counts().measured.messages;
    let found = receiver.delay_variation.expect("asked for");
    // Each pair without a gap has a difference; every lost datagram may cost two.
    let pairs = found.differences.count();
    assert!(pairs < received && pairs + 2 * (2000 - received) >= 1999, "{pairs} pairs of {received} datagrams");
    assert!(found.differences.max_ns > 0 && found.differences.max_ns < 10_000_000_000, "{found:?}");
    assert!(sender.delay_variation.is_none());
    let plain = play(meet_via(&Conditions { delay_variation: false, ..conditions }, |address| address));
    assert!(plain.iter().all(|(outcome, _)| outcome.delay_variation.is_none()));
}

/// Stands between sender and receiver until they know each other; then sends what it likes to the receiver.
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
                socket.set_read_timeout(Some(Duration::from_millis(50))).expect("a timeout");
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

/// How many datagrams a sender would number; more than the receiver remembers.
const NUMBERS: u64 = 270_000;

/// A datagram of the window, as a sender numbers it: a mark, two bytes of the token, and the number.
fn datagram(number: u64) -> [u8; 64] {
    let mut message = [0; 64];
    message[..8].copy_from_slice(&number.to_be_bytes());
    message[0] = 0xB1;
    message[1..3].copy_from_slice(&TOKEN[..2]);
    message
}

/// What the planter does to the numbers: the order in which they go, some twice, some never, one far too late.
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
            // Goes after the next one.
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

#[test]
fn planted_loss_duplicates_reordering_and_lateness_are_counted_exactly() {
    for receive_mode in [Mode::Plain, Mode::Recvmmsg, Mode::Gro] {
        let conditions =
            Conditions { workload: Workload::UdpStream, message_size_bytes: 64, receive_mode, ..Conditions::default() };
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
            // Never more under way than the receive buffer holds.
            while control.counts().measured.messages + 50 < distinct.len() as u64 {
                thread::yield_now();
            }
        }
        while control.counts().measured.messages < distinct.len() as u64 {
            thread::yield_now();
        }
        control.expect_messages(NUMBERS);
        let outcome = receiver.join().expect("no panic").outcome(Sent { measured: NUMBERS, total: NUMBERS });
        let sequence = outcome.sequence.expect("numbered");
        assert_eq!((sequence.measured_lost, sequence.total_lost), (lost, lost), "{receive_mode:?}");
        assert_eq!(sequence.measured, Some(arrivals), "{receive_mode:?}");
        assert_eq!(control.counts().measured.messages, NUMBERS - lost, "{receive_mode:?}");
    }
}
