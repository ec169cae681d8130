//! Hostile clients of `bitcost serve`: others are served meanwhile, and its memory stays bounded.

use crate::bench::*;
use std::fs::File;
use std::io::pipe;
use std::process::ChildStdin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use bitcost_model::protocol::encode;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};

use crate::privileges::children;
use crate::server::Owned;
use crate::service::{Service, after, bitcost, quietly, said, test, wait_until};

bitcost_testkit::trials! {
    PrivateNetwork: silent_connections_of_many_addresses_keep_nobody_out, output_on_a_full_disk_ends_no_test,
        output_that_nobody_reads_any_more_ends_no_test, refused_messages_take_no_memory, eight_clients_that_wait_vanish_at_once,
        what_is_said_in_the_queue_is_bounded, what_a_client_leaves_unread_is_bounded;
}

/// The most memory that a service may take under an attack, in KiB.
const RESIDENT_KIB_MAX: u64 = 64 << 10;

/// Most connections that an attacker tries to hold from one address.
const OF_ADDRESS: usize = 40;

/// Most that it tries to hold from all: half of the files that a process may have open by default.
const HELD: usize = 512;

/// The most memory that a process has had resident so far, in KiB (`VmHWM`, proc_pid_status(5));
/// absent where it has ended.
fn resident_max(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Fails where the service, or what reads the words of its clients, has taken too much memory.
fn assert_small(server: &Service) {
    let fronts = children(server.id(), "serve-front").into_iter();
    for process in fronts.chain([server.id()]) {
        // One may have ended.
        let resident = resident_max(process).unwrap_or_default();
        assert!(resident < RESIDENT_KIB_MAX, "{process}: {resident} KiB");
    }
}

/// A connection from this address, which says nothing.
fn silent(from: Ipv4Addr, port: u16) -> std::io::Result<TcpStream> {
    let socket = socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    bind(&socket, &SocketAddr::from((from, 0)))?;
    connect(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(true)?;
    Ok(stream)
}

/// Holds as many silent connections as it can from each of these addresses, until it is stopped:
/// one that is ended is opened again.
fn hold(port: u16, addresses: u8, stop: Arc<AtomicBool>) -> JoinHandle<()> {
    let is_open = |stream: &mut TcpStream| {
        let read = stream.read(&mut [0]);
        matches!(read, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
    };
    std::thread::spawn(move || {
        let mut held: Vec<Vec<TcpStream>> = (0..addresses).map(|_| Vec::new()).collect();
        while !stop.load(Ordering::Relaxed) {
            for (number, of_address) in held.iter_mut().enumerate() {
                of_address.retain_mut(is_open);
                if of_address.len() < OF_ADDRESS.min(HELD / usize::from(addresses)) {
                    let from = Ipv4Addr::new(127, 9, 0, number as u8 + 1);
                    of_address.extend(silent(from, port));
                }
            }
            // The machine is for the others, too.
            std::thread::sleep(Duration::from_millis(5));
        }
    })
}

fn silent_connections_of_many_addresses_keep_nobody_out() {
    let mut server = Service::start();
    for addresses in [4, 64] {
        let stop = Arc::new(AtomicBool::new(false));
        let attack = hold(server.port, addresses, stop.clone());
        server.tested("tcp -n 1M");
        stop.store(true, Ordering::Relaxed);
        attack.join().unwrap();
    }
    assert_small(&server);
    let (_, errors) = server.stop();
    assert!(errors.contains("when its place was needed"), "{errors}");
}

fn refused_messages_take_no_memory() {
    let mut server = Service::start();
    let path = encode(&ToAgent::Describe {
        device: "../".repeat(10_000),
    });
    let refused = path.unwrap().repeat(100);
    for _ in 0..10 {
        let mut hostile = server.speaking();
        (0..20).for_each(|_| hostile.write(&refused));
        // The last sentence may be lost with what the service did not read.
        let next = || hostile.output.recv_timeout(PATIENCE).ok();
        let answers: Vec<FromAgent> = std::iter::from_fn(next).collect();
        let is_refusal = |answer: &&FromAgent| matches!(answer, FromAgent::Failed { reason, .. } if reason.contains("interface: lo"));
        assert!((1..=64).contains(&answers.iter().filter(is_refusal).count()));
        assert_small(&server);
        drop(hostile.input.take());
        hostile.child.wait().unwrap();
    }
    server.tested("tcp -n 1M");
    assert_small(&server);
    let (printed, errors) = server.stop();
    assert!(errors.contains("interface: lo"), "{errors}");
    assert_says(&printed, &["more than 64 messages were refused"]);
}

fn eight_clients_that_wait_vanish_at_once() {
    let mut server = Service::start();
    let of_a_minute = ["udp", &server.link, "-b", "1M", "-t", "1min"];
    let clients = (0..9).map(|_| quietly(&server.client(), &of_a_minute));
    let mut clients: Vec<Child> = clients.collect();
    let agents = || children(server.id(), "agent").len();
    let fronts = || children(server.id(), "serve-front").len();
    wait_until("one has the host and eight wait", || {
        agents() == 1 && fronts() == 9
    });
    // One more is told to come later.
    let refused = server.test("tcp -n 1M");
    assert_says(&said(&refused), &["try again later"]);
    clients.iter_mut().for_each(|client| client.kill().unwrap());
    for mut client in clients {
        client.wait().unwrap();
    }
    wait_until("all of them end", || agents() == 0 && fronts() == 0);
    server.tested("tcp -n 1M");
    assert_small(&server);
    server.stop();
}

/// How many bytes a process has taken of these, said again and again, when it takes no more for a second, or `most`. It has
/// taken `before` already.
fn taken(input: &ChildStdin, bytes: &[u8], before: usize, most: usize) -> usize {
    let second = Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    let has_room = || {
        let mut fds = [PollFd::new(input, PollFlags::OUT)];
        poll(&mut fds, Some(&second)).unwrap();
        fds[0].revents() == PollFlags::OUT
    };
    let mut taken = before;
    while taken < most && has_room() {
        taken += rustix::io::write(input, &bytes[taken % bytes.len()..]).unwrap();
    }
    taken
}

/// A client that says whatever comes on its standard input, which does not block, to this service.
fn carrying(server: &Service, output: Stdio) -> (Child, ChildStdin) {
    let mut process = bitcost(&server.client())
        .args(["agent", "--at-service", "{}"])
        .env("BITCOST_LINK", &server.link)
        .stdin(Stdio::piped())
        .stdout(output)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let input = process.stdin.take().unwrap();
    let flags = fcntl_getfl(&input).unwrap();
    fcntl_setfl(&input, flags | OFlags::NONBLOCK).unwrap();
    (process, input)
}

fn what_is_said_in_the_queue_is_bounded() {
    let mut server = Service::start();
    let first = server.speaking();
    wait_until("it has the host", || {
        children(server.id(), "agent").len() == 1
    });
    let (mut second, input) = carrying(&server, Stdio::null());
    let many = encode(&ToAgent::Renew).unwrap().repeat(1000);
    let held = taken(&input, &many, 0, 8 << 20);
    assert!(held < 8 << 20);
    let resident = resident_max(second.id()).unwrap();
    assert!(resident < RESIDENT_KIB_MAX, "{resident} KiB");
    // It has the host next, and what it said is passed on.
    drop(first.input);
    let more = held + (1 << 20);
    assert!(taken(&input, &many, held, more) >= more);
    drop(input);
    assert!(second.wait().unwrap().success());
    assert_small(&server);
    server.stop();
}

fn what_a_client_leaves_unread_is_bounded() {
    let mut server = Service::start();
    let (mut hostile, input) = carrying(&server, Stdio::piped());
    let questions = encode(&ToAgent::Clock).unwrap().repeat(1000);
    assert!(taken(&input, &questions, 0, 64 << 20) < 64 << 20);
    assert_small(&server);
    for agent in children(server.id(), "agent") {
        let resident = resident_max(agent).unwrap_or_default();
        assert!(resident < RESIDENT_KIB_MAX, "{resident} KiB");
    }
    hostile.kill().unwrap();
    hostile.wait().unwrap();
    server.tested("tcp -n 1M");
    server.stop();
}

/// A service whose output goes here, its folder, and its link, which another start has printed.
fn printing_to(output: Stdio, errors: Stdio) -> (Owned, tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let serve = |output: Stdio, errors: Stdio| {
        let process = bitcost(folder.path())
            .args(["serve", "127.0.0.1", "--state"])
            .arg(folder.path().join("service"))
            .stdout(output)
            .stderr(errors)
            .spawn();
        let process = Owned(process.unwrap());
        wait_until("it serves", || {
            TcpStream::connect((Ipv4Addr::LOCALHOST, 7351)).is_ok()
        });
        process
    };
    let mut first = serve(Stdio::piped(), Stdio::null());
    kill_process(Pid::from_child(&first.0), Signal::TERM).unwrap();
    let mut printed = String::new();
    let mut stdout = first.0.stdout.take().unwrap();
    stdout.read_to_string(&mut printed).unwrap();
    assert!(first.0.wait().unwrap().success());
    let link = format!("bitcost://{}", after(&printed, "bitcost://"));
    let process = serve(output, errors);
    (process, folder, link)
}

/// Has tests made, in the middle of one of which `vanish` takes place; the service ends well.
fn assert_serves(
    (mut process, folder, link): (Owned, tempfile::TempDir, String),
    vanish: impl FnOnce(),
) {
    let mut long = quietly(folder.path(), &["tcp", &link, "-t", "2s"]);
    wait_until("a test takes place", || {
        children(process.0.id(), "agent").len() == 1
    });
    vanish();
    let output = test(folder.path(), &format!("tcp {link} -n 1M"));
    assert!(output.status.success(), "{}", said(&output));
    assert!(long.wait().unwrap().success());
    kill_process(Pid::from_child(&process.0), Signal::TERM).unwrap();
    assert!(process.0.wait().unwrap().success());
}

fn output_on_a_full_disk_ends_no_test() {
    let full = || {
        let file = File::options().write(true).open("/dev/full");
        Stdio::from(file.unwrap())
    };
    assert_serves(printing_to(full(), full()), || {});
}

fn output_that_nobody_reads_any_more_ends_no_test() {
    let (reader, writer) = pipe().unwrap();
    let serving = printing_to(writer.into(), Stdio::null());
    assert_serves(serving, || drop(reader));
}
