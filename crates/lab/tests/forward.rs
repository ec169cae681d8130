//! A link emulator between two hosts: packets leave it complete and in time, and its counters are
//! right.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use bitcost_lab::emulator::{Device, Emulator};
use bitcost_model::counters::LinkEmulator;
use bitcost_model::shaping::{QueueLimit, Shaping};
use bitcost_sys::socket::{SO_SNDBUF, SO_SNDBUFFORCE};
use bitcost_testkit::gap::{DEVICE, Gap};

const MTU_BYTES: u32 = 1500;
const PATIENCE: Duration = Duration::from_secs(20);

fn main() {
    bitcost_testkit::main(&[TRIALS]);
}

bitcost_testkit::trials! { PrivateNetwork:
    a_reply_takes_both_delays,
    super_packets_pass_whole,
    without_offloads_segments_pass,
    udp_super_packets_pass_whole,
    a_burst_of_rate_by_delay_and_8_mib_waits_for_the_emulator,
    packets_that_wait_in_a_shaper_do_not_hold_up_the_emulator,
    what_the_ring_drops_is_counted,
    a_short_queue_drops_and_says_so,
    the_longest_mtu_passes;
}

struct Path {
    gap: Gap,
    read: Arc<Mutex<[LinkEmulator; 2]>>,
}

impl Path {
    fn new(mtu_bytes: u32, settings: [Shaping; 2]) -> Path {
        Path::later(mtu_bytes, settings, |_| ())
    }

    /// A path whose emulator begins to read when `before` has ended.
    fn later(mtu_bytes: u32, settings: [Shaping; 2], before: impl FnOnce(&Gap)) -> Path {
        let gap = Gap::new(mtu_bytes);
        let devices = gap.devices.map(|index| Device { index, mtu_bytes });
        let line = Emulator::open(devices, settings, 7, 1).expect("opens");
        let read = Arc::<Mutex<[LinkEmulator; 2]>>::default();
        before(&gap);
        let latest = read.clone();
        let watch = move |readings| *latest.lock().expect("whole") = readings;
        thread::spawn(move || line.run(watch).expect("runs"));
        Path { gap, read }
    }

    /// The counters of one direction, as soon as `settled` accepts them as final.
    fn counters(&self, direction: usize, settled: impl Fn(&LinkEmulator) -> bool) -> LinkEmulator {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let counters = self.read.lock().expect("whole")[direction].clone();
            if settled(&counters) {
                return counters;
            }
            assert!(Instant::now() < deadline, "{counters:?}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn udp(&self) -> [UdpSocket; 2] {
        self.gap.hosts.each_ref().map(|host| {
            let socket = host.run(|| UdpSocket::bind((host.address, 5000)).expect("binds"));
            socket.set_read_timeout(Some(PATIENCE)).expect("timeout");
            socket
        })
    }

    /// Sends this number of bytes from the first host to the second by TCP, and checks that they
    /// arrive unchanged.
    fn transfer(&self, bytes: usize) {
        let [from, to] = &self.gap.hosts;
        let listener = to.run(|| TcpListener::bind((to.address, 0)).expect("binds"));
        let at = listener.local_addr().expect("address");
        let data: Vec<u8> = (0..bytes).map(|at| (at * 31 + at / 251) as u8).collect();
        let received = thread::scope(|scope| {
            let receiver = scope.spawn(|| {
                let (mut stream, _) = listener.accept().expect("accepts");
                stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
                let mut all = Vec::new();
                stream.read_to_end(&mut all).expect("receives");
                all
            });
            let mut stream = from.run(|| TcpStream::connect(at).expect("connects"));
            stream.write_all(&data).expect("sends");
            stream.shutdown(Shutdown::Write).expect("ends");
            receiver.join().expect("joins")
        });
        assert!(
            received == data,
            "{} of {} bytes, or others",
            received.len(),
            data.len()
        );
    }
}

fn held(delay_ms: u64) -> Shaping {
    Shaping {
        delay_us: delay_ms * 1000,
        ..Shaping::default()
    }
}

fn a_reply_takes_both_delays() {
    let path = Path::new(MTU_BYTES, [held(20), held(5)]);
    let [near, far] = path.udp();
    let mut word = [0; 8];
    for number in 0..3u8 {
        let begin = Instant::now();
        near.send_to(&[number; 4], far.local_addr().expect("address"))
            .expect("sends");
        let (length, back) = far.recv_from(&mut word).expect("receives");
        assert!(
            begin.elapsed() >= Duration::from_millis(20),
            "{:?}",
            begin.elapsed()
        );
        far.send_to(&word[..length], back).expect("sends");
        assert_eq!(near.recv(&mut word).expect("receives"), 4);
        assert_eq!(word[..4], [number; 4]);
        assert!(
            begin.elapsed() >= Duration::from_millis(25),
            "{:?}",
            begin.elapsed()
        );
    }
    let counters = path.counters(0, |counters| counters.departed.packets >= 4);
    let late = &counters.late;
    assert_eq!(
        late.iter().map(|(_, count)| count).sum::<u64>(),
        counters.departed.packets
    );
    assert_eq!((counters.refused.packets, counters.missed_packets), (0, 0));
}

/// Whether all packets that arrived have departed, and among them a transfer of this number of
/// bytes: a report may be older than the end of the transfer.
fn all_of(bytes: u64) -> impl Fn(&LinkEmulator) -> bool {
    move |counters| counters.arrived == counters.departed && counters.departed.bytes > bytes
}

fn super_packets_pass_whole() {
    let path = Path::new(MTU_BYTES, [held(2), held(0)]);
    path.transfer(8 << 20);
    let counters = path.counters(0, all_of(8 << 20));
    assert!(counters.departed.segments > 4 * counters.departed.packets);
}

fn without_offloads_segments_pass() {
    let path = Path::new(MTU_BYTES, [held(2), held(0)]);
    path.gap.hosts[0].run(|| {
        let mut ethtool = bitcost_sys::netlink::Ethtool::open().expect("opens");
        let features = ethtool.features(DEVICE).expect("reads");
        let cuts =
            |name: &String| name.ends_with("-segmentation") || name == "tx-checksum-ip-generic";
        let off: BTreeMap<String, bool> = features
            .into_keys()
            .filter(cuts)
            .map(|name| (name, false))
            .collect();
        ethtool.set_features(DEVICE, &off).expect("sets");
    });
    path.transfer(1 << 20);
    let counters = path.counters(0, all_of(1 << 20));
    assert_eq!(counters.departed.segments, counters.departed.packets);
    assert!(counters.departed.packets > (1 << 20) / 1500);
}

fn udp_super_packets_pass_whole() {
    let path = Path::new(MTU_BYTES, [held(1), held(1)]);
    let [near, far] = path.udp();
    if bitcost_sys::socket::set_int(&near, bitcost_sys::socket::UDP_SEGMENT, 1000).is_err() {
        bitcost_testkit::ignore("this kernel has no UDP_SEGMENT");
    }
    near.send_to(&[9; 4500], far.local_addr().expect("address"))
        .expect("sends");
    let mut word = [0; 2000];
    let lengths: Vec<usize> = (0..5)
        .map(|_| far.recv(&mut word).expect("receives"))
        .collect();
    assert_eq!(lengths, [1000, 1000, 1000, 1000, 500]);
    let counters = path.counters(0, |counters| counters.departed.segments >= 6);
    assert_eq!(counters.departed.segments, counters.departed.packets + 4);
}

/// Sends this number of super-packets of `segments` × 1400 bytes from the first host to all others
/// of its network, for which it needs no answer.
fn burst(gap: &Gap, super_packets: u64, segments: usize) {
    let host = &gap.hosts[0];
    let socket = host.run(|| UdpSocket::bind((host.address, 0)).expect("binds"));
    socket.set_broadcast(true).expect("may broadcast");
    if bitcost_sys::socket::set_int(&socket, bitcost_sys::socket::UDP_SEGMENT, 1400).is_err() {
        bitcost_testkit::ignore("this kernel has no UDP_SEGMENT");
    }
    let data = vec![9; 1400 * segments];
    for _ in 0..super_packets {
        socket.send_to(&data, "10.0.0.255:9").expect("sends");
    }
}

fn a_burst_of_rate_by_delay_and_8_mib_waits_for_the_emulator() {
    // 100 MB/s × 40 ms are 4 MB.
    let shaped = Shaping {
        rate_bps: Some(800_000_000),
        ..held(40)
    };
    for (settings, bytes) in [(held(1), 8 << 20), (shaped, 12 << 20)] {
        let super_packets = bytes / (45 * 1400) + 1;
        let path = Path::later(MTU_BYTES, [settings, held(0)], |gap| {
            burst(gap, super_packets, 45);
        });
        let counters = path.counters(0, |counters| counters.arrived.packets >= super_packets);
        assert_eq!(counters.missed_packets, 0, "{counters:?}");
    }
}

fn packets_that_wait_in_a_shaper_do_not_hold_up_the_emulator() {
    let super_packets = 16;
    let path = Path::later(MTU_BYTES, [held(1), held(0)], |gap| {
        // 16 super-packets take 80 s at this rate.
        shape(&gap.names[1], "100kbit");
        burst(gap, super_packets, 45);
    });
    path.counters(0, |counters| counters.departed.packets >= super_packets);
}

/// Puts a shaper with room for 4 MB on a device of the caller's namespace.
fn shape(device: &str, rate: &str) {
    let probe = UdpSocket::bind("127.0.0.1:0").expect("binds");
    let wanted = 2 << 20;
    let set = |option| bitcost_sys::socket::set_int(&probe, option, wanted);
    if set(SO_SNDBUFFORCE).is_err() {
        set(SO_SNDBUF).expect("takes a send buffer");
    }
    if bitcost_sys::socket::get_int(&probe, SO_SNDBUF).expect("tells it") < wanted {
        bitcost_testkit::ignore("net.core.wmem_max allows no send buffer of 2 MiB here");
    }
    let shaper = ["tbf", "rate", rate, "burst", "70000", "limit", "4000000"];
    let made = Command::new("tc")
        .args(["qdisc", "add", "dev", device, "root"])
        .args(shaper)
        .status();
    match made {
        Ok(status) => assert!(status.success(), "tc: {status}"),
        Err(_) => bitcost_testkit::ignore("there is no tc here"),
    }
}

fn what_the_ring_drops_is_counted() {
    let sent = 2000;
    let path = Path::later(MTU_BYTES, [held(1), held(0)], |gap| burst(gap, sent, 2));
    let counters = path.counters(0, |counters| {
        counters.arrived.packets + counters.missed_packets >= sent
    });
    assert!(counters.missed_packets > 0, "{counters:?}");
    assert!(counters.arrived.packets > 512, "{counters:?}");
}

fn a_short_queue_drops_and_says_so() {
    let short = Shaping {
        queue_limit: Some(QueueLimit::Packets(10)),
        ..held(200)
    };
    let path = Path::new(MTU_BYTES, [short, held(0)]);
    let [near, far] = path.udp();
    let to = far.local_addr().expect("address");
    near.send_to(&[1], to).expect("sends");
    far.recv(&mut [0; 8]).expect("receives");
    (0..50).for_each(|_| drop(near.send_to(&[1; 100], to)));
    let counters = path.counters(0, |counters| {
        counters.arrived.packets >= 50
            && counters.departed.packets + counters.overflowed.packets == counters.arrived.packets
    });
    assert!(counters.overflowed.packets > 0, "{counters:?}");
    assert_eq!(counters.lost.packets, 0);
}

fn the_longest_mtu_passes() {
    Path::new(65_535, [held(1), held(1)]).transfer(4 << 20);
}
