//! The service and its clients on the loopback: who is served, and what others get. The agent is
//! `cat`, which returns what it is sent.

mod hostile;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bitcost_model::client_event::ClientEvent;
use bitcost_model::confinement::{Confinement, Rules};
use bitcost_model::place::EndpointPlace;
use bitcost_model::protocol::{FRAME_BYTES_MAX, ToAgent};

use crate::address::HostPort;
use crate::client::{self, Unreached, open};
use crate::front;
use crate::key::OwnKey;
use crate::link::{Link, LinkToken};
use crate::message::{Answer, frame};
use crate::service::Service;
use crate::stream::Secure;

/// A service in a thread of the test.
struct Served {
    link: Link,
    _folder: tempfile::TempDir,
    stop: Arc<AtomicBool>,
    /// While a test holds it, no event is taken.
    hold: Arc<Mutex<()>>,
    serving: Option<JoinHandle<Vec<String>>>,
}

impl Served {
    fn start() -> Served {
        let folder = tempfile::tempdir().expect("a folder");
        let own = OwnKey::of_folder(&folder.path().join("service"), false).expect("a key");
        let stop = Arc::new(AtomicBool::new(false));
        let service = Service::open(&[SocketAddr::from(([127, 0, 0, 1], 0))]).expect("a service");
        let address = service.addresses().next().expect("an address");
        let link = Link {
            at: HostPort {
                host: address.ip().to_string(),
                port: address.port(),
            },
            service: own.fingerprint,
            token: own.token,
        };
        let hold = Arc::<Mutex<()>>::default();
        let (held, stopped) = (hold.clone(), stop.clone());
        let serving = std::thread::spawn(move || {
            let mut events = Vec::new();
            let agent = |_: &Confinement| Command::new("cat");
            let mut kept = |_, event: ClientEvent| {
                let _waited = held.lock().expect("no test failed");
                events.push(format!("{event:?}"));
            };
            let what = (own, Rules::default());
            service.serve(what, &agent, &front_in_thread, &stopped, &mut kept);
            events
        });
        Served {
            link,
            _folder: folder,
            stop,
            hold,
            serving: Some(serving),
        }
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.link.at.port))
    }

    /// A client that has the host, or waits.
    fn client(&self) -> (Secure, Answer) {
        let (opened, answer) = answered(&self.link, &secret(self.link.token));
        (opened, answer.expect("served"))
    }

    /// A client that has the host once the one before it has ended.
    fn next_client(&self) -> Secure {
        let (mut opened, mut answer) = self.client();
        while answer == Answer::Waiting {
            let text = client::answer(&mut opened).ok().expect("an answer");
            answer = Answer::read(&text).expect("served");
        }
        assert_eq!(answer, Answer::Welcome);
        opened
    }

    /// Stops it; returns its events.
    fn stop(mut self) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        let serving = self.serving.take().expect("it serves");
        serving.join().expect("it ends")
    }
}

/// Speaks TLS with a client in a thread of the test, which keeps its privileges.
fn front_in_thread(socket: OwnedFd, channel: OwnedFd) -> io::Result<Option<Child>> {
    std::thread::spawn(move || front::serve(socket.into(), channel.into(), String::new()));
    Ok(None)
}

/// What a service answers a client with this first message.
fn answered(link: &Link, first: &[u8]) -> (Secure, Result<Answer, String>) {
    let mut opened = open(link, first, &EndpointPlace::default())
        .ok()
        .expect("open");
    let text = client::answer(&mut opened).ok().expect("an answer");
    let answer = Answer::read(&text);
    (opened, answer)
}

/// What a client with this secret says first.
fn secret(token: LinkToken) -> Vec<u8> {
    frame(&token.letters())
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(10)
}

fn next(opened: &mut Secure) -> String {
    let text = opened.message(FRAME_BYTES_MAX, soon());
    String::from_utf8(text.expect("a message")).expect("a text")
}

#[test]
fn whoever_has_the_link_is_served_and_nobody_else() {
    let (served, other) = (Served::start(), Served::start());
    drop(served.next_client());
    for token in [other.link.token, LinkToken([0; 16])] {
        let (_, answer) = answered(&served.link, &secret(token));
        let why = answer.expect_err("refused");
        assert!(why.contains("the link is not the one"), "{why}");
    }
    // A service with another key gets no token.
    let link = Link {
        at: other.link.at.clone(),
        ..served.link.clone()
    };
    match open(&link, &secret(link.token), &EndpointPlace::default()) {
        Err(Unreached::Not(why)) => assert!(why.contains("its key is not"), "{why}"),
        _ => panic!("the token was said"),
    }
    drop(served.next_client());
    let events = [served.stop(), other.stop()];
    let count = |events: &[String], what: &str| {
        events
            .iter()
            .filter(|event| event.starts_with(what))
            .count()
    };
    assert_eq!(
        (count(&events[0], "Begins"), count(&events[1], "Begins")),
        (2, 0)
    );
    assert_eq!(count(&events[0], "Refused"), 2);
}

#[test]
fn what_is_no_first_message_ends_the_connection_and_the_service_goes_on() {
    let served = Served::start();
    let noise = [&7u32.to_be_bytes()[..], b"\xFF\0\x1B[31m"].concat();
    let firsts: [&[u8]; 5] = [
        &65u32.to_be_bytes(),
        &u32::MAX.to_be_bytes(),
        &[0; 4],
        &noise,
        &frame(&ToAgent::Renew),
    ];
    for first in firsts {
        let mut opened = open(&served.link, first, &EndpointPlace::default())
            .ok()
            .expect("open");
        assert!(client::answer(&mut opened).is_err(), "{first:?}");
    }
    drop(served.next_client());
    let failed = served.stop();
    let failed = failed.iter().filter(|event| event.starts_with("Failed"));
    assert_eq!(failed.count(), firsts.len());
}

/// Passes on what both sides say, keeps what the client said, and cuts the connection after `cut` bytes.
fn tap(to: SocketAddr, cut: usize) -> (SocketAddr, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("an address");
    let tapping = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client");
        let mut service = TcpStream::connect(to).expect("the service");
        let (mut back, mut from) = (
            client.try_clone().expect("a copy"),
            service.try_clone().expect("a copy"),
        );
        let returning = std::thread::spawn(move || std::io::copy(&mut from, &mut back));
        let (mut said, mut bytes) = (Vec::new(), [0; 64]);
        while said.len() < cut
            && let Ok(length @ 1..) = client.read(&mut bytes)
        {
            said.extend_from_slice(&bytes[..length]);
            if service.write_all(&bytes[..length]).is_err() {
                break;
            }
        }
        for socket in [&client, &service] {
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
        let _ = returning.join();
        said
    });
    (at, tapping)
}

#[test]
fn a_handshake_that_is_cut_or_replayed_gives_nothing() {
    let served = Served::start();
    let through = |cut: usize| {
        let (at, tapping) = tap(served.address(), cut);
        let link = Link {
            at: HostPort {
                port: at.port(),
                ..served.link.at.clone()
            },
            ..served.link.clone()
        };
        let opened = open(&link, &secret(link.token), &EndpointPlace::default());
        let answer = opened.and_then(|mut opened| client::answer(&mut opened));
        let is_served = answer.is_ok();
        (is_served, tapping.join().expect("tapped"))
    };
    for cut in [1, 100, 150, 250] {
        assert!(!through(cut).0, "cut after {cut} bytes");
    }
    let (is_served, said) = through(usize::MAX);
    assert!(is_served);
    // The same bytes once more: the service has other random numbers, so that nothing of them fits.
    let mut replay = TcpStream::connect(served.address()).expect("the service");
    let time = Some(Duration::from_secs(10));
    replay.set_read_timeout(time).expect("a time");
    replay.write_all(&said).expect("sent");
    let _ = replay.read_to_end(&mut Vec::new());
    let events = served.stop();
    let began = events.iter().filter(|event| event.starts_with("Begins"));
    assert_eq!(began.count(), 1, "{events:?}");
}

#[test]
fn half_open_connections_time_out_and_random_bytes_end_at_once() {
    let served = Served::start();
    let half = TcpStream::connect(served.address()).expect("connected");
    let mut begun = TcpStream::connect(served.address()).expect("connected");
    begun.write_all(&[0x16, 3, 1]).expect("sent");
    let mut random = TcpStream::connect(served.address()).expect("connected");
    random.write_all(&[0xAB; 600]).expect("sent");
    for mut socket in [random, half, begun] {
        let time = Some(Duration::from_secs(15));
        socket.set_read_timeout(time).expect("a time");
        let mut answer = Vec::new();
        // It is closed, with at most an alert.
        let _ = socket.read_to_end(&mut answer);
        assert!(answer.len() < 64, "{answer:?}");
    }
    let mut reasons = served.stop();
    reasons.retain(|event| event.starts_with("Failed"));
    let late = reasons
        .iter()
        .filter(|reason| reason.contains("within 5 s"));
    assert_eq!((late.count(), reasons.len()), (2, 3), "{reasons:?}");
}

#[test]
fn a_stop_ends_every_session_and_its_agent() {
    let served = Served::start();
    let mut opened = served.next_client();
    let address = served.address();
    let events = served.stop();
    let is_told = |event: &String| event.contains("is being stopped");
    assert!(events.iter().any(is_told), "{events:?}");
    assert!(next(&mut opened).contains("is being stopped"));
    assert!(TcpStream::connect(address).is_err());
}
