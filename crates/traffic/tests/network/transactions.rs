//! Requests and responses over the loopback, both endpoints in this process.

use crate::play::*;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use bitcost_model::record::{Latency, PhaseCounts};
use bitcost_model::workload::WORKLOADS;
use rustix::net;

bitcost_testkit::trials! { PrivateNetwork:
    a_server_works_on_each_request_before_it_responds,
    both_endpoints_count_the_same_transactions_and_bytes,
    bound_of_transactions_is_exact,
    transaction_takes_one_send_and_one_receive_call,
    client_fails_when_the_server_vanishes,
    abort_ends_both_endpoints_within_two_transactions,
    idle_server_ends_when_the_count_is_known,
    lost_requests_and_responses_are_counted,
    late_responses_do_not_answer_later_requests,
    duplicate_request_is_answered_once,
    open_loop_latency_counts_from_the_intended_time,
    foreign_connection_is_not_counted;
}

fn workloads(is_of: fn(Workload) -> bool) -> impl Iterator<Item = Workload> {
    let all = WORKLOADS.iter().map(|row| row.workload);
    all.filter(move |workload| is_of(*workload))
}

fn of(workload: Workload) -> Conditions {
    Conditions {
        workload,
        latency: true,
        ..Conditions::default()
    }
}

/// Runs both endpoints: the client with the phases of `direct`, the server until it has everything.
fn play(ready: [Ready; 2], direct: impl FnOnce(&Control)) -> Played {
    play_from(ready, Phase::Warmup, |[client, _]| direct(client))
}

/// Runs the warm-up, the measured window and the cooldown.
fn three_phases(control: &Control) {
    for phase in [Phase::Measured, Phase::Cooldown, Phase::Over] {
        thread::sleep(Duration::from_millis(50));
        control.enter(phase);
    }
}

fn total_messages(control: &Arc<Control>) -> u64 {
    control.counts().total().messages
}

fn times(played: &Played) -> Option<Latency> {
    played.outcomes[0].latency.clone()
}

fn transactions(counts: &PhaseCounts) -> [u64; 2] {
    [counts.outside.messages, counts.measured.messages]
}

fn a_server_works_on_each_request_before_it_responds() {
    for workload in workloads(Workload::has_requests) {
        let mut conditions = of(workload);
        (conditions.stop_messages, conditions.warmup_ms) = (Some(50), 0);
        conditions.buffers.receive_work_ns = 200_000;
        assert_eq!(conditions.check(65_535), Ok(()));
        let ends = meet(&conditions);
        let begin = Instant::now();
        let played = play(ends, |control| control.enter(Phase::Measured));
        assert_eq!(played.sender.total().messages, 50, "{workload:?}");
        // Work that was too long is carried over to the next request.
        assert!(
            begin.elapsed() >= Duration::from_micros(49 * 200),
            "{workload:?}"
        );
    }
}

fn both_endpoints_count_the_same_transactions_and_bytes() {
    for workload in workloads(Workload::is_transactional) {
        for (waiting, request, response) in [
            (Waiting::Block, 1, 1),
            (Waiting::Spin, 1, 1),
            (Waiting::Block, 24, 20_000),
        ] {
            let sized = workload.has_requests();
            let conditions = Conditions {
                waiting,
                request_size_bytes: if sized { request } else { 1 },
                response_size_bytes: if sized { response } else { 1 },
                ..of(workload)
            };
            assert_eq!(conditions.check(65_535), Ok(()));
            let played = play(meet(&conditions), three_phases);
            let [outside, measured] = transactions(&played.sender);
            assert!(outside > 0 && measured > 0, "{conditions:?}");
            if workload.marks_window() {
                let received = transactions(&played.receiver);
                assert_eq!(received, [outside, measured], "{conditions:?}");
            }
            let total = outside + measured;
            let bytes = u64::from(sized) * total * u64::from(request + response);
            for counts in [played.sender.total(), played.receiver.total()] {
                let carried = [counts.messages, counts.bytes];
                let faults = [counts.failed_calls, counts.unanswered];
                assert_eq!(
                    (carried, faults),
                    ([total, bytes], [0; 2]),
                    "{conditions:?}"
                );
            }
            let latency = times(&played).expect("asked for");
            assert_eq!(latency.count(), measured, "{conditions:?}");
            assert!(latency.max_ns > 0 && latency.sum_ns >= latency.max_ns);
        }
    }
}

fn bound_of_transactions_is_exact() {
    for workload in workloads(Workload::is_transactional) {
        let mut conditions = of(workload);
        (conditions.stop_messages, conditions.latency) = (Some(321), false);
        let played = play(meet(&conditions), |control| control.enter(Phase::Measured));
        assert_eq!(played.sender.total().messages, 321, "{workload:?}");
        assert_eq!(played.receiver.total().messages, 321, "{workload:?}");
        assert_eq!(times(&played), None);
    }
}

fn transaction_takes_one_send_and_one_receive_call() {
    for workload in workloads(Workload::has_requests) {
        let mut conditions = of(workload);
        conditions.stop_messages = Some(100);
        let played = play(meet(&conditions), |_| {});
        let calls = [&played.sender, &played.receiver].map(|end| end.total().calls);
        assert_eq!(calls, [200, 200], "{workload:?}");
    }
}

fn client_fails_when_the_server_vanishes() {
    for workload in workloads(Workload::is_transactional) {
        for waiting in [Waiting::Block, Waiting::Spin] {
            let mut conditions = of(workload);
            conditions.waiting = waiting;
            let [client, server] = meet(&conditions).map(|ready| ready.flow);
            let controls: [Arc<Control>; 2] = Default::default();
            let handle = server.handle().expect("a handle");
            let (client, server) = (start(client, &controls[0]), start(server, &controls[1]));
            thread::sleep(Duration::from_millis(50));
            controls[1].enter(Phase::Abort);
            // Shutting down the listening socket or the connection ends the server.
            let _ = rustix::net::shutdown(&handle, rustix::net::Shutdown::Both);
            drop(handle);
            drop(server.join().expect("no panic"));
            let error = client.join().expect("no panic").err();
            let error = error.expect("the server is gone").to_string();
            assert!(
                !error.is_empty() && controls[0].counts().total().messages > 0,
                "{workload:?}: {error}"
            );
        }
    }
}

fn abort_ends_both_endpoints_within_two_transactions() {
    for workload in workloads(Workload::is_transactional) {
        for waiting in [Waiting::Block, Waiting::Spin] {
            // The server needs 0.3 s for each answer.
            let mut conditions = of(workload);
            (conditions.waiting, conditions.receiver_delay_us) = (waiting, 300_000);
            let [client, server] = meet(&conditions).map(|ready| ready.flow);
            let handles = [&client, &server].map(|end| end.handle().expect("a handle"));
            let controls: [Arc<Control>; 2] = Default::default();
            let running = [start(client, &controls[0]), start(server, &controls[1])];
            thread::sleep(Duration::from_millis(50));
            let before = controls.each_ref().map(total_messages);
            for (control, handle) in controls.iter().zip(&handles) {
                control.enter(Phase::Abort);
                let _ = rustix::net::shutdown(handle, rustix::net::Shutdown::Both);
            }
            for end in running {
                drop(end.join().expect("no panic"));
            }
            for (control, before) in controls.iter().zip(before) {
                assert!(total_messages(control) <= before + 2, "{workload:?}");
            }
        }
    }
}

fn idle_server_ends_when_the_count_is_known() {
    for workload in workloads(Workload::is_transactional) {
        let played = play(meet(&of(workload)), |control| control.enter(Phase::Over));
        // The client made no transaction, or one that it had started before.
        let ends = [&played.sender, &played.receiver].map(|end| end.total().messages);
        assert!(ends[0] <= 1 && ends[0] == ends[1], "{workload:?}: {ends:?}");
    }
}

/// The faults that a relay makes in datagrams, by the number of the request.
#[derive(Clone, Copy)]
enum Fault {
    DropRequests(u64),
    DropResponses(u64),
    /// Sends each request twice.
    Double,
    /// Delays this response and everything after it for a time.
    Stall(u64, Duration),
    /// Delays the responses from this one on until this number of further requests.
    Late(u64, u64),
}

/// Relays datagrams between a client and a server; datagrams with a token are not changed.
struct Relay {
    address: SocketAddr,
    requests: Arc<AtomicU64>,
    dropped: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
    }
}

impl Relay {
    fn to(server: SocketAddr, fault: Fault) -> Relay {
        let socket = UdpSocket::bind((HERE, 0)).expect("bind");
        socket
            .set_read_timeout(Some(Duration::from_millis(20)))
            .expect("a timeout");
        let relay = Relay {
            address: socket.local_addr().expect("an address"),
            requests: Arc::default(),
            dropped: Arc::default(),
            over: Arc::default(),
        };
        let [requests, dropped] = [&relay.requests, &relay.dropped].map(Arc::clone);
        let over = relay.over.clone();
        thread::spawn(move || {
            let mut client = None;
            let mut held: Vec<Vec<u8>> = Vec::new();
            let mut datagram = [0; 2048];
            while !over.load(Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut datagram) else {
                    continue;
                };
                let datagram = &datagram[..length];
                let is_greeting = bitcost_traffic::is_greeting(datagram);
                if from != server {
                    client = Some(from);
                    let number = if is_greeting {
                        0
                    } else {
                        requests.fetch_add(1, Relaxed) + 1
                    };
                    match fault {
                        Fault::DropRequests(nth) if number > 0 && number % nth == 0 => {
                            dropped.fetch_add(1, Relaxed);
                            continue;
                        }
                        Fault::Double if number > 0 => drop(socket.send_to(datagram, server)),
                        _ => {}
                    }
                    let _ = socket.send_to(datagram, server);
                } else if let Some(client) = client {
                    let number = requests.load(Relaxed);
                    match fault {
                        Fault::DropResponses(nth) if !is_greeting && number % nth == 0 => {
                            dropped.fetch_add(1, Relaxed);
                            continue;
                        }
                        Fault::Stall(nth, time) if !is_greeting && number == nth => {
                            thread::sleep(time)
                        }
                        Fault::Late(nth, more)
                            if !is_greeting && (nth..nth + more).contains(&number) =>
                        {
                            held.push(datagram.to_vec());
                            continue;
                        }
                        _ => {}
                    }
                    for late in held.drain(..) {
                        let _ = socket.send_to(&late, client);
                    }
                    let _ = socket.send_to(datagram, client);
                }
            }
        });
        relay
    }
}

fn play_with(
    conditions: &Conditions,
    fault: Fault,
    direct: impl FnOnce(&Control),
) -> (Played, Relay) {
    let mut relay = None;
    let ends = meet_via(conditions, |server| {
        relay.insert(Relay::to(server, fault)).address
    });
    (play(ends, direct), relay.expect("made"))
}

/// A hundred transactions, with numbers in one byte and in eight.
fn small_and_numbered() -> Vec<Conditions> {
    let sized = |size, waiting| Conditions {
        request_size_bytes: size,
        response_size_bytes: size,
        stop_messages: Some(100),
        waiting,
        ..of(Workload::UdpRr)
    };
    let (block, spin) = (Waiting::Block, Waiting::Spin);
    vec![sized(1, block), sized(64, block), sized(1, spin)]
}

fn lost_requests_and_responses_are_counted() {
    for (fault, answered) in [
        (Fault::DropRequests(25), false),
        (Fault::DropResponses(25), true),
    ] {
        for conditions in small_and_numbered() {
            let (played, relay) =
                play_with(&conditions, fault, |control| control.enter(Phase::Measured));
            let lost = relay.dropped.load(Relaxed);
            assert!(lost >= 4, "{lost}");
            let client = played.sender.total();
            let answers = (client.messages, client.unanswered);
            assert_eq!(answers, (100, lost), "{conditions:?}");
            assert_eq!(100 + lost, relay.requests.load(Relaxed));
            let served = if answered { 100 + lost } else { 100 };
            assert_eq!(played.receiver.total().messages, served, "{conditions:?}");
            let latency = times(&played).expect("asked for");
            assert_eq!(latency.count(), played.sender.measured.messages);
        }
    }
}

fn late_responses_do_not_answer_later_requests() {
    for conditions in small_and_numbered() {
        let (played, relay) = play_with(&conditions, Fault::Late(50, 3), |_| {});
        let client = played.sender.total();
        // Three responses came just before the fourth; on a busy machine others are late, too.
        assert!(client.unanswered >= 3, "{client:?}");
        assert_eq!(client.messages, 100);
        let all = 100 + client.unanswered;
        assert_eq!(all, relay.requests.load(Relaxed));
        assert_eq!(played.receiver.total().messages, all, "{conditions:?}");
    }
}

fn duplicate_request_is_answered_once() {
    for conditions in small_and_numbered() {
        let (played, _relay) = play_with(&conditions, Fault::Double, |_| {});
        let client = played.sender.total();
        assert_eq!((client.messages, client.unanswered), (100, 0));
        assert_eq!(played.receiver.total().messages, 100, "{conditions:?}");
    }
}

fn open_loop_latency_counts_from_the_intended_time() {
    let stall = Fault::Stall(100, Duration::from_millis(200));
    let conditions = |rate| Conditions {
        stop_messages: Some(400),
        transaction_rate: rate,
        ..of(Workload::UdpRr)
    };
    let over_50_ms = |latency: &Latency| {
        let slow = latency.buckets.iter().filter(|(ns, _)| *ns > 50_000_000);
        slow.map(|(_, count)| count).sum::<u64>()
    };
    let measured = |control: &Control| control.enter(Phase::Measured);
    let (open, _relay) = play_with(&conditions(Some(500)), stall, measured);
    let latency = times(&open).expect("asked for");
    assert_eq!(latency.count(), open.sender.measured.messages);
    assert!(latency.max_ns >= 190_000_000, "{}", latency.max_ns);
    // About 100 transactions were due during the stall; three quarters of them waited over 50 ms.
    assert!(over_50_ms(&latency) >= 40, "{}", over_50_ms(&latency));
    let (closed, _relay) = play_with(&conditions(None), stall, measured);
    let latency = times(&closed).expect("asked for");
    // A closed loop waits once.
    assert!(latency.max_ns >= 190_000_000 && over_50_ms(&latency) < 10);
}

fn foreign_connection_is_not_counted() {
    let conditions = of(Workload::TcpCrr);
    let mut address = None;
    let ends = meet_via(&conditions, |server| *address.insert(server));
    let address = address.expect("set");
    let played = play(ends, |control| {
        control.enter(Phase::Measured);
        for _ in 0..10 {
            // From another address than the client's.
            let foreign = SocketAddr::from(([127, 0, 0, 2], 0));
            let socket = net::socket(net::AddressFamily::INET, net::SocketType::STREAM, None);
            let socket = socket.expect("a socket");
            net::bind(&socket, &foreign).expect("bind");
            net::connect(&socket, &address).expect("connect");
            let _ = net::send(&socket, b"\x01", net::SendFlags::NOSIGNAL);
            let length = net::recv(&socket, &mut [0; 1][..], net::RecvFlags::empty());
            // A foreign connection is not served.
            assert!(!matches!(length, Ok((1, _))));
        }
        control.enter(Phase::Over);
    });
    let ends = [&played.sender, &played.receiver].map(|end| end.total().messages);
    assert_eq!(ends[0], ends[1]);
}
