//! The probes against the running kernel, in a private network: every row of the table opens and
//! reads, and what does not exist is absent.

use std::net::UdpSocket;
use std::path::PathBuf;
use std::rc::Rc;

use bitcost_model::record::{Sample, ThreadKind};
use bitcost_probe::{Between, Detail, Node, PROBES, Socket, Target, Thread};
use bitcost_sys::netlink::{ROOT, Rtnl};

fn main() {
    bitcost_testkit::main(&[TRIALS]);
}

bitcost_testkit::trials! { PrivateNetwork:
    full_queue_is_reported_with_its_drops,
    other_namespace_is_read_from_here,
    missing_sources_are_absent,
    each_probe_reads_its_own_fields;
}

fn target(device: &str, sockets: Vec<Socket>, nodes: Vec<Node>) -> Target {
    Target {
        device: device.to_owned(),
        threads: vec![Thread {
            kind: ThreadKind::Traffic,
            part: 0,
            id: bitcost_sys::thread::thread_id().cast_unsigned(),
            process: None,
        }],
        process: None,
        sockets: Rc::from(vec![sockets]),
        between: Between {
            lab: None,
            nodes,
            emulators: None,
        },
        softirqs: None,
    }
}

fn read(target: &Target) -> Sample {
    let mut sample = Sample::default();
    let sources = PROBES.iter().filter_map(|probe| (probe.open)(target));
    sources.for_each(|mut source| source(&mut sample, Detail::Flows));
    sample
}

/// A pair of devices that are up, the first with the address 10.9.0.1 and neighbours that never
/// answer.
fn pair() -> Rtnl {
    let mut rtnl = bitcost_testkit::veth(1500);
    for name in ["a0", "b0"] {
        let index = rtnl.link(name).unwrap().index;
        rtnl.set_up(index, true).unwrap();
    }
    let index = rtnl.link("a0").unwrap().index;
    rtnl.add_address(index, "10.9.0.1".parse().unwrap(), 24)
        .unwrap();
    rtnl
}

/// A queue without room drops every packet that the interface sends.
fn full_queue_is_reported_with_its_drops() {
    let mut rtnl = pair();
    let index = rtnl.link("a0").unwrap().index;
    // The limit is zero packets.
    let made = rtnl.put_qdisc((index, ROOT), 0x8001_0000, "pfifo", &[0; 4]);
    if made.is_err() {
        bitcost_testkit::ignore("no pfifo in this kernel");
    }
    let target = target("a0", Vec::new(), Vec::new());
    let before = read(&target);
    assert_eq!(before.queues.len(), 1, "{:?}", before.queues);
    let socket = UdpSocket::bind("10.9.0.1:0").unwrap();
    // A multicast address needs no neighbour.
    for _ in 0..5 {
        let _ = socket.send_to(&[0; 100], "224.0.0.99:9");
    }
    let after = read(&target);
    let queue = &after.queues[0];
    assert_eq!(
        (
            queue.kind.as_str(),
            queue.handle.as_str(),
            queue.node.as_deref()
        ),
        ("pfifo", "8001:", None)
    );
    assert!(
        queue.drops.wrapping_sub(before.queues[0].drops) >= 5,
        "{queue:?}"
    );
    assert_eq!(
        (queue.parent.as_deref(), queue.packets),
        (None, before.queues[0].packets)
    );
}

/// The counters of a namespace that this process is not in.
fn other_namespace_is_read_from_here() {
    let mut rtnl = pair();
    let index = rtnl.link("a0").unwrap().index;
    if rtnl.set_root_pfifo(index, 10).is_err() {
        bitcost_testkit::ignore("no pfifo in this kernel");
    }
    let there = PathBuf::from(format!(
        "/proc/self/task/{}/ns/net",
        bitcost_sys::thread::thread_id()
    ));
    let there = std::fs::File::open(there).unwrap();
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&there));
    bitcost_sys::namespace::unshare(&[bitcost_sys::namespace::Kind::Net]).unwrap();
    assert!(Rtnl::open().unwrap().link("a0").is_err());
    let node = |name: &str, path: &str| Node {
        name: name.to_owned(),
        namespace: path.into(),
    };
    let nodes = vec![
        node("w1", &path),
        node("w2", "/proc/self/no-such-namespace"),
    ];
    let sample = read(&target("lo", Vec::new(), nodes));
    let names = |found: Vec<(&Option<String>, &String)>| {
        let mut names: Vec<String> = found
            .into_iter()
            .map(|(node, device)| format!("{}/{device}", node.as_deref().unwrap_or("-")))
            .collect();
        names.sort();
        names
    };
    assert_eq!(
        names(sample.queues.iter().map(|q| (&q.node, &q.device)).collect()),
        ["w1/a0"]
    );
    assert_eq!(
        names(
            sample
                .interfaces
                .iter()
                .map(|i| (&i.node, &i.device))
                .collect()
        ),
        ["-/lo", "w1/a0", "w1/b0"]
    );
}

fn missing_sources_are_absent() {
    let sample = read(&target("no-such0", Vec::new(), Vec::new()));
    assert!(sample.queues.is_empty() && sample.interfaces.is_empty());
    assert!(sample.sockets.is_empty() && sample.tcp_info.is_none());
    assert!(!sample.cpus.is_empty());
}

fn each_probe_reads_its_own_fields() {
    pair();
    let socket = UdpSocket::bind("10.9.0.1:0").unwrap();
    let sample = read(&target(
        "a0",
        vec![Socket {
            handle: socket.into(),
            is_connection: false,
        }],
        Vec::new(),
    ));
    assert!(!sample.cpus.is_empty());
    assert_eq!(sample.threads.len(), 1);
    assert_eq!(sample.sockets.len(), 1);
    assert_eq!(
        sample
            .interfaces
            .iter()
            .map(|found| found.device.as_str())
            .collect::<Vec<_>>(),
        ["a0"]
    );
    let has = |path: &str| std::path::Path::new(path).exists();
    assert_eq!(has("/proc/net/softnet_stat"), !sample.softnet.is_empty());
    assert_eq!(
        has("/proc/net/snmp"),
        sample.protocols.contains_key("Udp.RcvbufErrors")
    );
}
