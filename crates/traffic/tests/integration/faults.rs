//! A relay loses, duplicates and reorders datagrams, and adds some of another run: each is counted
//! exactly.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::modes::Mode;
use bitcost_traffic::{Control, Phase, Sent};

const PATIENCE: Duration = Duration::from_secs(5);
const TOKEN: [u8; 16] = *b"sixteen letters!";
const MESSAGES: u64 = 1000;
const SIZE: u64 = 64;
/// The relay opens the measured window when it forwards this number.
const WINDOW_BEGINS: u64 = 300;

/// The faults that the relay made.
#[derive(Clone, Copy, Debug, Default)]
struct Planted {
    dropped: u64,
    dropped_measured: u64,
    doubled: u64,
    swapped: u64,
    foreign: u64,
}

/// A message with a much greater number and the bytes of another token.
fn of_another_run(mut message: Vec<u8>) -> Vec<u8> {
    message[2] ^= 0xff;
    message[3] ^= 0x80;
    message
}

/// The number of a message and whether it belongs to the window; absent for a greeting.
fn numbered(datagram: &[u8]) -> Option<(u64, bool)> {
    let header: [u8; 8] = datagram.get(..8)?.try_into().ok()?;
    let number = u64::from_be_bytes(header) & 0xff_ffff_ffff;
    (header[0] & 0xfe == 0xb0).then_some((number, header[0] & 1 == 1))
}

/// Forwards datagrams. Every 50th from 7 is lost, every 100th from 13 is duplicated, every 100th
/// from 40 is sent after the next one, and number 500 once more after number 600. After every 100th
/// from 70, one of another run is added.
fn relay(
    receiver: SocketAddr,
    control: Arc<Control>,
    over: Arc<AtomicBool>,
) -> (SocketAddr, Arc<Mutex<Planted>>) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("binds");
    socket
        .set_read_timeout(Some(Duration::from_millis(20)))
        .expect("a timeout");
    let address = socket.local_addr().expect("an address");
    let planted: Arc<Mutex<Planted>> = Arc::default();
    let tell = planted.clone();
    thread::spawn(move || {
        let (mut sender, mut held) = (None, BTreeMap::new());
        let mut buffer = [0; 2048];
        while !over.load(Relaxed) {
            let Ok((length, from)) = socket.recv_from(&mut buffer) else {
                continue;
            };
            let datagram = &buffer[..length];
            let pass = |datagram: &[u8]| drop(socket.send_to(datagram, receiver));
            if from == receiver {
                // The receiver's answer to the greeting.
                sender
                    .into_iter()
                    .for_each(|sender| drop(socket.send_to(datagram, sender)));
                continue;
            }
            sender = Some(from);
            let Some((number, measured)) = numbered(datagram) else {
                pass(datagram);
                continue;
            };
            let mut planted = tell.lock().expect("no panic");
            if number == WINDOW_BEGINS {
                control.enter(Phase::Measured);
            }
            match number % 100 {
                7 | 57 => {
                    planted.dropped += 1;
                    planted.dropped_measured += u64::from(measured);
                }
                13 => {
                    planted.doubled += 1;
                    pass(datagram);
                    pass(datagram);
                }
                40 => {
                    planted.swapped += 1;
                    held.insert(number + 1, datagram.to_vec());
                }
                70 => {
                    planted.foreign += 1;
                    pass(datagram);
                    pass(&of_another_run(datagram.to_vec()));
                }
                _ => pass(datagram),
            }
            if number == 500 {
                held.insert(600, datagram.to_vec());
            }
            if number == 600 {
                planted.doubled += 1;
            }
            held.remove(&number)
                .into_iter()
                .for_each(|late| pass(&late));
        }
    });
    (address, planted)
}

fn counted_exactly(receive_mode: Mode) {
    let conditions = Conditions {
        workload: Workload::UdpStream,
        message_size_bytes: SIZE as u32,
        receive_mode,
        stop_messages: Some(MESSAGES),
        // Slow enough that no socket overflows, even on a busy machine.
        message_rate: Some(1000),
        burst_messages: Some(1),
        ..Conditions::default()
    };
    let controls: [Arc<Control>; 2] = Default::default();
    let over: Arc<AtomicBool> = Arc::default();
    let pending =
        bitcost_traffic::listen(&conditions, Ipv4Addr::LOCALHOST.into(), TOKEN).expect("listens");
    let (address, planted) = relay(pending.address(), controls[0].clone(), over.clone());
    let asked = conditions.clone();
    let sender = thread::spawn(move || {
        bitcost_traffic::connect(&asked, address, TOKEN, PATIENCE).expect("connects")
    });
    let mut receiver = pending.accept(PATIENCE).expect("the sender comes").flow;
    let mut sender = sender.join().expect("no panic").flow;
    let receiving = {
        let control = controls[1].clone();
        thread::spawn(move || {
            receiver
                .run(&control)
                .map(|()| receiver)
                .expect("it succeeds")
        })
    };
    sender.run(&controls[0]).expect("it succeeds");
    let sent = controls[0].counts();
    controls[1].expect_messages(sent.total().messages);
    let receiver = receiving.join().expect("no panic");
    over.store(true, Relaxed);
    let planted = *planted.lock().expect("no panic");
    assert_eq!(
        (planted.dropped, planted.doubled, planted.swapped),
        (20, 11, 10)
    );
    let told = Sent {
        measured: sent.measured.messages,
        total: sent.total().messages,
    };
    let sequence = receiver.outcome(told).sequence.expect("numbers");
    assert_eq!(
        (sent.total().messages, sent.total().bytes),
        (MESSAGES, MESSAGES * SIZE)
    );
    assert_eq!(
        (sequence.total_lost, sequence.measured_lost),
        (planted.dropped, planted.dropped_measured)
    );
    assert_eq!(
        (sequence.duplicated, sequence.reordered),
        (planted.doubled, planted.swapped)
    );
    assert_eq!((sequence.foreign, planted.foreign), (10, 10));
    let received = controls[1].counts();
    let whole = MESSAGES - planted.dropped;
    assert_eq!(
        (received.total().messages, received.total().bytes),
        (whole, whole * SIZE)
    );
    assert_eq!(
        received.measured.messages,
        sent.measured.messages - planted.dropped_measured
    );
    assert!(planted.dropped_measured > 0 && planted.dropped_measured < planted.dropped);
}

#[test]
fn plain_receiver_counts_planted_faults() {
    counted_exactly(Mode::Plain);
}
