//! The lab against the running kernel: up, traffic in it, down; as root and as an ordinary user.
//!
//! The test program is its own helper: its first argument can be the daemon's verb, or one of
//! `VERBS` below.

// The test harness reads what a test prints.
#![allow(clippy::disallowed_macros)]

use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use bitcost_lab::{DAEMON_VERB, Lab, LabError, Napi, NapiState, Topology};
use bitcost_sys::namespace::{Kind, enter};

const GONE_LIMIT: Duration = Duration::from_secs(2);
/// Exit status of a test or helper that needs what this machine lacks.
const IMPOSSIBLE: i32 = 77;

const VERBS: &[(&str, fn())] = &[
    ("udp-echo", udp_echo),
    ("udp-ask", udp_ask),
    ("controller", controller),
    ("check-lab", check_lab),
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
    drop_leaves_nothing,
    a_killed_controller_leaves_nothing,
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
    match Lab::up(Path::new("/proc/self/exe"), topology) {
        Ok(lab) => lab,
        Err(error @ LabError::NoUserNamespaces { .. }) => {
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

fn netns_inodes(lab: &Lab) -> Vec<u64> {
    let inode = |fd: i32| {
        Path::new(&format!("/proc/{}/fd/{fd}", lab.daemon_pid()))
            .metadata()
            .unwrap()
            .ino()
    };
    lab.hosts()
        .iter()
        .map(|host| inode(host.netns_fd))
        .collect()
}

/// Whether a process is in one of these network namespaces or holds a file that refers to one.
fn is_held(inodes: &[u64]) -> bool {
    let held = |path: &Path| {
        path.metadata()
            .is_ok_and(|meta| inodes.contains(&meta.ino()))
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.map(|entry| entry.path()).any(|process| {
        let files = std::fs::read_dir(process.join("fd"))
            .into_iter()
            .flatten()
            .flatten();
        held(&process.join("ns/net")) || files.map(|file| file.path()).any(|file| held(&file))
    })
}

/// Whether a process exists and is not merely waiting to be reaped.
fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

fn assert_gone(pids: &[u32], inodes: &[u64]) {
    let deadline = Instant::now() + GONE_LIMIT;
    loop {
        let alive: Vec<_> = pids.iter().filter(|pid| is_alive(**pid)).collect();
        let held = is_held(inodes);
        if alive.is_empty() && !held {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "after 2 s alive: {alive:?}, namespaces held: {held}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
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
    for _ in 0..20 {
        exchange(&lab);
    }
    for (pid, before) in pids.iter().zip(before) {
        let more = turns(*pid) - before;
        assert!(
            more >= 20,
            "20 packets with TSO on, {more} turns of the thread {pid}"
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

/// The verb that an ordinary user runs.
fn check_lab() {
    assert_ne!(bitcost_sys::process::effective_uid(), 0);
    hosts_of_a_pair_reach_each_other();
    udp_is_received_in_the_kernel_thread();
    an_inline_lab_is_inline();
    drop_leaves_nothing();
    println!("checked");
}

fn drop_leaves_nothing() {
    let lab = up(Napi::Threaded);
    let (threads, inodes) = (thread_pids(&lab), netns_inodes(&lab));
    let daemon = lab.daemon_pid();
    assert!(is_held(&inodes) && is_alive(daemon));
    let before = Instant::now();
    drop(lab);
    assert!(
        before.elapsed() < Duration::from_secs(1),
        "the daemon exits"
    );
    assert!(
        !Path::new(&format!("/proc/{daemon}")).exists(),
        "the daemon was reaped"
    );
    assert_gone(&threads, &inodes);
}

/// Holds a lab with a program in each host until it is killed; prints what must end with it.
fn controller() {
    let lab = up(Napi::Threaded);
    let mut echo = start_in(&lab, "h2", "udp-echo");
    assert_eq!(first_line(&mut echo), "ready");
    let mut pids = vec![lab.daemon_pid(), echo.id()];
    pids.extend(thread_pids(&lab));
    println!("{pids:?} {:?}", netns_inodes(&lab));
    std::io::stdout().flush().unwrap();
    std::thread::sleep(Duration::from_secs(60));
}

fn a_killed_controller_leaves_nothing() {
    let mut child = Command::new(me())
        .arg("controller")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let line = first_line(&mut child);
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|c: char| !c.is_ascii_digit())
            .filter_map(|word| word.parse().ok())
            .collect()
    };
    let (pids, inodes) = line.split_once("] [").expect("two lists");
    let pids: Vec<u32> = numbers(pids)
        .into_iter()
        .map(|pid| u32::try_from(pid).unwrap())
        .collect();
    let inodes = numbers(inodes);
    assert!(
        pids.len() >= 2 && pids.iter().all(|pid| is_alive(*pid)),
        "{line}"
    );
    assert!(inodes.len() == 2 && is_held(&inodes), "{line}");
    child.kill().unwrap();
    assert_gone(&pids, &inodes);
    child.wait().unwrap();
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
    let topology = bitcost_study::topology::wire(8896, Napi::Threaded);
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
    assert!(
        values.split_whitespace().all(|value| value == "0"),
        "{values}"
    );
}
