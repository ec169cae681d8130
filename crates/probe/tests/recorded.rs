//! Every probe that reads a file, on files recorded from Linux 6.18 and on those of other kernels,
//! whose formats are given by their documentation and sources; a file that is missing gives an
//! absent value.

use std::path::{Path, PathBuf};

use bitcost_model::counters::{Softnet, Throttling};
use bitcost_model::record::{CpuTicks, Switches, ThreadKind};
use bitcost_probe::schedstat::ThreadProbe;
use bitcost_probe::switches::SwitchProbe;
use bitcost_probe::{
    cpu, frequency, interfaces, protocols, schedstat, softnet, switches, throttling,
};

/// A kernel of 2010.
const OLD: &str = "linux-2.6.32";
/// A kernel of 2022, with version 2 of control groups, on arm64 with one CPU offline.
const NEWER: &str = "linux-6.1";
/// A kernel of 2025, recorded.
const NOW: &str = "linux-6.18";

fn path(kernel: &str, file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(kernel)
        .join(file)
}

fn text(kernel: &str, file: &str) -> String {
    let path = path(kernel, file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn cpu_times() {
    let old = cpu::parse(&text(OLD, "stat"));
    assert_eq!(
        old.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>(),
        [0, 2],
        "CPU 1 is offline"
    );
    assert_eq!(old[1].user, 290, "guest time is in user time already");
    let now = cpu::parse(&text(NOW, "stat"));
    let first = CpuTicks {
        cpu: 0,
        user: 284_662 + 318_982,
        system: 428_690,
        irq: 0,
        softirq: 216_752,
        steal: 1301,
        idle: 1_159_527,
        iowait: 3228,
    };
    assert_eq!((now.len(), now[0]), (2, first));
}

#[test]
fn thread_times() {
    let read = |kernel: &str| {
        schedstat::parse(ThreadKind::Traffic, &text(kernel, "schedstat")).expect("three numbers")
    };
    assert_eq!(
        (read(OLD).run_ns, read(OLD).wait_ns, read(OLD).slices),
        (812_204_551, 90_115, 4003)
    );
    assert_eq!(
        (read(NOW).run_ns, read(NOW).wait_ns, read(NOW).slices),
        (101_337, 167_934, 2)
    );
    assert_eq!(
        ThreadProbe::open(ThreadKind::Traffic, &path(NOW, "no such file")).read(),
        None
    );
}

#[test]
fn context_switches() {
    let read = |kernel: &str| switches::parse(&text(kernel, "status"));
    assert_eq!(
        read(OLD),
        Some(Switches {
            voluntary: 150,
            involuntary: 545
        })
    );
    assert_eq!(
        read(NOW),
        Some(Switches {
            voluntary: 0,
            involuntary: 1
        })
    );
    assert_eq!(
        SwitchProbe::open(&path(NOW, "no such file")).read(&mut Vec::new()),
        None
    );
}

#[test]
fn soft_interrupts_of_received_packets() {
    let old = softnet::parse(&text(OLD, "softnet_stat"));
    let nine = Softnet {
        cpu: 0,
        processed: 0x4c1f2,
        dropped: 3,
        time_squeeze: 17,
        received_rps: None,
        flow_limit: None,
    };
    assert_eq!((old.len(), old[0], old[1].cpu), (2, nine, 1));
    let newer = softnet::parse(&text(NEWER, "softnet_stat"));
    let thirteen = Softnet {
        cpu: 2,
        processed: 0xa2231,
        dropped: 41,
        time_squeeze: 10,
        received_rps: Some(0),
        flow_limit: Some(2),
    };
    assert_eq!(
        (newer.len(), newer[0].received_rps, newer[1]),
        (2, Some(7), thirteen)
    );
    let now = softnet::parse(&text(NOW, "softnet_stat"));
    let (dropped, time_squeeze) = (8677, 9);
    let fifteen = Softnet {
        cpu: 1,
        processed: 1_127_534_533,
        dropped,
        time_squeeze,
        received_rps: Some(0),
        flow_limit: Some(0),
    };
    assert_eq!((now.len(), now[1]), (2, fifteen));
    assert!(
        softnet::parse("").is_empty() && softnet::parse("00000001 00000000\nx y z\n").is_empty()
    );
}

#[test]
fn counters_of_interfaces() {
    let old = interfaces::parse(&text(OLD, "net_dev"));
    let names: Vec<&str> = old
        .iter()
        .map(|interface| interface.device.as_str())
        .collect();
    assert_eq!(names, ["lo", "eth0", "eth0:1"]);
    let eth0 = &old[1];
    assert_eq!(
        (
            eth0.rx_bytes,
            eth0.rx_packets,
            eth0.rx_errors,
            eth0.rx_dropped
        ),
        (82_113_045_771, 620_114_302, 2, 17)
    );
    assert_eq!(
        (
            eth0.tx_bytes,
            eth0.tx_packets,
            eth0.tx_errors,
            eth0.tx_dropped
        ),
        (9_315_587_528, 43_451_486, 1, 4)
    );
    let now = interfaces::parse(&text(NOW, "net_dev"));
    assert_eq!(
        now.iter()
            .map(|found| found.device.as_str())
            .collect::<Vec<_>>(),
        ["lo", "ifb0", "ifb1", "eth0"]
    );
    assert!(now[3].rx_packets > 0 && now[3].rx_packets < now[3].rx_bytes && now[1].tx_packets == 0);
    assert!(interfaces::parse("").is_empty() && interfaces::parse("eth0: 1 2 3\n").is_empty());
}

#[test]
fn counters_of_protocols() {
    let old = protocols::parse(&text(OLD, "snmp"));
    assert_eq!(
        (old.get("Udp.RcvbufErrors"), old.get("Tcp.RetransSegs")),
        (Some(&71), Some(&142))
    );
    assert_eq!(
        (old.get("Tcp.MaxConn"), old.get("Udp.InCsumErrors")),
        (Some(&-1), None),
        "old kernels count less"
    );
    let old = protocols::parse(&text(OLD, "netstat"));
    assert_eq!(
        (old.get("TcpExt.TCPTimeouts"), old.get("IpExt.OutBcastPkts")),
        (Some(&23), Some(&0))
    );
    assert_eq!(
        protocols::parse_listed(&text(OLD, "snmp6")).get("Udp6.InErrors"),
        Some(&6)
    );
    let now = protocols::parse(&text(NOW, "snmp"));
    assert!(now["Udp.RcvbufErrors"] > 0 && now["Tcp.OutSegs"] > now["Tcp.RetransSegs"]);
    assert_eq!(now.get("Udp.InCsumErrors"), Some(&0));
    assert!(
        now.keys()
            .all(|name| !name.starts_with("Icmp") && !name.starts_with("UdpLite"))
    );
    let now = protocols::parse(&text(NOW, "netstat"));
    assert_eq!(
        (now.get("TcpExt.TCPTimeouts"), now.get("TcpExt.TCPRcvQDrop")),
        (Some(&8), Some(&0))
    );
    assert_eq!(
        protocols::parse_listed(&text(NOW, "snmp6")).get("Ip6.InReceives"),
        Some(&3)
    );
    assert!(
        protocols::parse("Tcp: A B\n").is_empty()
            && protocols::parse("Tcp: A\nUdp: 1\n").is_empty()
    );
}

#[test]
fn quotas() {
    let newer = throttling::parse(&text(NEWER, "cpu.stat"));
    assert_eq!(
        newer,
        Some(Throttling {
            periods: 50,
            throttled_periods: 49,
            throttled_us: 3_938_134
        })
    );
    assert_eq!(
        throttling::parse(&text(NEWER, "cpu.stat.root")),
        None,
        "the root group has no quota"
    );
    assert_eq!(
        throttling::parse(&text(NOW, "cpu.stat")),
        Some(Throttling::default())
    );
    let first = "nr_periods 7\nnr_throttled 3\nthrottled_time 2500999\n";
    assert_eq!(
        throttling::parse(first),
        Some(Throttling {
            periods: 7,
            throttled_periods: 3,
            throttled_us: 2500
        })
    );
    let files = |kernel: &str| throttling::paths(&text(kernel, "cgroup"), &text(kernel, "mounts"));
    let second = ["", "system.slice/", "system.slice/bitcost.service/"];
    let second: Vec<PathBuf> = second
        .iter()
        .map(|group| format!("/sys/fs/cgroup/{group}cpu.stat").into())
        .collect();
    assert_eq!(files(NEWER), second);
    let both = [
        "/sys/fs/cgroup/cpu/cpu.stat",
        "/sys/fs/cgroup/unified/cpu.stat",
    ]
    .map(PathBuf::from);
    assert_eq!(files(NOW), both, "both versions are mounted");
    assert!(throttling::paths("", "").is_empty());
}

#[test]
fn frequencies() {
    assert_eq!(
        frequency::parse(&text(NEWER, "scaling_cur_freq")),
        Some(2_600_000)
    );
    assert_eq!(
        frequency::parse(&text(OLD, "scaling_cur_freq")),
        None,
        "the driver does not know it"
    );
    assert_eq!(frequency::parse("0\n"), None);
}
