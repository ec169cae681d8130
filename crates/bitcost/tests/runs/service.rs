//! `bitcost serve`: enrolled clients test, each rule is named, foreign connections take nothing, tests wait for
//! each other, and nothing is left.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use bitcost_testkit::assert_says;
use rustix::process::{Pid, Signal, kill_process};

use crate::privileges::children;
use crate::server::Server;

bitcost_testkit::trials! {
    PrivateNetwork: enrolled_client_tests_each_way, each_rule_is_named, foreign_connections_take_nothing,
        tests_wait_for_their_turn, tests_without_cost_do_not_wait, monitoring_is_told, a_client_that_vanishes_leaves_nothing;
}

/// A service at a port that the kernel chose, with its folders.
pub struct Service {
    process: Server,
    /// Its port.
    pub port: u16,
    /// Its first link.
    pub link: String,
    folder: tempfile::TempDir,
}

impl Service {
    /// Starts one at the loopback.
    pub fn start() -> Service {
        Service::with(&[])
    }

    /// Starts one on the loopback.
    pub fn with(options: &[&str]) -> Service {
        Service::at(Ipv4Addr::LOCALHOST.into(), options)
    }

    /// Starts one at this address.
    pub fn at(address: IpAddr, options: &[&str]) -> Service {
        let folder = tempfile::tempdir().unwrap();
        let mut process = Server::start(
            bitcost(&folder.path().join("client"))
                .args(["serve", &format!("{address}:0"), "--state"])
                .arg(folder.path().join("service"))
                .args(options),
        );
        let lines = [(); 3].map(|()| process.line()).concat();
        Service {
            port: after(&lines, "port ").parse().expect(&lines),
            link: format!("bitcost://{}", after(&lines, "bitcost://")),
            process,
            folder,
        }
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// The state folder of its first client.
    pub fn client(&self) -> PathBuf {
        self.folder.path().join("client")
    }

    /// `bitcost serve keys`.
    fn keys(&self, words: &[&str]) -> String {
        let output = bitcost(&self.client())
            .args(["serve", "keys"])
            .args(words)
            .arg("--state")
            .arg(self.folder.path().join("service"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A link whose key has these rules.
    pub fn link_with(&self, rules: &[&str]) -> String {
        let printed = self.keys(&[&["add"], rules].concat());
        format!("bitcost://{}", after(&printed, "bitcost://"))
    }

    /// Stops the service as systemd does; returns its standard output and standard error.
    pub fn stop(&mut self) -> (String, String) {
        self.process.stop(Signal::TERM)
    }
}

/// The word after a text.
pub fn after<'a>(text: &'a str, before: &str) -> &'a str {
    let (_, rest) = text.split_once(before).expect(text);
    let is_end = |letter: char| letter.is_whitespace() || ",;'".contains(letter);
    &rest[..rest.find(is_end).unwrap_or(rest.len())]
}

/// bitcost of a user with this state folder.
pub fn bitcost(state: &Path) -> Command {
    std::fs::create_dir_all(state).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bitcost"));
    command.env("BITCOST_STATE_DIR", state);
    command
}

/// `bitcost test` of that user.
pub fn test(state: &Path, options: &str) -> Output {
    bitcost(state)
        .args(["test", "--no-log"])
        .args(options.split_whitespace())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// What a program printed.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// The agents of this service that run.
fn agents(server: &Service) -> usize {
    children(server.id(), "agent").len()
}

/// Waits until this is so.
pub fn wait_until(what: &str, is: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !is() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn enrolled_client_tests_each_way() {
    let mut server = Service::start();
    // It outlasts the service.
    let folder = tempfile::tempdir().unwrap();
    let (client, port) = (folder.path().join("client"), server.port);
    let place = format!("service:127.0.0.1:{port}");
    let first = test(&client, &format!("tcp {} -t 300ms", server.link));
    assert!(
        first.status.success() && said(&first).contains("enrolled at"),
        "{}",
        said(&first)
    );
    // Afterwards the host's name is enough.
    for options in [
        "tcp 127.0.0.1 -t 300ms -R",
        "udp 127.0.0.1 -t 300ms -b 20M",
        &format!("rr 127.0.0.1:{port} -t 300ms"),
        "tcp -t 300ms --sender 127.0.0.1 --receiver local -P 2",
        "tcp 127.0.0.1 -n 1M",
    ] {
        let output = test(&client, options);
        let said = said(&output);
        assert!(
            output.status.success() && said.contains(&place),
            "{options}: {said}"
        );
    }
    let listed = server.keys(&[]);
    assert_says(&listed, &["last used", "knobs: none"]);
    // Another user of this machine has another key.
    let other = server.folder.path().join("other");
    let output = test(&other, &format!("tcp {} -t 300ms", server.link));
    assert_eq!(output.status.code(), Some(3));
    assert!(
        said(&output).contains("the link was used"),
        "{}",
        said(&output)
    );
    let fingerprint = listed.split_whitespace().nth(1).unwrap();
    server.keys(&["revoke", &fingerprint[..12]]);
    let output = test(&client, "tcp 127.0.0.1 -t 300ms");
    assert_eq!(output.status.code(), Some(3));
    assert!(
        said(&output).contains("is not enrolled here"),
        "{}",
        said(&output)
    );
    let (printed, _) = server.stop();
    assert!(printed.contains("served 6 runs in 6 sessions"), "{printed}");
    // Where no service answers, ssh is tried.
    let output = test(&client, "tcp 127.0.0.1 -t 300ms --ssh-config /dev/null");
    assert!(said(&output).contains("ssh is used"), "{}", said(&output));
}

fn each_rule_is_named() {
    let mut server = Service::start();
    let client = server.client();
    let link = server.link_with(&[
        "--max-rate",
        "10M",
        "--max-duration",
        "2s",
        "--max-flows",
        "2",
        "--knobs",
        "mtu_bytes",
    ]);
    let output = test(&client, &format!("tcp {link} -t 300ms -b 5M -P 2 -l 1000"));
    assert!(output.status.success(), "{}", said(&output));
    for (options, rule) in [
        (
            "tcp -t 300ms",
            "max-rate is 10000000 bit/s; requested a test without a rate",
        ),
        ("udp -t 300ms -b 6M -P 2", "requested 12000000 bit/s"),
        (
            "tcp -t 3s -b 1M -l 1000",
            "max-duration is 2 s; requested 3.25 s",
        ),
        (
            "tcp -t 300ms -b 1M -P 3 -l 1000",
            "max-flows is 2; requested 3 flows",
        ),
        (
            "tcp -t 300ms -b 9M --offloads off",
            r#"knobs: mtu_bytes; requested "offloads""#,
        ),
        (
            "tcp -t 300ms -b 9M --sysctl net.core.somaxconn=5000",
            r#"requested "sysctl""#,
        ),
        (
            "udp -t 300ms -b 1M -p 700",
            "ports are 1024 and above; requested 700",
        ),
        (
            "tcp -t 300ms -b 9M --receiver-dev eth9",
            r#"interfaces: lo; requested "eth9""#,
        ),
    ] {
        let (workload, rest) = options.split_once(' ').unwrap();
        let output = test(&client, &format!("{workload} {rest} --receiver 127.0.0.1"));
        assert!(
            !output.status.success() && said(&output).contains(rule),
            "{options}: {}",
            said(&output)
        );
    }
    let (_, said) = server.stop();
    assert!(said.contains("max-flows is 2"), "{said}");
}

/// Resident memory in KiB, open descriptors and threads.
fn held(server: &Service) -> (u64, usize, usize) {
    let process = format!("/proc/{}", server.process.id());
    let status = std::fs::read_to_string(format!("{process}/status")).unwrap();
    let descriptors = std::fs::read_dir(format!("{process}/fd")).unwrap().count();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    let resident = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    let threads = std::fs::read_dir(format!("{process}/task"))
        .unwrap()
        .count();
    (resident, descriptors, threads)
}

fn foreign_connections_take_nothing() {
    let mut server = Service::start();
    let client = server.client();
    let output = test(&client, &format!("tcp {} -t 300ms", server.link));
    assert!(output.status.success(), "{}", said(&output));
    let address = SocketAddr::from(([127, 0, 0, 1], server.port));
    let before = held(&server);
    let mut most = before;
    for number in 0..10_000u32 {
        let Ok(mut foreign) = TcpStream::connect(address) else {
            continue;
        };
        match number % 4 {
            0 => drop(foreign.write_all(&number.to_be_bytes())),
            1 => drop(foreign.write_all(&[0x16, 3, 1, 0xFF, 0xFF])),
            2 => drop(foreign.write_all(&[0xAB; 2000])),
            _ => {}
        }
        if number % 500 == 0 {
            let now = held(&server);
            most = (most.0.max(now.0), most.1.max(now.1), most.2.max(now.2));
        }
    }
    // A key and a message of 16 KiB for each of the 64 connections that may be pending.
    assert!(
        most.0 < before.0 + 32 * 1024,
        "{before:?} {most:?} KiB, descriptors, threads"
    );
    assert!(
        most.1 < before.1 + 100,
        "{before:?} {most:?} KiB, descriptors, threads"
    );
    assert!(
        most.2 <= before.2 + 64,
        "{before:?} {most:?} KiB, descriptors, threads"
    );
    // Half-open ones are closed, and an enrolled client is served.
    let silent: Vec<TcpStream> = (0..100)
        .filter_map(|_| TcpStream::connect(address).ok())
        .collect();
    wait_until("half-open connections are closed", || {
        let now = held(&server);
        now.1 <= before.1 && now.2 <= before.2
    });
    let output = test(&client, "tcp 127.0.0.1 -t 300ms");
    assert!(output.status.success(), "{}", said(&output));
    drop(silent);
    server.stop();
}

/// Two enrolled clients.
fn alice_and_bob(server: &Service) -> [PathBuf; 2] {
    let names = ["alice", "bob"];
    names.map(|name| {
        let state = server.folder.path().join(name);
        let link = server.link_with(&["--name", name, "--knobs", "offloads"]);
        let output = test(&state, &format!("tcp {link} -t 200ms"));
        assert!(output.status.success(), "{}", said(&output));
        state
    })
}

/// A test that takes some seconds and has the host.
fn long_test(server: &Service, state: &Path) -> Child {
    let child = bitcost(state)
        .args(["test", "tcp", "127.0.0.1", "-t", "4s", "--no-log"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("it has the host", || agents(server) == 1);
    child
}

fn tests_without_cost_do_not_wait() {
    let mut server = Service::with(&["--max-no-cost", "1"]);
    let [alice, bob] = alice_and_bob(&server);
    let mut first = long_test(&server, &alice);
    let output = test(&bob, "tcp 127.0.0.1 -t 300ms --no-cost --json");
    assert!(output.status.success(), "{}", said(&output));
    assert!(first.try_wait().unwrap().is_none(), "alice's test was over");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("throughput_mbps"), "{text}");
    for cost in ["service_demand", "cpu_pct", "cpus_used"] {
        assert!(!text.contains(cost), "{cost}: {text}");
    }
    let output = test(&bob, "tcp 127.0.0.1 -t 300ms --no-cost --offloads off");
    let refused = said(&output);
    assert!(!output.status.success(), "{refused}");
    assert!(
        refused.contains(r#"requested the setting "offloads""#),
        "{refused}"
    );
    assert!(first.wait().unwrap().success());
    server.stop();
    // A service may let them wait as others do.
    let mut server = Service::with(&["--max-no-cost", "0"]);
    let [alice, bob] = alice_and_bob(&server);
    let mut first = long_test(&server, &alice);
    let waited = said(&test(&bob, "tcp 127.0.0.1 -t 300ms --no-cost"));
    assert!(waited.contains("for alice's test"), "{waited}");
    assert!(first.wait().unwrap().success());
    server.stop();
}

/// The figures for monitoring at this port.
pub fn metrics(port: u16) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn monitoring_is_told() {
    let mut server = Service::with(&["--metrics", ":9753"]);
    let line = |name: &str, labels: &str, value: &str| {
        format!("{name}{{service=\"bitcost\"{labels}}} {value}\n")
    };
    let before = metrics(9753);
    for name in ["refused_total", "tests_running", "tests_waiting"] {
        let expected = line(&format!("bitcost_{name}"), "", "0");
        assert!(before.contains(&expected), "{expected}: {before}");
    }
    let [alice, bob] = alice_and_bob(&server);
    let mut first = long_test(&server, &alice);
    assert!(metrics(9753).contains(&line("bitcost_tests_running", "", "1")));
    let second = bitcost(&bob)
        .args(["test", "udp", "127.0.0.1", "-t", "300ms", "-R", "--no-log"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    wait_until("bob waits", || {
        metrics(9753).contains(&line("bitcost_tests_waiting", "", "1"))
    });
    assert!(first.wait().unwrap().success() && second.unwrap().wait().unwrap().success());
    let refused = test(
        &bob,
        "tcp 127.0.0.1 -t 300ms --sysctl net.core.somaxconn=5000",
    );
    assert!(!refused.status.success());
    let complete = line(
        "bitcost_tests_total",
        ",test=\"udp\",result=\"complete\"",
        "1",
    );
    wait_until("bob's test is counted", || {
        metrics(9753).contains(&complete)
    });
    let after = metrics(9753);
    for expected in [
        line(
            "bitcost_tests_total",
            ",test=\"tcp\",result=\"complete\"",
            "3",
        ),
        line("bitcost_refused_by_rule_total", ",rule=\"knobs\"", "1"),
        line("bitcost_tests_running", "", "0"),
    ] {
        assert!(after.contains(&expected), "{expected}: {after}");
    }
    let last = |name: &str, peer: &str| {
        let start = format!("bitcost_last_test_{name}{{service=\"bitcost\",peer=\"{peer}\",key=");
        after.lines().any(|found| found.starts_with(&start))
    };
    assert!(last("received_bits_per_second", "alice"), "{after}");
    assert!(last("sent_bits_per_second", "bob"), "{after}");
    assert!(!last("received_bits_per_second", "bob"), "{after}");
    server.stop();
}

fn tests_wait_for_their_turn() {
    let mut server = Service::start();
    let [alice, bob] = alice_and_bob(&server);
    let mut first = long_test(&server, &alice);
    let second = test(&bob, "tcp 127.0.0.1 -t 300ms");
    let waited = said(&second);
    assert!(second.status.success(), "{waited}");
    assert_says(&waited, &["for alice's test", "position 1 in the queue"]);
    assert!(first.wait().unwrap().success());
    let (printed, _) = server.stop();
    let order: Vec<&str> = printed
        .lines()
        .filter(|line| line.contains("begins"))
        .collect();
    assert!(order.last().unwrap().contains("bob begins"), "{printed}");
}

fn a_client_that_vanishes_leaves_nothing() {
    let mut server = Service::start();
    let client = server.client();
    let output = test(&client, &format!("tcp {} -t 200ms", server.link));
    assert!(output.status.success(), "{}", said(&output));
    let start = || {
        bitcost(&client)
            .args(["test", "tcp", "127.0.0.1", "-t", "30s", "--no-log"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut killed = start();
    wait_until("the test runs", || agents(&server) == 1);
    killed.kill().unwrap();
    killed.wait().unwrap();
    wait_until("its agent ends", || agents(&server) == 0);
    // The service stops in the middle of a test: the client says why, and no process stays.
    let mut client = start();
    wait_until("the test runs", || agents(&server) == 1);
    let service = server.process.id();
    let (printed, _) = server.stop();
    assert_says(&printed, &["the service is being stopped"]);
    let parent = format!("PPid:\t{service}\n");
    let left = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let status = std::fs::read_to_string(entry.ok()?.path().join("status")).ok()?;
        status.contains(&parent).then_some(status)
    });
    assert_eq!(left.count(), 0);
    kill_process(Pid::from_child(&client), Signal::INT).unwrap();
    assert!(!client.wait().unwrap().success());
}
