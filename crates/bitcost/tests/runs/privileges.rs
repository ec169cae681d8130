//! `bitcost serve`: what reads the words of foreign hosts has no privileges, whoever started it.

// The test harness shows what a test prints.
#![allow(clippy::disallowed_macros)]

use crate::bench::*;
use std::net::TcpListener;

use bitcost_service::confine::{NOBODY, confine};
use bitcost_sys::landlock;
use bitcost_sys::seccomp::Also;

use crate::iperf3::Listening;
use crate::service::{Service, bitcost, said};

bitcost_testkit::trials! {
    PrivateNetwork: foreign_hosts_are_read_without_privileges, a_process_that_is_killed_ends_one_connection,
        iperf3_clients_are_read_without_privileges, a_confined_process_opens_nothing,
        a_service_keeps_its_rights_for_settings_alone;
}

/// The verb of this test program by which it confines itself and tries what is forbidden.
const CONFINED: &str = "confined-attempts";

/// A field of /proc/PID/status.
fn field(pid: u32, name: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_default().trim().to_owned()
}

/// The children of a process that were started with this word.
pub fn children(parent: u32, word: &str) -> Vec<u32> {
    let ids = fs::read_dir("/proc").unwrap().flatten();
    ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| field(*pid, "PPid:") == parent.to_string())
        .filter(|pid| {
            let words = fs::read_to_string(format!("/proc/{pid}/cmdline"));
            words.unwrap_or_default().split('\0').any(|of| of == word)
        })
        .collect()
}

/// Waits until there is exactly one of them.
fn only(parent: u32, word: &str) -> u32 {
    eventually(PATIENCE, word, || match children(parent, word)[..] {
        [one] => Some(one),
        _ => None,
    })
}

/// Whether root can become another user in this user namespace.
fn has_other_users() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap();
    let covers = |line: &str| {
        let words: Vec<u64> = line.split_whitespace().flat_map(str::parse).collect();
        words[0] + words[2] > u64::from(NOBODY)
    };
    map.lines().any(covers)
}

fn assert_confined(pid: u32) {
    for name in ["CapEff:", "CapPrm:", "CapInh:", "CapAmb:", "CapBnd:"] {
        // The tests have CAP_SETPCAP, as root or in their user namespace.
        assert_eq!(field(pid, name), "0000000000000000", "{name} of {pid}");
    }
    assert_eq!(field(pid, "NoNewPrivs:"), "1");
    assert_eq!(field(pid, "Seccomp:"), "2");
    if has_other_users() {
        assert_eq!(field(pid, "Uid:"), "65534\t65534\t65534\t65534");
        assert_eq!(field(pid, "Gid:"), "65534\t65534\t65534\t65534");
        assert_eq!(field(pid, "Groups:"), "");
    }
}

/// A foreign connection, and the process that reads it, which is confined.
fn foreign(server: &Service) -> (TcpStream, u32) {
    // One that says nothing has no process yet.
    let mut foreign = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    foreign.write_all(&[0x16]).unwrap();
    let front = only(server.id(), "serve-front");
    let is_confined = || (field(front, "Seccomp:") == "2").then_some(());
    eventually(PATIENCE, "it is confined", is_confined);
    assert_confined(front);
    (foreign, front)
}

fn foreign_hosts_are_read_without_privileges() {
    let mut server = Service::at(Ipv4Addr::LOCALHOST.into(), &[]);
    let (foreign, front) = foreign(&server);
    // Nothing is open but the connection, the channel, and /dev/null, once it has read what it may do.
    let is_allowed = |entry: std::io::Result<fs::DirEntry>| {
        let file = fs::read_link(entry.unwrap().path()).unwrap_or_default();
        file.to_string_lossy().starts_with("socket:") || file == Path::new("/dev/null")
    };
    eventually(PATIENCE, "nothing else is open", || {
        let mut open = fs::read_dir(format!("/proc/{front}/fd")).unwrap();
        open.all(is_allowed).then_some(())
    });
    // It costs nobody a test.
    server.tested("tcp -t 200ms");
    drop(foreign);
    let (_, printed) = server.stop();
    assert_says(&printed, &["no_new_privs, system calls filtered"]);
    assert!(!Path::new(&format!("/proc/{front}")).exists());
}

fn a_process_that_is_killed_ends_one_connection() {
    let mut server = Service::at(Ipv4Addr::LOCALHOST.into(), &[]);
    let (mut killed, front) = foreign(&server);
    let pid = Pid::from_raw(front.cast_signed()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    assert_eq!(killed.read(&mut [0]).unwrap_or(0), 0);
    server.tested("tcp -t 200ms");
    foreign(&server);
    server.stop();
}

fn iperf3_clients_are_read_without_privileges() {
    let mut server = Listening::at(IpAddr::from([127, 0, 0, 1]), "");
    let foreign = TcpStream::connect(server.address).unwrap();
    assert_confined(server.id());
    // The threads that read, too.
    for thread in fs::read_dir(format!("/proc/{}/task", server.id())).unwrap() {
        let status = fs::read_to_string(thread.unwrap().path().join("status")).unwrap_or_default();
        let is_filtered = status.is_empty() || status.contains("Seccomp:\t2");
        assert!(is_filtered, "{status}");
    }
    drop(foreign);
    server.stop();
}

fn a_service_keeps_its_rights_for_settings_alone() {
    let mut plain = Service::start();
    for name in ["CapEff:", "CapPrm:", "CapInh:", "CapAmb:", "CapBnd:"] {
        assert_eq!(field(plain.id(), name), "0000000000000000", "{name}");
    }
    assert_eq!(field(plain.id(), "NoNewPrivs:"), "1");
    if has_other_users() {
        assert_eq!(field(plain.id(), "Uid:"), "65534\t65534\t65534\t65534");
    }
    plain.stop();
    let mut may = Service::with(&["--allow-settings", "sysctl"]);
    let capabilities = |pid| field(pid, "CapEff:");
    assert_eq!(capabilities(may.id()), capabilities(std::process::id()));
    drop(foreign(&may));
    let sysctl = "/proc/sys/net/core/somaxconn";
    let before = fs::read_to_string(sysctl).unwrap();
    let mut changing = bitcost(&may.client());
    changing.args(["test", "tcp", &may.link, "-t", "200ms", "--no-log"]);
    changing.args(["--sysctl", "receiver: net.core.somaxconn=5000"]);
    let changed = changing.output().unwrap();
    assert!(changed.status.success(), "{}", said(&changed));
    assert_eq!(fs::read_to_string(sysctl).unwrap(), before);
    may.stop();
}

fn a_confined_process_opens_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    fs::write(&file, "secret").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let attempts = |by: &str| {
        let mut command = Command::new("/proc/self/exe");
        command.args([CONFINED, by]).arg(&file).arg(&port);
        said(&command.stdin(Stdio::null()).output().unwrap())
    };
    assert_eq!(attempts("nothing"), "opens writes connects runs ");
    // A stream of UDP is connected, so that of TCP connections Landlock alone keeps it.
    let landlock = attempts("landlock");
    let (version, left) = landlock.split_once(':').unwrap();
    let denies_connections = version.parse::<u32>().is_ok_and(|version| version >= 4);
    let expected = if denies_connections { "" } else { "connects " };
    assert_eq!(attempts("all"), expected);
    match version.parse::<u32>() {
        Err(_) => eprintln!("skipped: this kernel has no Landlock"),
        Ok(_) => assert_eq!(left, expected),
    }
}

/// Confines this process and prints what it can still do, where it was started for that.
pub fn try_confined(words: &[String]) {
    let [verb, by, file, port] = words else {
        return;
    };
    if verb != CONFINED {
        return;
    }
    match by.as_str() {
        "all" => drop(confine(Also::Traffic).unwrap()),
        "landlock" => {
            rustix::thread::set_no_new_privs(true).unwrap();
            match landlock::deny_all().unwrap() {
                Some(version) => print!("{version}:"),
                None => print!("none:"),
            }
        }
        _ => {}
    }
    let mut text = String::new();
    let opens = fs::File::open(file).and_then(|mut file| file.read_to_string(&mut text));
    let writes = fs::write(file, "other");
    let connects = TcpStream::connect(format!("127.0.0.1:{port}"));
    let runs = Command::new("true").status();
    for (is, what) in [
        (opens.is_ok(), "opens"),
        (writes.is_ok(), "writes"),
        (connects.is_ok(), "connects"),
        (runs.is_ok(), "runs"),
    ] {
        if is {
            print!("{what} ");
        }
    }
    std::process::exit(0);
}
