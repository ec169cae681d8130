//! What comes from the address of a host that takes part in no test, which anybody can write into a
//! datagram: neither service sends data to that host.

use crate::bench::*;
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use bitcost_model::conditions::Workload;
use bitcost_sys::namespace::{Kind, current, enter, unshare};
use bitcost_sys::netlink::VethPair;
use bitcost_sys::packet::{Lengths, OFFLOAD_HEADER_BYTES, Ring};

use crate::agent_process::AgentProcess;
use crate::confined::{greeting, listening, receiving};
use crate::iperf3::{COOKIE, Listening, asking, connected_from, read};
use crate::service::Service;

bitcost_testkit::trials! {
    PrivateNetwork: a_service_sends_nothing_to_foreign_hosts, a_client_turns_a_service_on_nobody, an_iperf3_server_sends_nothing_to_foreign_hosts;
}

const PATIENCE: Duration = Duration::from_secs(20);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
const FOREIGN: [u8; 4] = [10, 9, 0, 3];
/// Protocols of IPv4.
const TCP: u8 = 6;
const UDP: u8 = 17;
const SYN: u8 = 2;

/// The server's host, in which the calling thread is, and the namespace at the other end of its
/// wire, which has the addresses of the client and of the foreign host.
struct Hosts {
    server: OwnedFd,
    others: OwnedFd,
    capture: Mutex<Ring>,
}

impl Hosts {
    fn new() -> Hosts {
        let server = current(Kind::Net).unwrap();
        unshare(&[Kind::Net]).unwrap();
        let others = current(Kind::Net).unwrap();
        enter(server.as_fd(), Kind::Net).unwrap();
        let wire = VethPair {
            name: "s0",
            peer_name: "c0",
            peer_netns: Some(others.as_fd()),
            mtu_bytes: 1500,
        };
        Rtnl::open().unwrap().create_veth(&wire).unwrap();
        set_up("s0", &[SERVER.into()]);
        enter(others.as_fd(), Kind::Net).unwrap();
        set_up("lo", &[]);
        let device = set_up("c0", &[CLIENT.into(), FOREIGN.into()]);
        let capture = Mutex::new(Ring::open(device, Lengths::Above(0), 16 << 20).unwrap());
        enter(server.as_fd(), Kind::Net).unwrap();
        Hosts {
            server,
            others,
            capture,
        }
    }

    fn at_others<T>(&self, act: impl FnOnce() -> T) -> T {
        enter(self.others.as_fd(), Kind::Net).unwrap();
        let result = act();
        enter(self.server.as_fd(), Kind::Net).unwrap();
        result
    }

    /// The server's host sends no data to the foreign one, while that sends each of these texts to
    /// each of these ports, again and again.
    fn assert_no_data(&self, ports: &[u16], texts: &[&[u8]], meanwhile: impl FnOnce(&Rounds)) {
        let (is_over, rounds) = (AtomicBool::new(false), Rounds::default());
        thread::scope(|scope| {
            let capture = scope.spawn(|| captured(&self.capture, &is_over));
            let disturber = scope.spawn(|| {
                enter(self.others.as_fd(), Kind::Net).unwrap();
                while !is_over.load(Relaxed) {
                    disturb(ports, texts);
                    rounds.0.fetch_add(1, Relaxed);
                }
            });
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                meanwhile(&rounds);
            }));
            is_over.store(true, Relaxed);
            disturber.join().unwrap();
            assert_no_data(&capture.join().unwrap(), texts);
            outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
    }
}

/// How often the foreign host has sent each text to each port.
#[derive(Default)]
struct Rounds(AtomicU32);

impl Rounds {
    /// Waits for a whole round from now on: the one under way may have begun before.
    fn wait(&self) {
        let (wanted, deadline) = (self.0.load(Relaxed) + 2, Instant::now() + PATIENCE);
        while self.0.load(Relaxed) < wanted {
            assert!(Instant::now() < deadline, "the foreign host sends nothing");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Sets a device up and gives it addresses; returns its index.
fn set_up(device: &str, addresses: &[IpAddr]) -> u32 {
    let mut rtnl = Rtnl::open().unwrap();
    let index = rtnl.link(device).unwrap().index;
    for address in addresses {
        rtnl.add_address(index, *address, 24).unwrap();
    }
    rtnl.set_up(index, true).unwrap();
    index
}

/// Each text as a datagram and as a connection of the foreign host, to each port.
fn disturb(ports: &[u16], texts: &[&[u8]]) {
    let each = |port| texts.iter().map(move |text| (port, text));
    for (port, text) in ports.iter().flat_map(each) {
        let to = SocketAddr::new(SERVER.into(), *port);
        let socket = UdpSocket::bind((IpAddr::from(FOREIGN), 0)).unwrap();
        socket.send_to(text, to).unwrap();
        let Ok(mut stream) = connected_from(FOREIGN, to) else {
            continue;
        };
        let wait = Duration::from_millis(20);
        stream.set_read_timeout(Some(wait)).unwrap();
        let _ = stream.write_all(text);
        let _ = stream.read(&mut [0; 2048]);
    }
}

/// A packet to the foreign host.
#[derive(Debug)]
struct Sent {
    protocol: u8,
    /// Those of the server and of the foreign host.
    ports: [u16; 2],
    /// It accepts a connection.
    is_first: bool,
    payload_bytes: usize,
}

/// The packets to the foreign host, until it is over.
fn captured(capture: &Mutex<Ring>, is_over: &AtomicBool) -> Vec<Sent> {
    let (mut capture, mut all) = (capture.lock().unwrap(), Vec::new());
    while !is_over.load(Relaxed) {
        thread::sleep(Duration::from_millis(1));
        while let Some(frame) = capture.take(|packet| sent(&packet[OFFLOAD_HEADER_BYTES..])) {
            all.extend(frame);
        }
    }
    assert_eq!(capture.dropped().unwrap(), 0);
    all
}

/// Reads a frame; absent: it is not of IPv4, or not for the foreign host.
fn sent(frame: &[u8]) -> Option<Sent> {
    let ip = frame.strip_prefix(&frame[..12])?.strip_prefix(&[8, 0])?;
    let header_bytes = usize::from(ip[0] & 15) * 4;
    let length = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    let (protocol, above) = (ip[9], &ip[header_bytes..length]);
    let above_bytes = match protocol {
        TCP => usize::from(above[12] >> 4) * 4,
        _ => 8,
    };
    (ip[16..20] == FOREIGN).then(|| Sent {
        protocol,
        ports: [0, 2].map(|at| u16::from_be_bytes([above[at], above[at + 1]])),
        is_first: protocol == TCP && above[13] & SYN != 0,
        payload_bytes: above.len() - above_bytes,
    })
}

/// The foreign host gets no datagram, and on no connection more than its question.
fn assert_no_data(sent: &[Sent], texts: &[&[u8]]) {
    let of = |protocol| sent.iter().filter(move |sent| sent.protocol == protocol);
    assert!(of(TCP).count() > 0, "the capture sees no connection");
    assert_eq!(of(UDP).count(), 0, "{:?}", of(UDP).next());
    let question = texts.iter().map(|text| text.len()).min().unwrap();
    let mut answered = HashMap::new();
    for sent in of(TCP) {
        let bytes = answered.entry(sent.ports).or_insert(0);
        // A port may serve one connection after the other.
        *bytes = usize::from(!sent.is_first) * (*bytes + sent.payload_bytes);
        assert!(*bytes <= question, "{bytes} bytes for {question}: {sent:?}");
    }
}

fn a_service_sends_nothing_to_foreign_hosts() {
    let hosts = Hosts::new();
    let mut server = Service::at(SERVER.into(), &[]);
    // The token of another run, as both transports show it, a message of a run, and an iperf3 greeting.
    let token = [
        0xBF, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9,
    ];
    let mut message = [0; 1024];
    message[0] = 0xB0;
    let handshake = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3];
    let texts: [&[u8]; 4] = [&token, &token[8..], &message, &handshake];
    hosts.assert_no_data(&[server.port], &texts, |_| {
        for words in [
            "udp -t 200ms -b 4M",
            "udp-rr -t 200ms",
            "rr -t 200ms",
            "udp -t 200ms -b 4M -R",
        ] {
            hosts.at_others(|| server.tested(words));
        }
    });
    server.stop();
}

/// A client with the link prepares transactions with large responses and sends, in the name of
/// `victim`, the run's token, a cookie that it guesses and a request, until the service gives up.
/// Returns the reason, and the bytes of IP to `victim` and from it.
fn misuse(
    hosts: &Hosts,
    client: &mut AgentProcess,
    response_bytes: u32,
    victim: Ipv4Addr,
) -> (String, [usize; 2]) {
    let conditions = Conditions {
        response_size_bytes: response_bytes,
        ..Conditions::of(Workload::UdpRr)
    };
    let at = listening(client, receiving(conditions, "s0", SERVER));
    client.send(&ToAgent::Meet {
        addresses: vec![None],
        origin: None,
    });
    let socket = hosts.at_others(|| UdpSocket::bind((victim, 0)).unwrap());
    let guess = [&[0xBF, 1][..], &[0; 22]].concat();
    let (mut bytes, mut capture) = ([0; 2], hosts.capture.lock().unwrap());
    loop {
        for text in [&greeting()[..], &guess, &[1]] {
            socket.send_to(text, at).unwrap();
            bytes[1] += 28 + text.len();
        }
        client.send(&ToAgent::Renew);
        thread::sleep(Duration::from_millis(10));
        let of = |packet: &[u8]| datagram_bytes(&packet[OFFLOAD_HEADER_BYTES..], victim);
        while let Some(more) = capture.take(of) {
            bytes[0] += more;
        }
        while let Ok(message) = client.output.try_recv() {
            if let FromAgent::Failed { reason, .. } = message {
                return (reason, bytes);
            }
        }
    }
}

/// The bytes of a frame's IP packet, where it is a datagram, or a part of one, to this address.
fn datagram_bytes(frame: &[u8], to: Ipv4Addr) -> usize {
    let ip = frame.get(12..).and_then(|rest| rest.strip_prefix(&[8, 0]));
    match ip {
        Some(ip) if ip[9] == UDP && ip[16..20] == to.octets() => {
            usize::from(u16::from_be_bytes([ip[2], ip[3]]))
        }
        _ => 0,
    }
}

fn a_client_turns_a_service_on_nobody() {
    let hosts = Hosts::new();
    let mut server = Service::at(SERVER.into(), &[]);
    let mut speaking = hosts.at_others(|| server.speaking());
    let rule = "data are taken only from the address from which the client authenticated, 10.9.0.2";
    let unproven = "nobody who came to UDP port";
    for (response_bytes, victim, rule) in [
        (65_507, FOREIGN.into(), rule),
        (1400, FOREIGN.into(), rule),
        (65_507, CLIENT, unproven),
    ] {
        let (reason, [to, from]) = misuse(&hosts, &mut speaking, response_bytes, victim);
        assert!(reason.starts_with(rule), "{reason}");
        assert!(to <= 3 * from, "{victim}: {to} bytes for {from}");
    }
    drop(speaking.input.take());
    speaking.child.wait().unwrap();
    hosts.at_others(|| server.tested("udp-rr -t 200ms"));
    server.stop();
}

fn an_iperf3_server_sends_nothing_to_foreign_hosts() {
    let hosts = Hosts::new();
    let mut server = Listening::at(SERVER.into(), "");
    let address = server.address;
    // Both have the length of a cookie: one of no test, and that of a test that waits for its streams.
    let foreign = b"cbcdefghijklmnopqrstuvwxyz234567abcd\0";
    let greeting = b"9876\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let texts: [&[u8]; 3] = [foreign, COOKIE, greeting];
    hosts.assert_no_data(&[address.port()], &texts, |rounds| {
        hosts.at_others(|| {
            let params = r#"{"udp":true,"time":1,"reverse":true,"len":64,"bandwidth":80000}"#;
            let mut control: TcpStream = asking(&server, COOKIE, params);
            assert_eq!(read::<1>(&mut control), [10]);
            rounds.wait();
            // The client itself is served.
            let stream = UdpSocket::bind((CLIENT, 0)).unwrap();
            let wait = Duration::from_secs(5);
            stream.set_read_timeout(Some(wait)).unwrap();
            stream.send_to(b"9876", address).unwrap();
            let mut answer = [0; 64];
            assert_eq!(stream.recv(&mut answer).unwrap(), 4);
            assert_eq!(read::<2>(&mut control), [1, 2]);
            assert_eq!(stream.recv(&mut answer).unwrap(), 64);
        });
    });
    server.stop();
}
