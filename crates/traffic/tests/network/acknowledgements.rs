//! The acknowledgements of a TCP stream in every mode, compared with those of plain socket loops
//! that make the same calls: counts of segments (`TCP_INFO`, `/proc/net/snmp`, `/proc/net/netstat`),
//! no times.
//!
//! Messages follow each other at a distance and without Nagle's algorithm, so that each is a segment
//! and is received alone. A receiver that has never sent data acknowledges each of them when it is
//! read; one whose connection Linux takes for an interactive one acknowledges every second one.

use crate::play::*;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

use bitcost_model::modes::{MODES, Row};
use bitcost_model::record::TcpInfo;

/// Smaller than any segment, so that the kernel sees the end of a message by its push flag.
const SIZE: usize = 64;
const MESSAGES: usize = 60;
const RATE: u64 = 200;
const GAP: Duration = Duration::from_millis(5);
/// Largest difference of ACKs per delivery or segment. With a connection taken for an interactive
/// one it is 0.5.
const TOLERANCE: f64 = 0.25;

/// A trial for each mode of a stream, and what else there is.
pub fn trials() -> Vec<(&'static str, Run)> {
    let rows = MODES.iter().filter(|row| row.is_of(Workload::TcpStream));
    let of_row = |row: &'static Row| {
        let name = format!("acknowledgements: {}, {}", row.end.name(), row.mode.name());
        let run: Run = Box::new(|| stream_is_like_a_plain_loop(&of_mode(row)));
        (&*name.leak(), run)
    };
    let mut trials: Vec<(&'static str, Run)> = rows.map(of_row).collect();
    trials.push((
        "acknowledgements: an answer halves the ACKs",
        Box::new(answer_halves_the_acks),
    ));
    trials.push((
        "acknowledgements: spinning receiver",
        Box::new(|| {
            stream_is_like_a_plain_loop(&Conditions {
                waiting: Waiting::Spin,
                ..stream()
            });
        }),
    ));
    trials
}

fn stream() -> Conditions {
    Conditions {
        message_size_bytes: SIZE as u32,
        message_rate: Some(RATE),
        nodelay: true,
        stop_messages: Some(MESSAGES as u64),
        warmup_ms: 0,
        ..Conditions::default()
    }
}

fn of_mode(row: &Row) -> Conditions {
    let mut conditions = stream();
    match row.end {
        Role::Sender => conditions.send_mode = row.mode,
        Role::Receiver => conditions.receive_mode = row.mode,
    }
    conditions
}

/// What a receiver's connection did.
struct Received {
    info: TcpInfo,
    /// Receive calls that brought data.
    calls: u64,
}

impl Received {
    /// ACKs per data segment, where the segments of one receive call count once: a lower bound that
    /// a busy machine does not lower.
    fn acks_per_delivery(&self) -> f64 {
        self.acks() / self.segments().min(self.calls as f64)
    }

    /// An upper bound that a busy machine does not raise.
    fn acks_per_segment(&self) -> f64 {
        self.acks() / self.segments()
    }

    fn acks(&self) -> f64 {
        count(self.info.segs_out) - count(self.info.data_segs_out)
    }

    fn segments(&self) -> f64 {
        count(self.info.data_segs_in)
    }
}

fn count(counter: Option<u32>) -> f64 {
    f64::from(counter.expect("a kernel that counts segments"))
}

/// Counters of this network namespace's TCP.
#[derive(Clone, Copy, Debug)]
struct Tcp {
    /// Segments sent without data.
    bare: i64,
    /// ACKs that a timer sent.
    delayed: i64,
}

impl Tcp {
    fn read() -> Tcp {
        let mut counters: BTreeMap<String, i64> = BTreeMap::new();
        for file in ["/proc/net/snmp", "/proc/net/netstat"] {
            let text = std::fs::read_to_string(file).expect("the namespace's counters");
            let lines: Vec<&str> = text.lines().collect();
            for pair in lines.chunks_exact(2) {
                let names = pair[0].split_whitespace();
                let values = pair[1].split_whitespace();
                counters.extend(
                    names
                        .zip(values)
                        .skip(1)
                        .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))),
                );
            }
        }
        Tcp {
            bare: counters["OutSegs"] - counters["TCPOrigDataSent"],
            delayed: counters["DelayedACKs"],
        }
    }

    fn since(self, before: Tcp) -> Tcp {
        Tcp {
            bare: self.bare - before.bare,
            delayed: self.delayed - before.delayed,
        }
    }
}

/// Counts what the namespace's TCP sends meanwhile.
fn counted<T>(during: impl FnOnce() -> T) -> (T, Tcp) {
    let before = Tcp::read();
    let result = during();
    (result, Tcp::read().since(before))
}

/// A sender and a receiver of plain sockets; the receiver first answers `answers` messages.
fn plain_stream(answers: usize) -> Received {
    let listener = TcpListener::bind((HERE, 0)).expect("binds");
    let address = listener.local_addr().expect("an address");
    let sender = thread::spawn(move || {
        let mut stream = TcpStream::connect(address).expect("connects");
        stream.set_nodelay(true).expect("TCP_NODELAY");
        for _ in 0..answers {
            stream.write_all(&TOKEN).expect("asks");
            stream.read_exact(&mut [0; 16]).expect("an answer");
        }
        for _ in 0..MESSAGES {
            stream.write_all(&[1; SIZE]).expect("sends");
            thread::sleep(GAP);
        }
        stream.shutdown(Shutdown::Write).expect("ends");
        let _ = stream.read(&mut [0; 1]);
    });
    let (mut stream, _) = listener.accept().expect("accepts");
    for _ in 0..answers {
        stream.read_exact(&mut [0; 16]).expect("a question");
        stream.write_all(&TOKEN).expect("answers");
    }
    let mut buffer = vec![0; 256 << 10];
    let mut calls = answers as u64;
    while stream.read(&mut buffer).expect("receives") > 0 {
        calls += 1;
    }
    let info = bitcost_traffic::tcp_info(&stream).expect("TCP_INFO");
    drop(stream);
    sender.join().expect("no panic");
    Received { info, calls }
}

/// The test can see what it is for.
fn answer_halves_the_acks() {
    let [without, with] = [0, 1].map(|answers| plain_stream(answers).acks_per_delivery());
    if without < 0.75 {
        bitcost_testkit::ignore(&format!(
            "this kernel sends {without:.2} ACKs per delivery to a plain loop that never answers"
        ));
    }
    assert!(
        with < without - TOLERANCE,
        "{without:.2} without an answer, {with:.2} with one"
    );
}

/// Runs both endpoints to the bound; returns what the receiver's connection did.
fn play(conditions: &Conditions) -> Received {
    let played = crate::play::play(meet_or_ignore(conditions));
    let [_, receiver] = played.outcomes;
    Received {
        info: receiver.tcp_info.expect("TCP_INFO of a stream"),
        calls: played.receiver.total().calls,
    }
}

fn stream_is_like_a_plain_loop(conditions: &Conditions) {
    let (plain, plain_tcp) = counted(|| plain_stream(0));
    let (own, own_tcp) = counted(|| play(conditions));
    let facts = format!("{own_tcp:?}, plain {plain_tcp:?}");
    let [least, plain_least] = [&own, &plain].map(Received::acks_per_delivery);
    assert!(
        least > plain_least.min(1.0) - TOLERANCE,
        "{least:.2} ACKs per delivery, a plain loop {plain_least:.2}: {facts}"
    );
    let [most, plain_most] = [&own, &plain].map(Received::acks_per_segment);
    assert!(
        most < plain_most.max(1.0) + TOLERANCE,
        "{most:.2} ACKs per segment, a plain loop {plain_most:.2}: {facts}"
    );
    assert!(
        own_tcp.delayed - plain_tcp.delayed < MESSAGES as i64 / 4,
        "delayed ACKs: {facts}"
    );
    assert_eq!(own.info.data_segs_out, Some(0), "nothing is sent back");
}
