//! Paths on which a test could say that nothing came: full packets vanish, connections are turned away, a client in the
//! queue is gone. Each has an answer.

use crate::bench::*;
use crate::outage::Field;
use crate::server::Owned;
use crate::service::{Service, after};
use bitcost_testkit::gap::Host;
use std::io::BufReader;

bitcost_testkit::trials! {
    PrivateNetwork: full_packets_that_vanish_are_named_with_what_passes, packets_in_fragments_are_named,
        connections_that_are_turned_away_are_counted, the_congestion_control_of_a_route_gives_way,
        a_client_that_is_gone_leaves_the_queue;
    Host: loss_behind_latency_is_named;
}

fn shell(host: &Host, line: &str) {
    let mut command = Command::new("sh");
    host.put(command.args(["-ec", line]));
    assert!(command.status().unwrap().success(), "{line}");
}

/// A test from the first host, and what it prints in one line.
fn test(field: &Field, link: &str, words: &str) -> Done {
    let mut command = field.command(0, link, words);
    let output = command.arg("--no-log").output().unwrap();
    let text = |bytes: &[u8]| one_line(&String::from_utf8_lossy(bytes));
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| text(bytes));
    Done {
        code: output.status.code(),
        stdout,
        stderr,
    }
}

fn full_packets_that_vanish_are_named_with_what_passes() {
    need(&["ethtool"]);
    let named = |words: &str| {
        let field = Field::new();
        for (host, device) in field.gap.hosts.iter().zip(field.gap.devices) {
            shell(host, "ethtool -K eth0 tso off gso off");
            // What does not fit is dropped, and nobody is told; the tag of a VLAN would have room.
            Rtnl::open().unwrap().set_mtu(device, 1396).unwrap();
        }
        let done = test(&field, &field.service.link, &format!("{words} -t 1s"));
        done.assert_code(1);
        if words.contains("--json") {
            let found = &done.json()["bottleneck"];
            assert_eq!(found["limiter"], "mtu_black_hole", "{found}");
            assert_eq!(found["confidence"], "proved", "{found}");
            return;
        }
        let printed = &done.stdout;
        let vanish = "nothing of packets of 1500 bytes is acknowledged";
        assert_says(printed, &["MTU black hole (proved by experiment)", vanish]);
        let segment = after(printed, "they do not) (-M ")
            .trim_end_matches(')')
            .parse();
        assert!((1336..=1344).contains(&segment.unwrap()), "{printed}");
    };
    thread::scope(|scope| {
        for words in [
            "tcp",
            "tcp -R --prove",
            "rr --request-size 3000 --json",
            "rr --response-size 3000 --json",
        ] {
            scope.spawn(move || named(words));
        }
    });
}

fn packets_in_fragments_are_named() {
    need(&["ip"]);
    let field = Field::new();
    for (own, other) in [(1, 2), (2, 1)] {
        let line = format!(
            "ip link add vx0 type vxlan id 42 local 10.0.0.{own} remote 10.0.0.{other} dstport 4789 df unset; ip addr add 10.0.9.{own}/24 dev vx0; ip link set vx0 mtu 1500 up; ip route change 10.0.9.0/24 dev vx0 mtu lock 1500"
        );
        shell(&field.gap.hosts[own - 1], &line);
    }
    let inner = "10.0.9.2".parse().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let service = Service::of(folder, inner, &[], |command| {
        field.gap.hosts[1].put(command)
    });
    let done = test(&field, &service.link, "tcp -t 1s --json");
    let bottleneck = done.with_code(0).json()["bottleneck"].clone();
    let all = bottleneck.to_string();
    assert_says(&all, &["\"fragments\"", "segments in fragments"]);
}

fn connections_that_are_turned_away_are_counted() {
    need(&["nft"]);
    let field = Field::new();
    let rule = "'tcp flags & (syn|ack) == syn' 'tcp sport & 62 == 62' reject with tcp reset";
    let line = format!(
        "nft add table ip q; nft add chain ip q i '{{ type filter hook input priority 0; }}'; nft add rule ip q i {rule}"
    );
    shell(&field.gap.hosts[1], &line);
    // The connection that opens a test is one of these once in 32, and then the next is none.
    let mut tests = (0..8).map(|_| test(&field, &field.service.link, "crr -t 1s"));
    let done = tests.find(|done| done.code == Some(0)).unwrap();
    assert_says(&done.stdout, &[" % of the connections failed", "median "]);
}

fn the_congestion_control_of_a_route_gives_way() {
    need(&["ip"]);
    let field = Field::new();
    for host in &field.gap.hosts {
        shell(host, "ip route change 10.0.0.0/24 dev eth0 congctl cubic");
    }
    for words in ["tcp -C reno -t 300ms", "tcp -R -C reno -t 300ms"] {
        let done = test(&field, &field.service.link, words).with_code(0);
        assert_says(&done.stdout, &[", reno, "]);
    }
    // An end that only receives is not asked for it.
    let done = test(&field, &field.service.link, "tcp -C reno -t 300ms --json").with_code(0);
    let of = |end: &str| done.json()["in_effect"][end]["congestion_control"].clone();
    assert_eq!([of("sender"), of("receiver")], ["reno", "cubic"]);
}

/// A client that waits behind another, and whose path dies, gives way to one that comes after it.
fn a_client_that_is_gone_leaves_the_queue() {
    let field = Field::new();
    let start = |host: usize, words: &str| {
        let mut command = field.command(host, &field.service.link, words);
        let piped = command.arg("--no-log").stdout(Stdio::piped());
        Owned(piped.stderr(Stdio::piped()).spawn().unwrap())
    };
    let mut first = start(1, "tcp -t 6s -b 20M");
    let mut printed = BufReader::new(first.0.stdout.take().unwrap());
    read_until(&mut printed, "    1 s  ");
    let mut waits = start(0, "tcp -t 60s -b 20M");
    let mut said = BufReader::new(waits.0.stderr.take().unwrap());
    read_until(&mut said, "another test has the host");
    field.set_path(false);
    let began = Instant::now();
    assert!(start(1, "tcp -t 300ms").0.wait().unwrap().success());
    assert!(first.0.wait().unwrap().success());
    assert!(began.elapsed() < Duration::from_secs(30));
}

fn loss_behind_latency_is_named() {
    let bench = Bench::new();
    let lossy = "hosts = ['h1', 'h2']\n[[link]]\nends = ['h1', 'h2']\nloss = '3%'\ndelay = '1ms'\n";
    bench.write("lossy.toml", lossy);
    let done = bench.bitcost(&split(
        "test rr --topology lossy.toml --no-log -t 3s --json",
    ));
    let found = done.with_code(0).json()["bottleneck"].clone();
    assert_eq!(found["limiter"], "path_loss", "{found}");
    assert_says(&found.to_string(), &["wait for retransmission timers"]);
}
