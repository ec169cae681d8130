//! Flows that share threads, over the loopback, both endpoints in this process.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::record::{Counts, Role};
use bitcost_traffic::{Control, Flow, Multiplexer, Phase, Ready, Sent, TrafficError};

const PATIENCE: Duration = Duration::from_secs(10);
const TOKEN: [u8; 16] = *b"sixteen letters!";
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const THREADS: usize = 2;
const BOTH: [Workload; 2] = [Workload::TcpStream, Workload::UdpStream];

/// The flows of one endpoint with their controls.
struct End {
    flows: Vec<Box<dyn Flow>>,
    controls: Vec<Arc<Control>>,
}

impl End {
    fn of(ready: Vec<Ready>) -> End {
        let controls = ready.iter().map(|_| Arc::default()).collect();
        End {
            flows: ready.into_iter().map(|ready| ready.flow).collect(),
            controls,
        }
    }

    fn enter(&self, phase: Phase) {
        enter(&self.controls, phase);
    }
}

fn enter(controls: &[Arc<Control>], phase: Phase) {
    controls.iter().for_each(|control| control.enter(phase));
}

/// The share of each flow in the run's bounds.
fn share(conditions: &Conditions) -> Conditions {
    let flows = u64::from(conditions.flows);
    Conditions {
        stop_bytes: conditions.stop_bytes.map(|bytes| bytes / flows),
        stop_messages: conditions.stop_messages.map(|messages| messages / flows),
        ..conditions.clone()
    }
}

fn meet(conditions: &Conditions) -> [End; 2] {
    assert_eq!(conditions.check(65_535), Ok(()));
    let share = share(conditions);
    let pending: Vec<_> = (0..conditions.flows)
        .map(|_| bitcost_traffic::listen(&share, HERE, TOKEN).expect("listen"))
        .collect();
    let addresses: Vec<_> = pending.iter().map(|pending| pending.address()).collect();
    let sender = thread::spawn(move || {
        addresses
            .into_iter()
            .map(|address| bitcost_traffic::connect(&share, address, TOKEN, PATIENCE))
            .collect::<Result<_, _>>()
    });
    let receiver: Result<_, _> = pending
        .into_iter()
        .map(|pending| pending.accept(PATIENCE))
        .collect();
    let sender: Result<Vec<Ready>, TrafficError> = sender.join().expect("no panic");
    [
        End::of(sender.expect("connected")),
        End::of(receiver.expect("accepted")),
    ]
}

type Served = (Vec<Box<dyn Flow>>, Result<(), (usize, TrafficError)>);

/// Serves the flows of an endpoint with two threads.
fn serve(end: End) -> Vec<thread::JoinHandle<Served>> {
    let End {
        mut flows,
        controls,
    } = end;
    let half = flows.len().div_ceil(THREADS);
    let rest = flows.split_off(half);
    let teams = [
        (flows, controls[..half].to_vec()),
        (rest, controls[half..].to_vec()),
    ];
    let work = |(mut flows, controls): (Vec<Box<dyn Flow>>, Vec<Arc<Control>>)| {
        thread::spawn(move || {
            let result =
                Multiplexer::new(&mut flows, &controls).and_then(|mut together| together.run());
            (flows, result)
        })
    };
    teams.into_iter().map(work).collect()
}

fn join(threads: Vec<thread::JoinHandle<Served>>) -> Vec<Box<dyn Flow>> {
    let mut flows = Vec::new();
    for served in threads {
        let (some, result) = served.join().expect("no panic");
        result
            .map_err(|(place, error)| format!("flow {place}: {error}"))
            .expect("all end well");
        flows.extend(some);
    }
    flows
}

fn of(workload: Workload, flows: u32) -> Conditions {
    Conditions {
        workload,
        flows,
        threads: Some(THREADS as u32),
        message_size_bytes: 1000,
        ..Conditions::default()
    }
}

/// The counts of each flow at both endpoints, and the loss at its receiver.
fn play(conditions: &Conditions, direct: impl FnOnce(&End)) -> Vec<[Counts; 2]> {
    let [sender, receiver] = meet(conditions);
    let controls = [&sender, &receiver].map(|end| end.controls.clone());
    direct(&sender);
    receiver.enter(controls[0][0].phase());
    let receiving = serve(receiver);
    let sending = serve(sender);
    if !conditions.is_bounded() {
        for phase in [Phase::Measured, Phase::Cooldown, Phase::Over] {
            thread::sleep(Duration::from_millis(100));
            enter(&controls[0], phase);
        }
    }
    join(sending);
    let totals: Vec<[Counts; 2]> = controls[0]
        .iter()
        .map(|c| [c.counts().total(), c.counts().measured])
        .collect();
    controls[1]
        .iter()
        .zip(&totals)
        .for_each(|(control, [total, _])| control.expect_messages(total.messages));
    let receivers = join(receiving);
    let pairs = totals.iter().zip(&controls[1]).zip(receivers).map(
        |(([sent, measured], control), flow)| {
            let came = control.counts().total();
            let outcome = flow.outcome(Sent {
                measured: measured.messages,
                total: sent.messages,
            });
            match outcome.sequence {
                Some(sequence) => assert_eq!(sent.messages, came.messages + sequence.total_lost),
                None => assert_eq!(sent.bytes, came.bytes),
            }
            assert_eq!(
                outcome.sequence.is_some(),
                conditions.workload == Workload::UdpStream
            );
            [*sent, came]
        },
    );
    pairs.collect()
}

#[test]
fn hundred_flows_over_two_threads_account_for_every_byte() {
    for workload in BOTH {
        let flows = play(&of(workload, 100), |_| {});
        assert_eq!(flows.len(), 100);
        for [sent, came] in &flows {
            assert!(
                sent.messages > 0 && came.bytes > 0,
                "{workload:?}: {sent:?} {came:?}"
            );
            assert_eq!(sent.bytes, sent.messages * 1000, "{workload:?}");
        }
        let waits = |end: usize| {
            flows
                .iter()
                .filter(|counts| counts[end].wait_calls > 0)
                .count()
        };
        assert_eq!(
            [waits(0), waits(1)],
            [THREADS; 2],
            "counted at the first flow of each thread"
        );
    }
}

#[test]
fn bounds_of_bytes_and_messages_are_exact() {
    for workload in BOTH {
        let by_messages = Conditions {
            stop_messages: Some(20 * 37),
            ..of(workload, 20)
        };
        let by_bytes = Conditions {
            stop_bytes: Some(20 * 37_500),
            ..of(workload, 20)
        };
        for (conditions, bytes, messages) in [(by_messages, 37_000, 37), (by_bytes, 37_500, 38)] {
            for [sent, came] in play(&conditions, |sender| sender.enter(Phase::Measured)) {
                assert_eq!(
                    (sent.bytes, sent.messages),
                    (bytes, messages),
                    "{conditions:?}"
                );
                if workload == Workload::TcpStream {
                    assert_eq!(came.bytes, bytes);
                }
            }
        }
    }
}

#[test]
fn messages_larger_than_the_send_buffer_are_sent_whole() {
    let conditions = Conditions {
        message_size_bytes: 3 << 18,
        send_buffer_bytes: Some(16_384),
        stop_messages: Some(12),
        ..of(Workload::TcpStream, 4)
    };
    for [sent, came] in play(&conditions, |_| {}) {
        assert_eq!(
            (sent.messages, sent.short_calls, came.bytes),
            (3, 3, 9 << 18)
        );
        assert!(sent.calls > sent.messages, "{sent:?}");
    }
}

#[test]
fn error_names_the_flow_of_a_broken_connection() {
    let [sender, receiver] = meet(&of(Workload::TcpStream, 10));
    let handles: Vec<_> = receiver
        .flows
        .iter()
        .map(|flow| flow.handle().expect("a handle"))
        .collect();
    let controls = [sender.controls.clone(), receiver.controls.clone()];
    let sending = serve(sender);
    let receiving = serve(receiver);
    thread::sleep(Duration::from_millis(50));
    bitcost_sys::socket::shutdown(&handles[7]).expect("shut down");
    let (_, result) = sending
        .into_iter()
        .nth(1)
        .expect("two threads")
        .join()
        .expect("no panic");
    let (place, error) = result.expect_err("its second half has the broken flow");
    assert_eq!(place, 2, "{error}");
    controls
        .iter()
        .for_each(|controls| enter(controls, Phase::Abort));
    receiving.into_iter().for_each(|served| drop(served.join()));
}

#[test]
fn abort_ends_multiplexed_flows() {
    for workload in BOTH {
        let ends = meet(&of(workload, 10));
        let controls = ends.each_ref().map(|end| end.controls.clone());
        let threads: Vec<_> = ends.into_iter().flat_map(serve).collect();
        thread::sleep(Duration::from_millis(50));
        controls
            .iter()
            .for_each(|controls| enter(controls, Phase::Abort));
        let mut outcomes: BTreeMap<bool, usize> = BTreeMap::new();
        for served in threads {
            *outcomes
                .entry(served.join().expect("no panic").1.is_ok())
                .or_default() += 1;
        }
        assert_eq!(outcomes.get(&true), Some(&4), "{workload:?}: {outcomes:?}");
    }
}

#[test]
fn flows_that_need_a_thread_are_refused() {
    let conditions = Conditions {
        threads: None,
        ..of(Workload::TcpStream, 2)
    };
    let [mut sender, mut receiver] = meet(&conditions);
    for (end, role) in [(&mut sender, Role::Sender), (&mut receiver, Role::Receiver)] {
        let refused = Multiplexer::new(&mut end.flows, &end.controls).err();
        assert!(refused.is_some_and(|(place, _)| place == 0), "{role:?}");
    }
}
