//! The lab against the running kernel: up, traffic in it, down; as root and as an ordinary user.
//!
//! The test program is its own helper: its first argument can be the daemon's verb, or one of
//! `VERBS` below.

// The test harness reads what a test prints.
#![allow(clippy::disallowed_macros)]

use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use bitcost_lab::{DAEMON_VERB, Lab, Napi, NapiState, Topology};
use bitcost_sys::namespace::{Kind, enter};
/// Exit status of a test or helper that needs what this machine lacks.
const IMPOSSIBLE: i32 = 77;

const VERBS: &[(&str, fn())] = &[
    ("udp-echo", udp_echo),
    ("udp-ask", udp_ask),
    ("bridge-filters", bridge_filters),
];

fn main() -> ExitCode {
    let verb = std::env::args().nth(1).unwrap_or_default();
    if verb == DAEMON_VERB {
        return bitcost_lab::daemon::main();
    }
    if let Some((_, run)) = VERBS.iter().find(|(name, _)| *name == verb) {
        run();
        return ExitCode::SUCCESS;
    }
    bitcost_testkit::main(&[TRIALS]);
}

bitcost_testkit::trials! { Host:
    hosts_of_a_pair_reach_each_other,
    udp_is_received_in_the_kernel_thread,
    an_inline_lab_is_inline,
    frames_of_a_wire_pass_no_filter_of_ip;
}

fn me() -> PathBuf {
    std::env::current_exe().unwrap()
}

fn pair(mtu_bytes: u32, napi: Napi) -> Topology {
    bitcost_study::topology::preset("pair", mtu_bytes, napi).unwrap()
}

fn up(napi: Napi) -> Lab {
    up_with(&pair(8896, napi))
}

fn up_with(topology: &Topology) -> Lab {
    match Lab::up(topology) {
        Ok(lab) => lab,
        Err(error) if error.to_string().contains("the lab's namespaces") => {
            eprintln!("{error}");
            std::process::exit(IMPOSSIBLE);
        }
        Err(error) => panic!("{error}"),
    }
}

/// Starts this program with `verb` in a host; its standard output is piped.
fn start_in(lab: &Lab, host: &str, verb: &str) -> Child {
    let mut command = Command::new(me());
    command
        .arg(verb)
        .stdout(Stdio::piped())
        .stdin(Stdio::null());
    lab.command_in(host, &mut command).unwrap();
    command.spawn().unwrap()
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    line.trim().to_owned()
}

fn udp_echo() {
    let socket = UdpSocket::bind("10.0.0.2:7000").unwrap();
    println!("ready");
    let mut buffer = [0; 64];
    let (length, peer) = socket.recv_from(&mut buffer).unwrap();
    socket.send_to(&buffer[..length], peer).unwrap();
}

fn udp_ask() {
    let socket = UdpSocket::bind("10.0.0.1:0").unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(2)))
        .unwrap();
    socket.send_to(b"from h1", "10.0.0.2:7000").unwrap();
    let mut buffer = [0; 64];
    let length = socket.recv(&mut buffer).unwrap();
    println!("{}", String::from_utf8_lossy(&buffer[..length]));
}

/// Asks h2 for an echo from h1.
fn exchange(lab: &Lab) {
    let mut echo = start_in(lab, "h2", "udp-echo");
    assert_eq!(first_line(&mut echo), "ready");
    let mut ask = start_in(lab, "h1", "udp-ask");
    assert_eq!(first_line(&mut ask), "from h1");
    assert!(ask.wait().unwrap().success() && echo.wait().unwrap().success());
}

fn thread_pids(lab: &Lab) -> Vec<u32> {
    let of_host = |napi: &NapiState| match napi {
        NapiState::Threaded { thread_pids, .. } => thread_pids.clone(),
        NapiState::Inline { .. } => Vec::new(),
    };
    lab.hosts()
        .iter()
        .flat_map(|host| of_host(&host.napi))
        .collect()
}

/// Whether a process exists and is not merely waiting to be reaped.
fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

fn hosts_of_a_pair_reach_each_other() {
    let lab = up(Napi::Threaded);
    let found: Vec<_> = lab
        .hosts()
        .iter()
        .map(|h| {
            (
                h.name.as_str(),
                h.device.as_str(),
                h.address.to_string(),
                h.mtu_bytes,
            )
        })
        .collect();
    let expected = [
        ("h1", "h1-eth0", "10.0.0.1".to_owned(), 8896),
        ("h2", "h2-eth0", "10.0.0.2".to_owned(), 8896),
    ];
    assert_eq!(found, expected);
    for host in lab.hosts() {
        match &host.napi {
            NapiState::Threaded { thread_pids, .. } => {
                assert!(thread_pids.iter().all(|pid| is_alive(*pid)))
            }
            NapiState::Inline { reason } => {
                eprintln!("not threaded: {}", reason.as_deref().expect("a reason"))
            }
        }
    }
    exchange(&lab);
}

/// How often the process has been given a CPU (the third number of its schedstat).
fn turns(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap();
    text.split_whitespace().nth(2).unwrap().parse().unwrap()
}

fn udp_is_received_in_the_kernel_thread() {
    let lab = up(Napi::Threaded);
    let pids = thread_pids(&lab);
    let before: Vec<_> = pids.iter().map(|pid| turns(*pid)).collect();
    for _ in 0..5 {
        exchange(&lab);
    }
    for (pid, before) in pids.iter().zip(before) {
        let more = turns(*pid) - before;
        assert!(
            more >= 5,
            "5 packets with TSO on, {more} turns of the thread {pid}"
        );
    }
}

fn an_inline_lab_is_inline() {
    let lab = up(Napi::Inline);
    assert!(
        lab.hosts()
            .iter()
            .all(|host| host.napi == NapiState::Inline { reason: None })
    );
    exchange(&lab);
}

/// Prints whether frames of bridges pass filters of IP and ARP in the network namespace that the last
/// argument refers to; an argument before it refers to the user namespace that owns it.
fn bridge_filters() {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let files = arguments.iter().map(std::fs::File::open);
    let files: Vec<_> = files.map(Result::unwrap).collect();
    let kinds = [Kind::User, Kind::Net];
    for (file, kind) in files.iter().zip(&kinds[kinds.len() - files.len()..]) {
        enter(file.as_fd(), *kind).unwrap();
    }
    let values = ["iptables", "ip6tables", "arptables"].map(|table| {
        std::fs::read_to_string(format!("/proc/sys/net/bridge/bridge-nf-call-{table}"))
            .unwrap_or_default()
    });
    let values: Vec<&str> = values.iter().map(|value| value.trim()).collect();
    println!("{}", values.join(" "));
}

fn frames_of_a_wire_pass_no_filter_of_ip() {
    let topology = bitcost_study::topology::preset("wire", 8896, Napi::Threaded).unwrap();
    let lab = up_with(&topology);
    let nodes = lab.nodes_but(&[]);
    let (_, network) = nodes.iter().find(|(name, _)| name == "w1").unwrap();
    let mut command = Command::new(me());
    command.arg("bridge-filters");
    if bitcost_sys::process::effective_uid() != 0 {
        command.arg(format!("/proc/{}/ns/user", lab.daemon_pid()));
    }
    let output = command.arg(network).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let values = String::from_utf8(output.stdout).unwrap();
    if values.trim().is_empty() {
        drop(lab);
        eprintln!("this kernel has no bridge netfilter");
        std::process::exit(IMPOSSIBLE);
    }
    assert!(values.split_whitespace().all(|value| value == "0"));
}
