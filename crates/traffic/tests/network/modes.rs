//! Every mode of the stream workloads.

use crate::play::*;
use bitcost_model::modes::{MODES, Mode, Row, setting};

/// Shortest measured window.
const MEASURED: Duration = Duration::from_millis(100);
/// Time before and after the measured window.
const MARGIN: Duration = Duration::from_millis(25);

/// Sizes of messages: smaller than a sequence number and of its size, a whole packet, many pages, larger than the buffers.
const TCP_SIZES: [u32; 3] = [1, 131_072, 3 << 20];
const UDP_SIZES: [u32; 4] = [1, 8, 1472, 65_507];

type Trial = (&'static str, Run);

/// Every fast mode with each kind of run, and pairs of them.
pub fn trials() -> Vec<Trial> {
    let fast = MODES.iter().filter(|row| row.mode != Mode::Plain);
    let mut trials: Vec<Trial> = fast.flat_map(of_mode).collect();
    trials.extend(PAIRS.map(of_pair));
    trials.push(("an aborted writev counts what it sent", Box::new(aborted)));
    trials
}

/// Pairs of fast modes with the size of a message.
const PAIRS: [(Workload, Mode, Mode, u32); 2] = [
    (Workload::UdpStream, Mode::Gso, Mode::Gro, 64),
    (Workload::TcpStream, Mode::Sendfile, Mode::Truncate, 131_072),
];

/// A trial with both endpoints in a fast mode.
fn of_pair(
    (workload, send_mode, receive_mode, message_size_bytes): (Workload, Mode, Mode, u32),
) -> Trial {
    let conditions = Conditions {
        workload,
        send_mode,
        receive_mode,
        message_size_bytes,
        ..Conditions::default()
    };
    let [from, to] = [send_mode, receive_mode].map(Mode::name);
    trial(
        &format!("{from} to {to}, {}", workload.name()),
        conditions,
        timed,
    )
}

const STREAMS: [Workload; 2] = [Workload::TcpStream, Workload::UdpStream];

/// One endpoint in this mode, the other plain: each size, spinning, paced, and bounded by bytes.
fn of_mode(row: &'static Row) -> Vec<Trial> {
    STREAMS
        .into_iter()
        .filter(|workload| row.is_of(*workload))
        .flat_map(|workload| of_workload(row, workload))
        .collect()
}

fn of_workload(row: &'static Row, workload: Workload) -> Vec<Trial> {
    let mut conditions = Conditions {
        workload,
        warmup_ms: 0,
        ..Conditions::default()
    };
    match row.end {
        Role::Sender => conditions.send_mode = row.mode,
        Role::Receiver => conditions.receive_mode = row.mode,
    }
    let name = |what: &str| {
        format!(
            "{} {} of {}: {what}",
            setting(row.end),
            row.mode.name(),
            workload.name()
        )
    };
    let sizes: &[u32] = if workload.is_datagram() {
        &UDP_SIZES
    } else {
        &TCP_SIZES
    };
    let of_size = |size: u32| Conditions {
        message_size_bytes: size,
        ..conditions.clone()
    };
    let mut trials: Vec<Trial> = sizes
        .iter()
        .map(|size| trial(&name(&format!("{size} bytes")), of_size(*size), timed))
        .collect();
    trials.push(trial(
        &name("bounded"),
        Conditions {
            stop_bytes: Some(1_000_030),
            ..of_size(1000)
        },
        bounded,
    ));
    match row.end {
        Role::Sender => {
            let paced = Conditions {
                message_rate: Some(20_000),
                ..of_size(1000)
            };
            trials.push(trial(&name("paced"), paced, held_back));
        }
        Role::Receiver => {
            trials.push(trial(
                &name("spinning"),
                Conditions {
                    waiting: Waiting::Spin,
                    ..of_size(1000)
                },
                timed,
            ));
        }
    }
    trials
}

/// A call that is ended while it waits has sent a part, which the receiver has.
fn aborted() {
    let conditions = Conditions {
        send_mode: Mode::Writev,
        ..Conditions::of(Workload::TcpStream)
    };
    let [sender, receiver] = meet(&conditions).map(|ready| ready.flow);
    let handle = sender.handle().expect("a handle");
    let controls: [Arc<Control>; 2] = Default::default();
    let enter = |phase| controls.iter().for_each(|control| control.enter(phase));
    enter(Phase::Measured);
    let running = [start(sender, &controls[0]), start(receiver, &controls[1])];
    moved_in_window(&controls);
    enter(Phase::Abort);
    let _ = rustix::net::shutdown(&handle, rustix::net::Shutdown::Both);
    for end in running {
        drop(end.join().expect("no panic"));
    }
    let [sent, received] = controls
        .each_ref()
        .map(|control| control.counts().total().bytes);
    assert!((1..=sent).contains(&received), "{received} of {sent}");
}

/// A mode that this kernel does not have makes the trial ignored.
fn trial(name: &str, conditions: Conditions, check: fn(&Conditions, &Played)) -> Trial {
    let run = move || {
        let ready = meet_or_ignore(&conditions);
        let named = ready.each_ref().map(|ready| ready.in_effect.clone());
        let played = run(&conditions, ready);
        always(&conditions, &played, &named);
        check(&conditions, &played);
    };
    (name.to_owned().leak(), Box::new(run))
}

/// Runs both endpoints for a fraction of a second, most of it measured, or to the bound.
fn run(conditions: &Conditions, ready: [Ready; 2]) -> Played {
    play_from(ready, Phase::Warmup, |controls| {
        if conditions.is_bounded() {
            return;
        }
        thread::sleep(MARGIN);
        controls
            .iter()
            .for_each(|control| control.enter(Phase::Measured));
        thread::sleep(MEASURED);
        moved_in_window(controls);
        controls
            .iter()
            .for_each(|control| control.enter(Phase::Cooldown));
        thread::sleep(MARGIN);
        controls[0].enter(Phase::Over);
    })
}

/// Keeps the window open until it has messages: small segments can close the receiver's TCP window,
/// which then opens only after a window probe, and a busy machine starts threads late.
fn moved_in_window(controls: &[Arc<Control>; 2]) {
    let began = Instant::now();
    let is_still = |control: &Arc<Control>| control.counts().measured.bytes == 0;
    while controls.iter().any(is_still) && began.elapsed() < PATIENCE {
        thread::sleep(MARGIN);
    }
}

/// Checks of every run: the modes are recorded, and every byte is accounted for.
fn always(conditions: &Conditions, played: &Played, named: &[Vec<InEffect>; 2]) {
    for (end, mode) in BOTH
        .into_iter()
        .zip([conditions.send_mode, conditions.receive_mode])
    {
        let named = &named[usize::from(end == Role::Receiver)];
        let mut rows = named.iter().filter(|row| row.name == setting(end));
        let row = rows.next().expect("the mode");
        assert_eq!(row.actual.as_deref(), Some(mode.name()), "{named:?}");
    }
    let (sent, received) = (played.sender.total(), played.receiver.total());
    let size = u64::from(conditions.message_size_bytes);
    assert!(
        sent.messages > 0 && received.bytes > 0,
        "{sent:?} {received:?}"
    );
    if conditions.workload.is_datagram() {
        let lost = sent.messages - received.messages;
        if let Some(sequence) = played.outcomes[1].sequence {
            assert_eq!((sequence.total_lost, sequence.duplicated), (lost, 0));
            let measured = played.sender.measured.messages - played.receiver.measured.messages;
            assert_eq!(sequence.measured_lost, measured);
            assert_eq!(sequence.measured_sent, played.sender.measured.messages);
        }
        // The last datagram of a bounded run is a shorter one, and may be among the lost.
        let short = conditions
            .bound()
            .map_or(0, |(_, last)| (size - u64::from(last)) % size);
        let missing = sent.bytes - received.bytes;
        assert!(
            [lost * size, (lost * size).saturating_sub(short)].contains(&missing),
            "{sent:?} {received:?}"
        );
    } else {
        assert_eq!(sent.bytes, received.bytes);
    }
    let is_list = conditions.send_mode.hands_over_several();
    let is_paced = conditions.message_rate.is_some();
    if is_list && size * 2 < 65_507 && !is_paced {
        assert!(sent.calls * 2 <= sent.messages, "{sent:?}");
    }
    if (conditions.send_mode, conditions.receive_mode) == (Mode::Gso, Mode::Gro) {
        assert!(received.calls * 16 <= received.messages, "{received:?}");
    }
}

/// A run of fixed duration: whole messages only, and some in the measured window.
fn timed(conditions: &Conditions, played: &Played) {
    let sent = played.sender.total();
    assert_eq!(
        sent.bytes,
        sent.messages * u64::from(conditions.message_size_bytes)
    );
    let (sender, receiver) = (&played.sender, &played.receiver);
    assert!(
        sender.measured.messages > 0 && receiver.measured.bytes > 0,
        "{sender:?} {receiver:?}"
    );
}

/// A run of 1 000 030 bytes in messages of 1000: a thousand whole messages and a short one.
fn bounded(conditions: &Conditions, played: &Played) {
    assert_eq!(Some(played.sender.total().bytes), conditions.stop_bytes);
    assert_eq!(played.sender.total().messages, 1001);
}

/// 20 000 messages a second are 3000 in 150 ms; a busy machine makes the run longer, or the
/// messages fewer.
fn held_back(_: &Conditions, played: &Played) {
    let messages = played.sender.total().messages;
    assert!((300..20_000).contains(&messages), "{messages}");
    assert!(played.outcomes[0].pacing.is_some());
}
