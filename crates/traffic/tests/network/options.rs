//! Every setting is verified by a socket option, by packets, or by the outcome of a run; one that
//! silently has no effect fails here.

use crate::play::*;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::path::Path;

use bitcost_model::settings::SETTINGS;
use bitcost_sys::socket::{self as option, IntOption};
use bitcost_testkit::assert_says;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SocketType, eth, recv, socket, sockopt};

/// The verification of a setting with some workloads: the setting and, after a space each, others that it
/// needs, as on the command line.
type Proof = (&'static str, &'static [Workload], fn(&Conditions));

/// The settings with their values, first the one that is verified.
fn values(settings: &'static str) -> impl DoubleEndedIterator<Item = (&'static str, &'static str)> {
    let words = settings.split(' ');
    words.map(|word| word.split_once('=').expect("a value"))
}

use Workload::{TcpConnect, TcpCrr, TcpRr, TcpStream, UdpRr, UdpStream};

const PROOFS: &[Proof] = &[
    ("workload=udp_rr", &[TcpStream], |c| {
        let met = meet(c);
        assert_eq!(
            met.sockets
                .map(|socket| sockopt::socket_type(socket).expect("a type")),
            [SocketType::DGRAM; 2]
        );
    }),
    ("message_size_bytes=333", &[UdpStream], |c| {
        assert_eq!(payloads(c), [333; 20])
    }),
    ("payload=dirty message_size_bytes=100", &[UdpStream], |c| {
        let ends: Vec<u8> = packets(c).iter().map(|packet| packet[127]).collect();
        assert_eq!(ends, (1..=20).collect::<Vec<u8>>());
    }),
    ("payload=clean message_size_bytes=100", &[UdpStream], |c| {
        assert!(packets(c).iter().all(|packet| packet[127] == 0x5A));
    }),
    (
        "receive_size_bytes=100 message_size_bytes=1000",
        &[TcpStream],
        |c| {
            let received = play(c).receiver.total();
            assert!(
                received.calls >= 200 && received.bytes == 20_000,
                "{received:?}"
            );
        },
    ),
    ("mss=500 message_size_bytes=1000", &[TcpStream], |c| {
        let played = play(c);
        let info = played.outcomes[0].tcp_info.clone().expect("a connection");
        assert_eq!(info.snd_mss_bytes, Some(500));
    }),
    ("congestion_control=reno", &[TcpStream], |c| {
        assert_eq!(
            meet(c)
                .sockets
                .map(|socket| rustix::net::sockopt::tcp_congestion(socket).expect("a name")),
            ["reno"; 2]
        );
    }),
    ("send_buffer_bytes=20000", &[TcpStream, UdpStream], |c| {
        is(c, option::SO_SNDBUF, &BOTH, 40_000)
    }),
    ("receive_buffer_bytes=20000", &[TcpStream, UdpRr], |c| {
        is(c, option::SO_RCVBUF, &BOTH, 40_000)
    }),
    ("receive_low_water_bytes=3000", &[TcpStream], |c| {
        is(c, option::SO_RCVLOWAT, &[Role::Receiver], 3000)
    }),
    ("nodelay=true", &[TcpStream, TcpRr], |c| {
        is(c, option::TCP_NODELAY, &BOTH, 1)
    }),
    ("cork=true", &[TcpStream], |c| {
        is(c, option::TCP_CORK, &BOTH, 1)
    }),
    ("dscp=46", &[UdpStream], |c| {
        is(c, option::IP_TOS, &BOTH, 46 << 2);
        on_wire(c, |packet| assert_eq!(packet[1], 46 << 2));
    }),
    ("dscp=10 ip_version=6", &[TcpStream], |c| {
        is(c, option::IPV6_TCLASS, &BOTH, 10 << 2);
        on_wire(c, |packet| {
            assert_eq!((packet[0] << 4 | packet[1] >> 4) >> 2, 10)
        });
    }),
    ("waiting=spin", &[TcpStream, UdpStream], idle_receiver_works),
    ("notsent_low_water_bytes=16384", &[TcpStream], |c| {
        is(c, option::TCP_NOTSENT_LOWAT, &BOTH, 16_384)
    }),
    ("messages_per_call=4 send_mode=gso", &[UdpStream], |c| {
        let sent = play(c).sender.total();
        assert_eq!((sent.messages, sent.calls), (20, 5));
    }),
    ("busy_poll_us=37", &[TcpStream], |c| {
        is(c, option::SO_BUSY_POLL, &BOTH, 37)
    }),
    ("receiver_delay_us=5000", &[UdpStream], |c| {
        assert!(play(c).elapsed >= Duration::from_millis(95))
    }),
    // 20 messages of 1000 bytes, on each of which 1 ms is worked.
    ("send_work_ns=1000000", &[UdpStream, TcpStream], |c| {
        assert!(play(c).elapsed >= Duration::from_millis(20))
    }),
    ("receive_work_ns=1000000", &[UdpStream, TcpStream], |c| {
        assert!(play(c).elapsed >= Duration::from_millis(20))
    }),
    // 20 messages of 1000 bytes, one every 5 ms.
    (
        "rate_bps=1600000 message_size_bytes=1000 burst_messages=1",
        &[UdpStream],
        |c| assert!(play(c).elapsed >= Duration::from_millis(94)),
    ),
    (
        "message_rate=200 message_size_bytes=1000 burst_messages=1",
        &[TcpStream],
        |c| assert!(play(c).elapsed >= Duration::from_millis(94)),
    ),
    // A datagram of 22 bytes has 64 with headers: about three times the interval of user data
    // alone.
    (
        "rate_of=wire message_size_bytes=22 rate_bps=102400 burst_messages=1",
        &[UdpStream],
        |c| {
            assert!(play(c).elapsed >= Duration::from_millis(94));
        },
    ),
    (
        "rate_of=wire message_size_bytes=8192 rate_bps=13107200 burst_messages=1",
        &[UdpStream],
        counts_the_headers_of_fragments,
    ),
    (
        "rate_of=wire ip_version=6 message_size_bytes=8192 rate_bps=13107200 burst_messages=1",
        &[UdpStream],
        counts_the_headers_of_fragments,
    ),
    ("burst_messages=7 message_rate=1000", &[UdpStream], |c| {
        let pacing = play(c).outcomes[0].pacing.expect("it paces itself");
        assert_eq!((pacing.burst_messages, pacing.bursts), (7, 3));
    }),
    ("pacing=kernel rate_bps=80000000", &[TcpStream], |c| {
        let [sender, _] = meet(c).sockets;
        assert_eq!(
            option::max_pacing_rate(sender).expect("a rate"),
            Some(10_000_000)
        );
    }),
    ("stop_bytes=12345", &[TcpStream], |c| {
        let played = play(c);
        let ends = [played.sender, played.receiver];
        assert_eq!(ends.map(|counts| counts.total().bytes), [12_345; 2]);
    }),
    ("stop_messages=17", &[UdpStream, TcpRr], |c| {
        let played = play(c);
        let ends = [played.sender, played.receiver];
        assert_eq!(ends.map(|counts| counts.total().messages), [17; 2]);
    }),
    ("request_size_bytes=77", &[UdpRr], |c| {
        assert_eq!(payloads(c), [[77, 1]; 20].concat())
    }),
    ("response_size_bytes=78", &[UdpRr], |c| {
        assert_eq!(payloads(c), [[1, 78]; 20].concat())
    }),
    ("ip_version=6", &[TcpStream, UdpStream], |c| {
        is_of(c, AddressFamily::INET6)
    }),
    ("ip_version=4", &[UdpRr], |c| is_of(c, AddressFamily::INET)),
    ("sender_address=127.0.0.2", &[TcpStream, UdpStream], |c| {
        assert_eq!(meet(c).own(0).ip(), Ipv4Addr::new(127, 0, 0, 2))
    }),
    ("sender_device=lo", &[UdpStream, TcpStream], |c| {
        is_bound(c, ["lo"], [Role::Sender])
    }),
    ("receiver_device=lo", &[TcpStream, UdpStream], |c| {
        is_bound(c, ["lo"], [Role::Receiver])
    }),
    // Inside the kernel's own range of ports, and outside of it.
    ("sender_ports=40000-40003", &[TcpStream], |c| {
        assert!((40_000..=40_003).contains(&meet(c).own(0).port()))
    }),
    ("sender_ports=2000-2003", &[TcpStream], |c| {
        assert!((2000..=2003).contains(&meet(c).own(0).port()))
    }),
    ("sender_ports=2000", &[UdpStream], |c| {
        assert_eq!(meet(c).own(0).port(), 2000)
    }),
    ("sender_ports=40000 receiver_ports=5201", &[UdpRr], |c| {
        assert_eq!(meet(c).own(0).port(), 40_000);
    }),
    (
        "receiver_ports=5201",
        &[TcpStream, UdpStream],
        listens_again,
    ),
    ("latency=true", &[UdpRr], |c| {
        assert!(play(c).outcomes[0].latency.is_some())
    }),
    (
        "transaction_rate=200",
        &[TcpRr, UdpRr, TcpCrr, TcpConnect],
        |c| assert!(play(c).elapsed >= Duration::from_millis(94)),
    ),
];

/// Settings that other tests verify, each with the file under `crates` and a text of the test in it.
const ELSEWHERE: &str = r#"
send_mode traffic/tests/network/modes.rs setting(row.end)
receive_mode traffic/tests/network/modes.rs setting(row.end)
delay_variation traffic/tests/network/timing.rs delay_variation: true
mode bitcost/tests/runs/mode_search.rs mode = 
search_for bitcost/tests/runs/mode_search.rs search_for = 
offloads bitcost/tests/runs/one_run.rs --offloads
emulator_queue_limit bitcost/tests/runs/delay.rs emulator_queue_limit
moderation bitcost/tests/runs/result.rs moderation_us
path_change bitcost/tests/runs/prove.rs path_rate
flows bitcost/tests/runs/one_run.rs -P
direction bitcost/tests/runs/parts.rs is_reverse
background bitcost/tests/runs/parts.rs --background
gso_max_segs bitcost/tests/runs/knobs.rs sender, "gso_max_segs"
gso_max_size bitcost/tests/runs/knobs.rs sender, "gso_max_size"
gro_max_size bitcost/tests/runs/knobs.rs receiver, "gro_max_size"
mtu_bytes bitcost/tests/runs/knobs.rs "mtu", receiver, "mtu_bytes"
qdisc bitcost/tests/runs/knobs.rs qdisc.rate_bps
sysctl bitcost/tests/runs/knobs.rs sysctl.net.ipv4.tcp_rmem
tcp_buffers bitcost/tests/runs/labs.rs --tcp-buffers
stress bitcost/tests/runs/knobs.rs stress_load_percent
rings ../xtask/src/vm/inside/pair/table.rs rings rx 128
channels host/tests/integration/kernel.rs fn channels_are_set_and_restored()
coalesce host/tests/integration/kernel.rs fn coalescing_is_set_and_restored_if_supported()
threaded_napi host/tests/integration/kernel.rs fn threads_and_cpus_that_receive_are_set_and_restored()
rps_cpus host/tests/integration/kernel.rs fn threads_and_cpus_that_receive_are_set_and_restored()
receiver_address bitcost/tests/runs/one_run.rs --receiver-address
sender_cpus bitcost/tests/runs/one_run.rs --sender-cpus
receiver_cpus bitcost/tests/runs/one_run.rs --receiver-cpus
idle_baseline_s bitcost/tests/runs/counters.rs idle_baseline_s = 0.2
warmup_s bitcost/tests/runs/one_run.rs -O
duration_s bitcost/tests/runs/one_run.rs -t
outage_timeout_s bitcost/tests/runs/outage.rs --outage-timeout
"#;

fn elsewhere() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let lines = ELSEWHERE.trim().lines();
    lines.map(|line| {
        let (setting, test) = line.split_once(' ').expect("a file");
        let (file, words) = test.split_once(' ').expect("a text");
        (setting, file, words)
    })
}

pub fn trials() -> Vec<(&'static str, Run)> {
    let mut trials: Vec<(&'static str, Run)> = vec![
        (
            "every setting has its proof",
            Box::new(every_setting_has_its_proof),
        ),
        (
            "two flows share a range of ports",
            Box::new(two_flows_share_a_range),
        ),
    ];
    for &(settings, workloads, prove) in PROOFS {
        for workload in workloads {
            let name = format!("{settings} ({})", workload.name()).leak();
            trials.push((name, Box::new(move || proved(settings, *workload, prove))));
        }
    }
    trials
}

/// Gives a setting its value, as on the command line.
pub fn set(conditions: &mut Conditions, name: &str, value: &str) {
    let setting = SETTINGS.iter().find(|setting| setting.name == name);
    let setting = setting.expect("a setting");
    setting
        .set_text(conditions, value)
        .expect("it takes the value");
}

fn every_setting_has_its_proof() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (setting, file, words) in elsewhere() {
        let text = std::fs::read_to_string(crates.join(file))
            .unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(text.contains(words), "{setting}: no `{words}` in {file}");
    }
    for setting in SETTINGS {
        let mut proved = PROOFS.iter().filter_map(|proof| values(proof.0).next());
        let here = proved.any(|(name, _)| name == setting.name);
        let there = elsewhere().any(|(name, ..)| name == setting.name);
        assert!(
            here || there,
            "{}: write a row in PROOFS, or name its test in ELSEWHERE",
            setting.name
        );
    }
}

fn proved(settings: &'static str, workload: Workload, prove: fn(&Conditions)) {
    let mut conditions = Conditions {
        workload,
        message_size_bytes: 1000,
        ..Conditions::default()
    };
    for (name, value) in values(settings).rev() {
        set(&mut conditions, name, value);
    }
    if !conditions.is_bounded() {
        (conditions.stop_messages, conditions.warmup_ms) = (Some(20), 0);
    }
    conditions.check(65_535).expect("it is possible");
    prove(&conditions);
}

/// Both endpoints, ready to start.
struct Met {
    ready: [Ready; 2],
    sockets: [OwnedFd; 2],
}

impl Met {
    fn own(&self, end: usize) -> SocketAddr {
        rustix::net::getsockname(&self.sockets[end])
            .expect("bound")
            .try_into()
            .expect("an address of IP")
    }
}

fn meet(conditions: &Conditions) -> Met {
    let ready = try_meet(conditions, |address| address);
    let ready = ready.unwrap_or_else(|error| panic!("{error}"));
    ready.iter().for_each(|end| no_difference(&end.in_effect));
    let sockets = ready
        .each_ref()
        .map(|end| end.flow.handle().expect("a handle"));
    Met { ready, sockets }
}

/// The bytes of a datagram on the wire are those that the interface counts, with the Ethernet header
/// that a loopback does not count, and the interval between datagrams is theirs.
fn counts_the_headers_of_fragments(conditions: &Conditions) {
    const MTU: u32 = 1500;
    let mut rtnl = bitcost_sys::netlink::Rtnl::open().expect("rtnetlink");
    let index = rtnl.link("lo").expect("a loopback").index;
    rtnl.set_mtu(index, MTU).expect("sets the MTU");
    let counted = || -> [u64; 2] {
        let text = std::fs::read_to_string("/proc/net/dev").expect("the kernel's table");
        let row = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("lo:"));
        let columns: Vec<u64> = row
            .expect("a loopback")
            .split_whitespace()
            .map(|number| number.parse().expect("a number"))
            .collect();
        [columns[8], columns[9]]
    };
    let [bytes_before, packets_before] = counted();
    let played = play(conditions);
    let [bytes, packets] = counted();
    let on_the_wire = bytes - bytes_before + 14 * (packets - packets_before);
    let of_message = u64::from(conditions.wire_bytes(MTU));
    let headers = of_message - 8192;
    assert!((200..600).contains(&headers), "{headers}");
    // The greeting, its cookies and their answers are small packets, and less than 800 bytes.
    let rest = on_the_wire
        .checked_sub(20 * of_message)
        .expect("all of them");
    assert!(rest < 800, "{on_the_wire} for 20 messages of {of_message}");
    let interval_ns = of_message * 8 * 1_000_000_000 / 13_107_200;
    assert!(played.elapsed >= Duration::from_nanos(19 * interval_ns));
}

/// The settings that an endpoint reports agree with what is requested.
fn no_difference(in_effect: &[InEffect]) {
    for setting in in_effect {
        assert!(
            setting.requested.is_none() || setting.requested == setting.actual,
            "{setting:?}"
        );
    }
}

/// The option has this value on the sockets of these endpoints.
fn is(conditions: &Conditions, wanted: IntOption, ends: &[Role], value: i32) {
    let met = meet(conditions);
    for (role, socket) in BOTH
        .iter()
        .zip(&met.sockets)
        .filter(|(role, _)| ends.contains(role))
    {
        assert_eq!(
            option::get_int(socket, wanted).expect("an option"),
            value,
            "{}",
            role.name()
        );
    }
}

fn is_of(conditions: &Conditions, family: AddressFamily) {
    let sockets = meet(conditions).sockets;
    assert_eq!(
        sockets.map(|socket| sockopt::socket_domain(socket).expect("a family")),
        [family; 2]
    );
}

fn is_bound(conditions: &Conditions, devices: [&str; 1], ends: [Role; 1]) {
    let met = meet(conditions);
    for (role, socket) in BOTH.iter().zip(&met.sockets) {
        let bound = option::bound_device(socket).expect("an option");
        let wanted = ends.contains(role).then(|| devices[0].to_owned());
        assert_eq!(bound, wanted, "{}", role.name());
    }
}

/// Runs both endpoints to the run's bound.
fn play(conditions: &Conditions) -> Played {
    crate::play::play(meet(conditions).ready)
}

/// The IP packets of a run, in order.
fn packets(conditions: &Conditions) -> Vec<Vec<u8>> {
    let tap = socket(AddressFamily::PACKET, SocketType::DGRAM, Some(eth::ALL))
        .expect("a tap, as root of this network");
    // The loopback interface shows each packet twice: when it is sent and when it is received.
    option::set_int(&tap, option::PACKET_IGNORE_OUTGOING, 1).expect("an option of Linux 4.20");
    let met = meet(conditions);
    // Packets of the handshake are not counted.
    while recv(&tap, &mut [0; 1][..], RecvFlags::DONTWAIT).is_ok() {}
    crate::play::play(met.ready);
    let mut packets = Vec::new();
    let mut packet = [0; 65_536];
    loop {
        match recv(&tap, &mut packet[..], RecvFlags::DONTWAIT) {
            Ok((length, _)) => packets.push(packet[..length].to_vec()),
            Err(Errno::AGAIN) => return packets,
            Err(error) => panic!("{error}"),
        }
    }
}

/// A value of every packet of a run.
fn on_wire(conditions: &Conditions, check: impl Fn(&[u8])) {
    let packets = packets(conditions);
    assert!(packets.len() >= 2, "{}", packets.len());
    packets.iter().for_each(|packet| check(packet));
}

/// The length of each datagram's user data.
fn payloads(conditions: &Conditions) -> Vec<usize> {
    packets(conditions)
        .iter()
        .map(|packet| packet.len() - 28)
        .collect()
}

/// A port can be bound again at once, and the error names it while it is in use.
fn listens_again(conditions: &Conditions) {
    for _ in 0..2 {
        let met = meet(conditions);
        assert_eq!(met.own(1).port(), 5201);
        crate::play::play(met.ready);
    }
    let listen = || crate::play::listen(conditions, HERE);
    let _held = listen().expect("listens");
    let taken = listen().map(drop).expect_err("taken");
    assert_says(
        &taken.to_string(),
        &["127.0.0.1:5201", "choose another port"],
    );
}

/// Two flows take one port of the range each. Where the kernel chooses for TCP, it may choose the
/// same port for both, because the ports of their peers differ.
fn two_flows_share_a_range() {
    for (workload, first) in [(TcpStream, 2000), (UdpStream, 2000), (UdpStream, 40_000)] {
        let mut conditions = Conditions {
            workload,
            message_size_bytes: 1000,
            ..Conditions::default()
        };
        conditions.places.sender.ports =
            bitcost_model::place::Ports::parse(&format!("{first}-{}", first + 1));
        let met = ["5201", "5202"].map(|port| {
            conditions.places.receiver.ports = bitcost_model::place::Ports::parse(port);
            meet(&conditions)
        });
        let mut ports = met.each_ref().map(|met| met.own(0).port());
        ports.sort_unstable();
        assert_eq!(ports, [first, first + 1], "{workload:?}");
    }
}

/// A spinning receiver uses CPU time while nothing is received; a blocked one does not.
fn idle_receiver_works(conditions: &Conditions) {
    let Met { ready, sockets } = meet(conditions);
    let [_sender, mut receiver] = ready.map(|ready| ready.flow);
    let control: Arc<Control> = Arc::default();
    let (thread_id, received) = std::sync::mpsc::channel();
    let running = {
        let control = control.clone();
        thread::spawn(move || {
            thread_id
                .send(bitcost_sys::thread::thread_id())
                .expect("heard");
            drop(receiver.run(&control));
        })
    };
    let id = received.recv().expect("it runs");
    let deadline = Instant::now() + PATIENCE;
    while bitcost_sys::thread::cpu_time_ns(id).expect("its clock") < 30_000_000 {
        assert!(Instant::now() < deadline, "it sleeps");
        thread::sleep(Duration::from_millis(5));
    }
    control.enter(bitcost_traffic::Phase::Abort);
    let _ = rustix::net::shutdown(&sockets[1], rustix::net::Shutdown::Both);
    running.join().expect("no panic");
}
