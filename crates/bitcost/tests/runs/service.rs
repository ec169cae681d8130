//! `bitcost serve`: whoever has the link tests, each rule is named, foreign connections take nothing, tests wait for
//! each other, and nothing is left.

use crate::agent_process::AgentProcess;
use crate::bench::*;
use crate::privileges::children;
use crate::server::Server;
use bitcost_testkit::gap::{DEVICE, Gap, Host};
use std::net::Ipv6Addr;

bitcost_testkit::trials! {
    PrivateNetwork: one_link_and_one_command_at_each_host, each_rule_is_named, foreign_connections_take_nothing,
        tests_wait_for_their_turn, a_client_that_vanishes_leaves_nothing,
        data_arrive_over_ipv6_at_all_addresses, data_and_control_come_from_one_place,
        an_address_of_one_link_is_reached_by_its_interface;
}

/// A service at a port that the kernel chose, with its folder.
pub struct Service {
    process: Server,
    pub port: u16,
    pub link: String,
    folder: tempfile::TempDir,
}

impl Service {
    pub fn start() -> Service {
        Service::with(&[])
    }

    /// Starts one on the loopback.
    pub fn with(options: &[&str]) -> Service {
        Service::at(Ipv4Addr::LOCALHOST.into(), options)
    }

    pub fn at(address: IpAddr, options: &[&str]) -> Service {
        Service::of(tempfile::tempdir().unwrap(), address, options, |_| {})
    }

    /// Starts one at the address of a host.
    pub fn on(host: &Host) -> Service {
        let folder = tempfile::tempdir().unwrap();
        Service::of(folder, host.address.into(), &[], |command| {
            host.put(command);
        })
    }

    pub fn of(
        folder: tempfile::TempDir,
        address: IpAddr,
        options: &[&str],
        put: impl FnOnce(&mut Command),
    ) -> Service {
        let mut command = bitcost(&folder.path().join("client"));
        command
            .args(["serve", &SocketAddr::new(address, 0).to_string(), "--state"])
            .arg(folder.path().join("service"))
            .args(options);
        put(&mut command);
        let mut process = Server::start(&mut command);
        let lines = [(); 2].map(|()| process.line()).concat();
        Service {
            port: after(&lines, "port ").parse().expect(&lines),
            link: format!("bitcost://{}", after(&lines, "bitcost://")),
            process,
            folder,
        }
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn client(&self) -> PathBuf {
        self.folder.path().join("client")
    }

    /// `bitcost test WORKLOAD LINK …`.
    pub fn test(&self, words: &str) -> Output {
        let (workload, rest) = words.split_once(' ').unwrap();
        test(&self.client(), &format!("{workload} {} {rest}", self.link))
    }

    /// Makes a test, which must succeed; returns what it prints.
    #[track_caller]
    pub fn tested(&self, words: &str) -> String {
        let output = self.test(words);
        let said = said(&output);
        assert!(output.status.success(), "{words}: {said}");
        said
    }

    /// What a client with the link says instead of a bitcost.
    pub fn speaking(&self) -> AgentProcess {
        let link = ("BITCOST_LINK", &self.link);
        let mut command = bitcost(&self.client());
        AgentProcess::start(
            command
                .args(["agent", "--at-service", "{}"])
                .env(link.0, link.1),
        )
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
    fs::create_dir_all(state).unwrap();
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

fn agents(server: &Service) -> usize {
    children(server.id(), "agent").len()
}

/// Waits until this is so.
pub fn wait_until(what: &str, is: impl Fn() -> bool) {
    eventually(PATIENCE, what, || {
        thread::sleep(Duration::from_millis(10));
        is().then_some(())
    });
}

fn one_link_and_one_command_at_each_host() {
    let mut server = Service::start();
    let place = format!("service:127.0.0.1:{}", server.port);
    for options in ["tcp -t 300ms", "udp -t 300ms -b 20M", "tcp -n 1M"] {
        assert_says(&server.tested(options), &[&place]);
    }
    let link = server.link.clone();
    let sends = format!("tcp -t 300ms --sender {link} --receiver local -P 2");
    let output = test(&server.client(), &sends);
    assert!(output.status.success(), "{}", said(&output));
    // What a test keeps is without the secret.
    let kept = server.folder.path().join("kept");
    fs::create_dir(&kept).unwrap();
    let logged = bitcost(&server.client())
        .args(["test", "tcp", &link, "-t", "300ms", "--json"])
        .current_dir(&kept)
        .output()
        .unwrap();
    assert!(logged.status.success(), "{}", said(&logged));
    let secret = link.rsplit_once('.').unwrap().1;
    assert!(
        !said(&logged).contains(secret),
        "the document has the secret"
    );
    assert!(fs::read_dir(&kept).unwrap().count() > 0);
    let mut grep = Command::new("grep");
    let has_secret = grep.args(["-rqF", secret]).arg(&kept).status();
    assert_eq!(has_secret.unwrap().code(), Some(1));
    let (printed, _) = server.stop();
    assert!(printed.contains("served 5 tests"), "{printed}");
    // The link stays the same, until another one is requested.
    let mut again = Service::of(server.folder, Ipv4Addr::LOCALHOST.into(), &[], |_| {});
    let secrets = |link: &str| link.split_once('#').unwrap().1.to_owned();
    assert_eq!(secrets(&again.link), secrets(&link));
    again.stop();
    let new = Service::of(
        again.folder,
        Ipv4Addr::LOCALHOST.into(),
        &["--new-link"],
        |_| {},
    );
    let old = format!("bitcost://127.0.0.1:{}/#{}", new.port, secrets(&link));
    let mut wrong = new.link.clone();
    wrong.replace_range(wrong.len() - 4..wrong.len() - 1, "AAA");
    let refusal = "the link is not the one of this service";
    for (link, why) in [(old, "its key is not"), (wrong, refusal)] {
        let output = test(&new.client(), &format!("tcp {link} -t 300ms"));
        assert_eq!(output.status.code(), Some(3));
        assert_says(&said(&output), &[why]);
    }
    new.tested("tcp -t 300ms");
}

fn each_rule_is_named() {
    let mut server = Service::with(&split(
        "--max-rate 10M --max-duration 2s --max-flows 2 --allow-settings mtu_bytes",
    ));
    server.tested("tcp -t 300ms -b 5M -P 2 -l 1000");
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
            r#"allow-settings: mtu_bytes; requested "offloads""#,
        ),
    ] {
        let output = server.test(options);
        let is_named = !output.status.success() && said(&output).contains(rule);
        assert!(is_named, "{options}: {}", said(&output));
    }
    let (_, said) = server.stop();
    assert!(said.contains("max-flows is 2"), "{said}");
}

/// Resident memory in KiB, open descriptors and threads.
fn held(server: &Service) -> (u64, usize, usize) {
    let process = format!("/proc/{}", server.process.id());
    let status = fs::read_to_string(format!("{process}/status")).unwrap();
    let count = |name| fs::read_dir(format!("{process}/{name}")).unwrap().count();
    let (_, resident) = status.split_once("VmRSS:").unwrap();
    let resident = resident.split_whitespace().next().unwrap();
    (resident.parse().unwrap(), count("fd"), count("task"))
}

fn foreign_connections_take_nothing() {
    let mut server = Service::start();
    server.tested("tcp -t 300ms");
    let address = SocketAddr::from(([127, 0, 0, 1], server.port));
    let before = held(&server);
    let mut most = before;
    for number in 0..1_000u32 {
        let Ok(mut foreign) = TcpStream::connect(address) else {
            continue;
        };
        match number % 4 {
            0 => drop(foreign.write_all(&number.to_be_bytes())),
            1 => drop(foreign.write_all(&[0x16, 3, 1, 0xFF, 0xFF])),
            2 => drop(foreign.write_all(&[0xAB; 2000])),
            _ => {}
        }
        if number % 50 == 0 {
            let now = held(&server);
            most = (most.0.max(now.0), most.1.max(now.1), most.2.max(now.2));
        }
    }
    // A socket, a channel and a thread for each of the 128 connections that may be pending.
    assert!(
        most.0 < before.0 + 32 * 1024 && most.1 < before.1 + 4 * 144 && most.2 <= before.2 + 144,
        "{before:?} {most:?} KiB, descriptors, threads"
    );
    // Half-open ones are closed, and a client is served.
    let silent = (0..100).map(|_| TcpStream::connect(address).ok());
    let silent: Vec<Option<TcpStream>> = silent.collect();
    wait_until("half-open connections are closed", || {
        let now = held(&server);
        now.1 <= before.1 && now.2 <= before.2
    });
    server.tested("tcp -t 300ms");
    drop(silent);
    server.stop();
}

/// A test of this length that has the host.
fn long_test(server: &Service, length: &str) -> Child {
    let child = quietly(&server.client(), &["tcp", &server.link, "-t", length]);
    wait_until("it has the host", || agents(server) == 1);
    child
}

/// `bitcost test` of a user with this state folder, whose output nobody reads.
pub fn quietly(state: &Path, words: &[&str]) -> Child {
    let mut command = bitcost(state);
    command.args(["test", "--no-log"]).args(words);
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

fn tests_wait_for_their_turn() {
    let mut server = Service::start();
    let mut first = long_test(&server, "4s");
    let second = server.test("tcp -t 300ms");
    let waited = said(&second);
    assert!(second.status.success(), "{waited}");
    assert!(waited.contains("another test has the host"), "{waited}");
    assert!(first.wait().unwrap().success());
    server.stop();
}

fn a_client_that_vanishes_leaves_nothing() {
    let mut server = Service::start();
    let mut killed = long_test(&server, "30s");
    killed.kill().unwrap();
    killed.wait().unwrap();
    wait_until("its agent ends", || agents(&server) == 0);
    // The service stops in the middle of a test: the client says why, and no process stays.
    let mut client = long_test(&server, "30s");
    let service = server.process.id();
    let (printed, _) = server.stop();
    assert_says(&printed, &["the service is being stopped"]);
    let parent = format!("PPid:\t{service}\n");
    let left = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let status = fs::read_to_string(entry.ok()?.path().join("status")).ok()?;
        status.contains(&parent).then_some(status)
    });
    assert_eq!(left.count(), 0);
    kill_process(Pid::from_child(&client), Signal::INT).unwrap();
    assert!(!client.wait().unwrap().success());
}

fn data_arrive_over_ipv6_at_all_addresses() {
    let mut service = Service::at(Ipv6Addr::UNSPECIFIED.into(), &[]);
    let (_, secret) = service.link.split_once("/#").unwrap();
    service.link = format!("bitcost://[::1]:{}/#{secret}", service.port);
    service.tested("tcp -t 300ms");
}

fn data_and_control_come_from_one_place() {
    let mut rtnl = Rtnl::open().unwrap();
    let loopback = rtnl.link("lo").unwrap().index;
    let own = "fd00::9".parse().unwrap();
    rtnl.add_address(loopback, own, 128).unwrap();
    let service = Service::start();
    for options in ["tcp -t 300ms", "tcp -t 300ms -R", "udp -t 300ms -b 2M"] {
        let bound = format!("{options} -B 127.0.0.9%lo");
        assert_says(&service.tested(&bound), &["sender at local, lo 127.0.0.9"]);
    }
    service.tested("tcp -t 300ms -B %lo");
    let sends = format!(
        "tcp -t 300ms --sender {} --receiver-address 127.0.0.9",
        service.link
    );
    let output = test(&service.client(), &sends);
    assert!(output.status.success(), "{}", said(&output));
    for (place, why) in [
        (
            "-B 192.0.2.1",
            ": this host cannot bind to 192.0.2.1, which must be one of its addresses",
        ),
        (
            "--sender-device eth9",
            ": this host cannot bind to the interface `eth9`",
        ),
    ] {
        let output = service.test(&format!("tcp -t 300ms {place}"));
        assert_eq!(output.status.code(), Some(3));
        assert_says(&said(&output), &[why]);
    }
    drop(service);
    let mut service = Service::at(own, &[]);
    service.tested("udp -t 300ms -b 2M -B fd00::9");
    service.stop();
}

/// Gives an interface this address of its link.
fn on_link(device: &str, address: &str) {
    let conf = format!("/proc/sys/net/ipv6/conf/{device}");
    // No address of its own choice, no detection of duplicates.
    for (name, value) in [
        ("addr_gen_mode", "1"),
        ("accept_dad", "0"),
        ("disable_ipv6", "0"),
    ] {
        fs::write(format!("{conf}/{name}"), value).unwrap();
    }
    let mut rtnl = Rtnl::open().unwrap();
    let index = rtnl.link(device).unwrap().index;
    rtnl.add_address(index, address.parse().unwrap(), 64)
        .unwrap();
}

fn an_address_of_one_link_is_reached_by_its_interface() {
    let gap = Gap::new(1500);
    let [other, near] = &gap.names;
    on_link(near, "fe80::1");
    on_link(other, "fe80::3");
    gap.hosts[1].run(|| on_link(DEVICE, "fe80::2"));
    let folder = tempfile::tempdir().unwrap();
    let any = Ipv6Addr::UNSPECIFIED.into();
    let mut service = Service::of(folder, any, &[], |command| gap.hosts[1].put(command));
    let (_, secret) = service.link.split_once("/#").unwrap();
    let link = |device: &str| format!("bitcost://[fe80::2%{device}]:{}/#{secret}", service.port);
    let (absent, sends) = (link("eth9"), link(near));
    service.link = link(near);
    let ends = format!("sender at local, {near} fe80::1; receiver at service:[fe80::2%{near}]");
    for options in [
        "tcp -t 300ms --bidir -P 2",
        "udp -t 300ms -b 2M -P 2",
        "udp -t 300ms -b 2M -R",
        "crr -t 300ms",
    ] {
        assert_says(&service.tested(options), &[&ends]);
    }
    let sends = format!("tcp -t 300ms --sender {sends} --receiver local");
    let output = test(&service.client(), &sends);
    assert!(output.status.success(), "{}", said(&output));
    let output = test(&service.client(), &format!("tcp {absent}"));
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert_says(
        &said(&output),
        &[": this host cannot bind to the interface `eth9`"],
    );
    // Both endpoints at this host.
    let here = format!("tcp -t 300ms --receiver local --receiver-address fe80::1%{near}");
    let output = test(&service.client(), &here);
    assert!(output.status.success(), "{}", said(&output));
}
