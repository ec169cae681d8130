//! Clients of a service that are not bitcost, and want more than the service allows: each is
//! refused or ended by the name of the rule, and the next test passes.

use crate::bench::*;

use bitcost_model::conditions::Workload;
use bitcost_model::host_settings::SYSCTL;
use bitcost_model::protocol::{Part, Peer, Prepare, Start, Token};
use bitcost_model::record::Role;

use crate::agent_process::AgentProcess;
use crate::service::{Service, said};

bitcost_testkit::trials! {
    PrivateNetwork: unused_fields_are_refused, what_is_no_message_ends_the_session, a_sender_over_its_rate_is_ended, other_interfaces_are_refused;
}

const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;
const TOKEN: Token = *b"sixteen letters!";

/// A run of one part that the service receives at this address, over this interface.
pub fn receiving(conditions: Conditions, device: &str, at: Ipv4Addr) -> Prepare {
    Prepare {
        run: 0,
        device: device.to_owned(),
        cpus: Vec::new(),
        peer_cpu: None,
        softirq_cpus: Vec::new(),
        token: TOKEN,
        parts: vec![Part {
            role: Role::Receiver,
            conditions,
            listen_on: Some(at.into()),
        }],
        receiving: None,
        peer: Peer::Bitcost,
        is_profiled: false,
        discards: false,
        is_remote: false,
    }
}

/// Where the service listens for a run that is prepared.
pub fn listening(client: &mut AgentProcess, prepare: Prepare) -> SocketAddr {
    client.send(&ToAgent::Prepare(Box::new(prepare)));
    let is_answer = |message: &FromAgent| {
        matches!(
            message,
            FromAgent::Listening { .. } | FromAgent::Failed { .. }
        )
    };
    match client.until("where it listens", is_answer) {
        FromAgent::Listening { addresses, .. } => addresses[0].expect("an address"),
        other => panic!("{other:?}"),
    }
}

/// What opens the first flow of the first part of a run.
pub fn greeting() -> [u8; 24] {
    let mut greeting = [0; 24];
    greeting[0] = 0xBF;
    greeting[8..].copy_from_slice(&TOKEN);
    greeting
}

/// A service on the loopback, and a client that speaks with it.
fn service_with(options: &[&str]) -> (Service, AgentProcess) {
    let service = Service::with(options);
    let speaking = service.speaking();
    (service, speaking)
}

/// The hostile client ends, the next test passes, and the service has printed each rule with the
/// client's address.
fn assert_goes_on((mut service, speaking): (Service, AgentProcess), rules: &[&str]) {
    let AgentProcess {
        mut child, input, ..
    } = speaking;
    drop(input);
    child.wait().unwrap();
    let next = service.test("tcp -t 200ms -b 400k -l 1000");
    assert!(next.status.success(), "{}", said(&next));
    let (_, printed) = service.stop();
    for rule in rules {
        let is_it = |line: &str| line.contains(rule) && line.contains("127.0.0.1");
        assert!(printed.lines().any(is_it), "{rule}: {printed}");
    }
}

fn unused_fields_are_refused() {
    let mut served = service_with(&["--max-rate", "1M"]);
    let unused = Conditions {
        transaction_rate: Some(1),
        ..Conditions::of(Workload::TcpStream)
    };
    let rule = "transaction_rate is not for tcp_stream";
    let prepare = ToAgent::Prepare(Box::new(receiving(unused, "lo", HERE)));
    let refusal = served.1.refusal(&prepare);
    assert!(refusal.contains(rule), "{refusal}");
    assert_goes_on(served, &[rule]);
}

fn what_is_no_message_ends_the_session() {
    let served = service_with(&[]);
    let deep = [
        &500_000_u32.to_be_bytes()[..],
        "[".repeat(500_000).as_bytes(),
    ]
    .concat();
    let unknown = br#"{"to_agent":"shell","line":"id"}"#;
    let unknown = [&(unknown.len() as u32).to_be_bytes()[..], unknown].concat();
    let oversize = (2_u32 << 20).to_be_bytes().to_vec();
    for (bytes, says) in [
        (deep, "not a control message"),
        (oversize, "a frame of 2097152 bytes; at most 1048576"),
        (unknown, "not a control message"),
    ] {
        let mut client = served.0.speaking();
        client.write(&bytes);
        let is_end = |message: &FromAgent| matches!(message, FromAgent::Failed { .. });
        let end = client.until("the end", is_end);
        assert!(format!("{end:?}").contains(says), "{end:?}");
        drop(client.input.take());
        client.child.wait().unwrap();
    }
    assert_goes_on(served, &[]);
}

/// Starts the run that is prepared and returns how the service ended it, while `send` sends.
fn ended(client: &mut AgentProcess, mut send: impl FnMut()) -> String {
    client.send(&ToAgent::Clock);
    let clock = client.until("its clock", |message| {
        matches!(message, FromAgent::Clock { .. })
    });
    let FromAgent::Clock { now_ns } = clock else {
        panic!("{clock:?}");
    };
    let at = |ms: u64| now_ns + ms * 1_000_000;
    client.send(&ToAgent::Start(Start {
        begin_ns: at(50),
        window_start_ns: at(100),
        window_end_ns: at(20_000),
        stop_ns: at(20_100),
    }));
    loop {
        let renewed = Instant::now();
        while renewed.elapsed() < Duration::from_millis(100) {
            send();
        }
        client.send(&ToAgent::Renew);
        while let Ok(message) = client.output.try_recv() {
            if let FromAgent::Failed { reason, .. } = message {
                return reason;
            }
        }
    }
}

fn a_sender_over_its_rate_is_ended() {
    let mut served = service_with(&["--max-rate", "1M"]);
    let client = &mut served.1;
    let of = |workload| Conditions {
        message_size_bytes: 1000,
        rate_bps: Some(1_000_000),
        ..Conditions::of(workload)
    };
    let is_ready = |message: &FromAgent| matches!(message, FromAgent::Ready);
    let meet = ToAgent::Meet {
        addresses: vec![None],
        origin: None,
    };
    let rule = "max-rate is 1000000 bit/s over all flows; the run was ended after";

    let at = listening(client, receiving(of(Workload::TcpStream), "lo", HERE));
    client.send(&meet);
    let mut stream = TcpStream::connect(at).unwrap();
    stream
        .set_write_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    stream.write_all(&greeting()).unwrap();
    client.until("ready", is_ready);
    let reason = ended(client, || drop(stream.write(&[0; 1 << 16])));
    assert!(reason.starts_with(rule), "{reason}");

    // One datagram again and again is no message of the run after the first time.
    let at = listening(client, receiving(of(Workload::UdpStream), "lo", HERE));
    client.send(&meet);
    let socket = UdpSocket::bind((HERE, 0)).unwrap();
    socket.connect(at).unwrap();
    socket.send(&greeting()).unwrap();
    let mut cookie = [0; 24];
    assert_eq!(socket.recv(&mut cookie).unwrap(), 24);
    socket.send(&cookie).unwrap();
    client.until("ready", is_ready);
    let mut message = [0; 1000];
    message[..3].copy_from_slice(&[0xB1, TOKEN[0], TOKEN[1]]);
    let reason = ended(client, || drop(socket.send(&message)));
    assert!(reason.starts_with(rule), "{reason}");
    assert_goes_on(served, &[]);
}

fn other_interfaces_are_refused() {
    bitcost_testkit::veth(3000);
    let rules = [
        "--allow-settings",
        "mtu_bytes,offloads,sysctl",
        "--interface",
        "lo",
    ];
    let mut served = service_with(&rules);
    let plain = || Conditions::of(Workload::TcpStream);
    let parameter = Conditions {
        host_settings: SYSCTL.read("net.ipv4.conf.a0.rp_filter=0").unwrap(),
        ..plain()
    };
    let mut bound = plain();
    bound.places.receiver.device = Some("a0".to_owned());
    let interface = r#"interface: lo; requested "a0""#;
    for conditions in [parameter, bound] {
        let prepare = receiving(conditions, "lo", HERE);
        let refusal = served.1.refusal(&ToAgent::Prepare(Box::new(prepare)));
        assert!(refusal.contains(interface), "{refusal}");
    }
    assert_goes_on(served, &[interface]);
    let link = Rtnl::open().unwrap().link("a0").unwrap();
    assert_eq!(link.mtu_bytes, 3000);
}
