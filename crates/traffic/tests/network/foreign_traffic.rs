//! Foreign traffic to a receiver's port: the run starts nevertheless, and counts only its own
//! messages.

use crate::play::*;
use std::io::Write;
use std::net::{TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

use bitcost_model::modes::Mode;
use bitcost_model::workload::WORKLOADS;

bitcost_testkit::trials! { PrivateNetwork:
    datagrams_before_the_handshake_are_discarded,
    gro_discards_datagrams_before_the_handshake,
    udp_rr_server_ignores_foreign_requests,
    foreign_connections_do_not_block_the_sender,
    silent_connections_do_not_block_a_tcp_crr_server;
}

const OTHER: [u8; 16] = *b"those of another";
const MESSAGES: u64 = 500;

/// A message of a sender with this token, as docs/method/traffic.md describes it.
fn message(token: [u8; 16], measured: bool, number: u64, size: usize) -> Vec<u8> {
    let mut message = vec![0x5A; size];
    match message.first_chunk_mut::<8>() {
        Some(front) => {
            *front = number.to_be_bytes();
            front[..3].copy_from_slice(&[0xB0 | u8::from(measured), token[0], token[1]]);
        }
        None => message.copy_from_slice(&token[2..2 + size]),
    }
    message
}

/// Waits until a socket has this many bytes queued, so that later datagrams are queued after them.
fn await_queued(address: SocketAddr) {
    let queued = || {
        let table = std::fs::read_to_string("/proc/net/udp").expect("the kernel's table");
        let port = format!(":{:04X}", address.port());
        table
            .lines()
            .filter_map(|line| {
                let mut columns = line.split_whitespace().skip(1);
                let is_here = columns.next()?.ends_with(&port);
                let (_, received) = columns.nth(2)?.split_once(':')?;
                Some(is_here && u64::from_str_radix(received, 16).ok()? > 0)
            })
            .any(|is_queued| is_queued)
    };
    while !queued() {
        thread::sleep(Duration::from_millis(1));
    }
}

/// The receiver of a run counts exactly its messages, with foreign datagrams that are queued at the receiver after the
/// sender's greeting.
fn assert_counts_own_messages_only(conditions: &Conditions, foreign: &[Vec<u8>]) {
    let listening = listen(conditions, HERE).expect("listens");
    let address = listening.address();
    let sender = connecting(conditions, address);
    await_queued(address);
    let other = UdpSocket::bind((HERE, 0)).expect("binds");
    for datagram in foreign {
        other.send_to(datagram, address).expect("sends");
    }
    let receiver = accept(listening, conditions).expect("the sender comes");
    let sender = sender.join().expect("no panic");
    let played = play([sender.expect("the receiver answers"), receiver]);
    let [sent, received] = [played.sender, played.receiver].map(|counts| counts.total().messages);
    assert_eq!([sent, received], [MESSAGES; 2]);
    if let Some(of) = played.outcomes[1].sequence {
        assert_eq!((of.total_lost, of.late, of.reordered), (0, 0, 0));
        assert_eq!((of.duplicated, of.foreign), (0, 0));
    }
}

fn datagrams(size: u32) -> Conditions {
    Conditions {
        workload: Workload::UdpStream,
        message_size_bytes: size,
        stop_messages: Some(MESSAGES),
        // Slow enough that no socket overflows, even on a busy machine.
        message_rate: Some(2000),
        ..Conditions::default()
    }
}

/// Much greater numbers and numbers of the window, with the run's token and with another.
fn forged(size: usize) -> Vec<Vec<u8>> {
    let numbered = |token| {
        let ahead = (0..20).map(move |number| message(token, false, (1 << 39) + number, size));
        ahead.chain((0..20).map(move |number| message(token, true, number, size)))
    };
    numbered(TOKEN)
        .chain(numbered(OTHER))
        .chain([vec![0; size], Vec::new()])
        .collect()
}

fn datagrams_before_the_handshake_are_discarded() {
    for size in [8, 7] {
        assert_counts_own_messages_only(&datagrams(size), &forged(size as usize));
    }
}

fn gro_discards_datagrams_before_the_handshake() {
    let conditions = Conditions {
        receive_mode: Mode::Gro,
        ..datagrams(64)
    };
    assert_counts_own_messages_only(&conditions, &forged(64));
}

fn udp_rr_server_ignores_foreign_requests() {
    for size in [64, 8, 4, 1] {
        let conditions = Conditions {
            workload: Workload::UdpRr,
            request_size_bytes: size,
            response_size_bytes: size,
            stop_messages: Some(MESSAGES),
            ..Conditions::default()
        };
        assert_counts_own_messages_only(&conditions, &forged(size as usize));
    }
}

/// Silent connections, connections that send something else, and three that send an incomplete
/// token byte by byte, until this is dropped.
struct ForeignConnections {
    over: Arc<AtomicBool>,
    dribble: Option<JoinHandle<()>>,
}

fn send_each(streams: &[TcpStream], bytes: &[u8]) {
    for mut stream in streams {
        drop(stream.write_all(bytes));
    }
}

impl ForeignConnections {
    fn at(address: SocketAddr) -> ForeignConnections {
        let over: Arc<AtomicBool> = Arc::default();
        let open = move || TcpStream::connect_timeout(&address, PATIENCE).ok();
        let silent: Vec<TcpStream> = (0..40).filter_map(|_| open()).collect();
        let slow: Vec<TcpStream> = (0..3).filter_map(|_| open()).collect();
        let wrong: Vec<TcpStream> = (0..20).filter_map(|_| open()).collect();
        send_each(&wrong, &[OTHER, OTHER].concat());
        send_each(&slow, &TOKEN[..1]);
        let told = over.clone();
        let dribble = thread::spawn(move || {
            let _kept = (silent, wrong);
            for byte in &TOKEN[1..15] {
                for _ in 0..90 {
                    thread::sleep(Duration::from_millis(10));
                    if told.load(Relaxed) {
                        return;
                    }
                }
                send_each(&slow, &[*byte]);
            }
        });
        let dribble = Some(dribble);
        ForeignConnections { over, dribble }
    }
}

impl Drop for ForeignConnections {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        drop(self.dribble.take().map(JoinHandle::join));
    }
}

fn foreign_connections_do_not_block_the_sender() {
    let all = WORKLOADS.iter().map(|row| row.workload);
    for workload in all.filter(|workload| !workload.is_datagram()) {
        let conditions = Conditions {
            workload,
            stop_messages: Some(MESSAGES),
            ..Conditions::default()
        };
        let mut foreign = None;
        let ready = meet_via(&conditions, |address| {
            foreign = Some(ForeignConnections::at(address));
            address
        });
        let played = play(ready);
        drop(foreign);
        let [sent, received] = [played.sender, played.receiver].map(|counts| counts.total());
        assert_eq!((sent.messages, workload), (MESSAGES, workload));
        assert_eq!(sent.bytes, received.bytes, "{workload:?}");
    }
}

fn silent_connections_do_not_block_a_tcp_crr_server() {
    for waiting in [Waiting::Block, Waiting::Spin] {
        let conditions = Conditions {
            workload: Workload::TcpCrr,
            waiting,
            request_size_bytes: 2,
            stop_messages: Some(MESSAGES),
            ..Conditions::default()
        };
        let mut address = None;
        let ready = meet_via(&conditions, |server| *address.insert(server));
        let address = address.expect("set");
        // The last one sends half of a request.
        let silent: Vec<TcpStream> = (0..2)
            .filter_map(|_| TcpStream::connect(address).ok())
            .collect();
        send_each(silent.get(1..).unwrap_or_default(), &[1]);
        let played = play(ready);
        let counts = [played.sender, played.receiver].map(|counts| counts.total().messages);
        assert_eq!(counts, [MESSAGES; 2], "{waiting:?}");
        drop(silent);
    }
}
