//! The service and its clients on the loopback: who is served, and what others get. The agent is
//! `cat`, which returns what it is sent.

mod hostile;
mod versions;

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bitcost_model::Unavailable;
use bitcost_model::protocol::ToAgent;

use crate::address::HostPort;
use crate::client::{self, Unreached, check, enrol, open, open_with};
use crate::event::Event;
use crate::fingerprint::Fingerprint;
use crate::frames::frame;
use crate::front;
use crate::known::{Client, Known};
use crate::link::Link;
use crate::message::{Answer, Hello, Wants};
use crate::rules::Rules;
use crate::service::Service;
use crate::store::Store;
use crate::stream::Stream;

/// A service in a thread of the test.
struct Served {
    at: HostPort,
    key: Fingerprint,
    folder: tempfile::TempDir,
    stop: Arc<AtomicBool>,
    /// While a test holds it, no event is taken.
    hold: Arc<Mutex<()>>,
    serving: Option<JoinHandle<Vec<String>>>,
}

impl Served {
    fn start() -> Served {
        Served::of(tempfile::tempdir().expect("a folder"))
    }

    fn of(folder: tempfile::TempDir) -> Served {
        let stop = Arc::new(AtomicBool::new(false));
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let agent = Box::new(|| Command::new("cat"));
        let service = Service::open(
            address,
            folder.path(),
            agent,
            Box::new(give),
            2,
            stop.clone(),
        );
        let service = service.map_err(|(why, _)| why).expect("a service");
        let address = service.address().expect("an address");
        let key = service.fingerprint();
        let hold = Arc::<Mutex<()>>::default();
        let held = hold.clone();
        let serving = std::thread::spawn(move || {
            let mut events = Vec::new();
            let kept = |event: Event| {
                let _waited = held.lock().expect("no test failed");
                events.push(format!("{event:?}"));
            };
            service.serve(kept).expect("it serves");
            events
        });
        Served {
            at: HostPort {
                host: address.ip().to_string(),
                port: address.port(),
            },
            key,
            folder,
            stop,
            hold,
            serving: Some(serving),
        }
    }

    fn store(&self) -> Store {
        Store::open(self.folder.path()).expect("a store")
    }

    fn link(&self, rules: Rules) -> Link {
        Link {
            at: self.at.clone(),
            service: self.key,
            token: self.store().invite(None, rules).expect("a link"),
        }
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.at.port))
    }

    /// A new client that is enrolled, with its folder.
    fn client(&self, name: &str, rules: Rules) -> (Client, Known, tempfile::TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        let client = Client::of(folder.path());
        enrol(&client, &self.link(rules), name, &resolve).expect("enrolled");
        let known = client
            .find(&self.at.to_string())
            .expect("read")
            .pop()
            .expect("known");
        (client, known, folder)
    }

    /// Stops it; returns its events.
    fn stop(mut self) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        self.serving
            .take()
            .expect("it serves")
            .join()
            .expect("it ends")
    }
}

/// Speaks TLS with a client in a thread of the test, which keeps its privileges.
fn give(socket: &TcpStream, channel: OwnedFd, key: &[u8]) -> io::Result<()> {
    let (socket, key) = (socket.try_clone()?, key.to_vec());
    std::thread::spawn(move || front::serve(socket, channel.into(), &key));
    Ok(())
}

fn resolve(host: &str) -> Result<Vec<IpAddr>, Unavailable> {
    host.parse()
        .map(|address| vec![address])
        .map_err(|_| Unavailable("unknown".to_owned()))
}

fn foreign(folder: &Path, served: &Served) -> (Client, Known) {
    let client = Client::of(folder);
    let known = Known {
        host: served.at.host.clone(),
        port: served.at.port,
        service: served.key,
        enrolled_s: 0,
    };
    (client, known)
}

fn refusal(result: Result<impl Sized, Unreached>) -> String {
    match result {
        Err(Unreached::Refused { why, .. }) => why,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("served"),
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(10)
}

/// A connection on which the service has answered a client that wants an agent.
fn agent(client: &Client, known: &Known) -> (client::Open, Answer) {
    agent_for(client, known, Hello::new(Wants::Agent))
}

fn agent_for(client: &Client, known: &Known, first: Hello) -> (client::Open, Answer) {
    let mut opened = open(client, known, first, &resolve).expect("open");
    let text = opened
        .secure
        .read_frame(&mut opened.frames, soon())
        .expect("an answer");
    (opened, serde_json::from_slice(&text).expect("an answer"))
}

/// The same, after the client before it has ended.
fn served_agent(client: &Client, known: &Known) -> client::Open {
    let (mut opened, mut answer) = agent(client, known);
    while let Answer::Waiting { .. } = answer {
        let text = opened.secure.read_frame(&mut opened.frames, soon());
        answer = serde_json::from_slice(&text.expect("an answer")).expect("an answer");
    }
    opened
}

fn wait_until(what: &str, is: impl Fn() -> bool) {
    let until = soon();
    while !is() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_link_enrols_one_client_and_others_are_not_served() {
    let served = Served::start();
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let [(a, known), (b, _)] =
        [&folders[0], &folders[1]].map(|folder| foreign(folder.path(), &served));
    assert!(refusal(check(&a, &known, &resolve)).contains("is not enrolled here"));
    let link = served.link(Rules::default());
    assert_eq!(enrol(&a, &link, "alice", &resolve), Ok(true));
    // The same link once more finds that this client is enrolled.
    assert_eq!(enrol(&a, &link, "alice", &resolve), Ok(false));
    assert_eq!(check(&a, &known, &resolve), Ok(None));
    assert!(refusal(enrol(&b, &link, "bob", &resolve)).contains("the link was used"));
    assert!(refusal(check(&b, &known, &resolve)).contains("is not enrolled here"));
    let keys = served.store().keys().expect("keys");
    assert_eq!(keys.len(), 1);
    assert_eq!(keys[0].1.name, "alice");
    served.store().revoke(keys[0].0).expect("revoked");
    assert!(refusal(check(&a, &known, &resolve)).contains("is not enrolled here"));
    let events = served.stop();
    assert!(
        events.iter().any(|event| event.starts_with("Enrolled")),
        "{events:?}"
    );
}

#[test]
fn a_service_with_another_key_gets_no_token() {
    let (served, other) = (Served::start(), Served::start());
    let folder = tempfile::tempdir().expect("a folder");
    let client = Client::of(folder.path());
    let mut link = served.link(Rules::default());
    link.at = other.at.clone();
    let why = refusal(enrol(&client, &link, "alice", &resolve));
    assert!(why.contains("its key is not"), "{why}");
    assert_eq!(served.store().invitations().expect("links").len(), 1);
    drop((served.stop(), other.stop()));
}

#[test]
fn messages_reach_the_agent_and_refused_ones_do_not() {
    let served = Served::start();
    let (client, known, _folder) = served.client("alice", Rules::default());
    let (mut opened, answer) = agent(&client, &known);
    assert_eq!(answer, Answer::welcome());
    let describe = |device: &str| ToAgent::Describe {
        device: device.to_owned(),
    };
    let bytes = [frame(&describe("eth9")), frame(&ToAgent::Renew)].concat();
    opened.secure.send(&bytes, soon()).expect("sent");
    let mut next = || {
        let text = opened
            .secure
            .read_frame(&mut opened.frames, soon())
            .expect("a message");
        String::from_utf8(text).expect("a text")
    };
    let refused = next();
    assert!(
        refused.contains("failed") && refused.contains("interfaces: lo; requested"),
        "{refused}"
    );
    assert_eq!(next().as_bytes(), &frame(&ToAgent::Renew)[4..]);
    // A key that is revoked is served no longer, also in the middle of a session.
    let key = client.own_key().expect("a key").fingerprint;
    served.store().revoke(key).expect("revoked");
    let last = next();
    assert!(last.contains("its key was revoked"), "{last}");
    drop(served.stop());
}

#[test]
fn what_is_no_message_ends_the_session_with_a_reason() {
    let served = Served::start();
    let (client, known, _folder) = served.client("alice", Rules::default());
    let oversize = (2u32 << 20).to_be_bytes().to_vec();
    let unknown = frame(&serde_json::json!({ "to_agent": "shell", "line": "id" }));
    let deep = "[".repeat(500_000);
    let deep = [&500_000u32.to_be_bytes()[..], deep.as_bytes()].concat();
    for (bytes, says) in [
        (deep, "not a control message"),
        (oversize, "a message of 2097152 bytes; at most 1048576"),
        (unknown, "not a control message"),
    ] {
        let mut opened = served_agent(&client, &known);
        opened.secure.send(&bytes, soon()).expect("sent");
        let text = opened
            .secure
            .read_frame(&mut opened.frames, soon())
            .expect("a reason");
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(text.contains(says), "{text}");
        assert!(
            opened
                .secure
                .read_frame(&mut opened.frames, soon())
                .is_err()
        );
    }
    drop(served.stop());
}

#[test]
fn what_is_no_first_message_is_refused_and_the_service_goes_on() {
    let served = Served::start();
    let (client, known, _folder) = served.client("alice", Rules::default());
    let longest = [0, 0, 16, 1];
    let noise = [&7u32.to_be_bytes()[..], b"\xFF\0\x1B[31m"].concat();
    for (first, says) in [
        (&longest[..], "a message of 4097 bytes; at most 4096"),
        (&u32::MAX.to_be_bytes(), "a message of 4294967295 bytes"),
        (&[0; 4], "not that of a bitcost client"),
        (&noise, "not that of a bitcost client"),
        (&frame(&ToAgent::Renew), "not that of a bitcost client"),
    ] {
        let mut opened = open_with(&client, &known, first, &resolve).expect("proved");
        let text = opened.secure.read_frame(&mut opened.frames, soon());
        let answer = serde_json::from_slice(&text.expect("an answer")).expect("an answer");
        let Answer::Refused { rule } = answer else {
            panic!("{answer:?}");
        };
        assert!(rule.contains(says), "{rule}");
        let end = opened.secure.read_frame(&mut opened.frames, soon());
        assert!(end.is_err(), "{end:?}");
    }
    assert_eq!(check(&client, &known, &resolve), Ok(None));
    drop(served.stop());
}

#[test]
fn clients_wait_for_each_other_and_one_that_vanishes_gives_way() {
    let served = Served::start();
    let one_test = Rules {
        max_tests: 1,
        ..Rules::default()
    };
    let (alice, known, _a) = served.client("alice", one_test.clone());
    let (bob, _, _b) = served.client("bob", one_test);
    let (first, answer) = agent(&alice, &known);
    assert_eq!(answer, Answer::welcome());
    let (_, answer) = agent(&alice, &known);
    let Answer::Refused { rule } = answer else {
        panic!("{answer:?}");
    };
    assert!(rule.contains("max-tests is 1"), "{rule}");
    let (mut second, answer) = agent(&bob, &known);
    let Answer::Waiting { behind, place, .. } = answer else {
        panic!("{answer:?}");
    };
    assert_eq!((behind.as_str(), place), ("alice", 1));
    drop(first);
    let text = loop {
        let text = second
            .secure
            .read_frame(&mut second.frames, soon())
            .expect("an answer");
        match serde_json::from_slice(&text).expect("an answer") {
            Answer::Waiting { .. } => {}
            answer => break answer,
        }
    };
    assert_eq!(text, Answer::welcome());
    drop(served.stop());
}

#[test]
fn tests_without_cost_take_place_next_to_others() {
    let served = Served::start();
    let (alice, known, _a) = served.client("alice", Rules::default());
    let (bob, _, _b) = served.client("bob", Rules::default());
    let no_cost = || Hello {
        no_cost: true,
        ..Hello::new(Wants::Agent)
    };
    let (_measures, answer) = agent(&alice, &known);
    assert_eq!(answer, Answer::welcome());
    let (mut first, answer) = agent_for(&bob, &known, no_cost());
    assert_eq!(answer, Answer::welcome());
    // It may measure no cost, whatever it asks for afterwards.
    first
        .secure
        .send(&frame(&ToAgent::Idle { length_ms: 10 }), soon())
        .expect("sent");
    let text = first.secure.read_frame(&mut first.frames, soon());
    let text = String::from_utf8(text.expect("a reason")).expect("a text");
    assert!(text.contains("measures no cost"), "{text}");
    let (_second, answer) = agent_for(&alice, &known, no_cost());
    assert_eq!(answer, Answer::welcome());
    let (_third, answer) = agent_for(&alice, &known, no_cost());
    let Answer::Waiting { behind, place, .. } = answer else {
        panic!("{answer:?}");
    };
    assert_eq!((behind.as_str(), place), ("bob", 1));
    drop(served.stop());
}

#[test]
fn rules_of_time_end_a_session() {
    let served = Served::start();
    let short = Rules {
        max_session_s: 0,
        ..Rules::default()
    };
    let (client, known, _folder) = served.client("alice", short);
    let (mut opened, _) = agent(&client, &known);
    let text = opened
        .secure
        .read_frame(&mut opened.frames, soon())
        .expect("a reason");
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(text.contains("max-session is 0 s"), "{text}");
    drop(served.stop());
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
    let (client, known, _folder) = served.client("alice", Rules::default());
    let through = |cut: usize| {
        let (at, tapping) = tap(served.address(), cut);
        let known = Known {
            port: at.port(),
            ..known.clone()
        };
        let result = check(&client, &known, &resolve);
        (result, tapping.join().expect("tapped"))
    };
    for cut in [1, 100, 250, 400] {
        assert!(through(cut).0.is_err(), "cut after {cut} bytes");
    }
    let (result, said) = through(usize::MAX);
    assert_eq!(result, Ok(None));
    // The same bytes once more: the service has other random numbers, so that nothing of them fits.
    let mut replay = TcpStream::connect(served.address()).expect("the service");
    replay
        .set_read_timeout(Some(Duration::from_secs(10)))
        .expect("a time");
    replay.write_all(&said).expect("sent");
    let mut answer = Vec::new();
    let _ = replay.read_to_end(&mut answer);
    let events = served.stop();
    let proved = events
        .iter()
        .filter(|event| event.starts_with("Failed"))
        .count();
    assert_eq!(proved, 5, "{events:?}");
}

#[test]
fn half_open_connections_time_out_and_random_bytes_end_at_once() {
    let served = Served::start();
    let half = TcpStream::connect(served.address()).expect("connected");
    let mut random = TcpStream::connect(served.address()).expect("connected");
    random.write_all(&[0xAB; 600]).expect("sent");
    for mut socket in [random, half] {
        socket
            .set_read_timeout(Some(Duration::from_secs(15)))
            .expect("a time");
        let mut answer = Vec::new();
        // It is closed, with at most an alert.
        let _ = socket.read_to_end(&mut answer);
        assert!(answer.len() < 64, "{answer:?}");
    }
    let mut reasons = served.stop();
    reasons.retain(|event| event.starts_with("Failed"));
    assert!(
        reasons.iter().any(|reason| reason.contains("within 5 s")),
        "{reasons:?}"
    );
    assert_eq!(reasons.len(), 2, "{reasons:?}");
}

#[test]
fn a_stop_ends_every_session_and_its_agent() {
    let served = Served::start();
    let (client, known, _folder) = served.client("alice", Rules::default());
    let (mut opened, _) = agent(&client, &known);
    let events = served.stop();
    assert!(
        events
            .iter()
            .any(|event| event.contains("is being stopped")),
        "{events:?}"
    );
    let text = opened
        .secure
        .read_frame(&mut opened.frames, soon())
        .expect("a reason");
    assert!(String::from_utf8_lossy(&text).contains("is being stopped"));
    wait_until("the port is closed", || {
        TcpStream::connect(("127.0.0.1", known.port)).is_err()
    });
}
