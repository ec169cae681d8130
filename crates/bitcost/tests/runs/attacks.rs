//! Hostile clients of `bitcost serve`: others are served meanwhile, and its memory stays bounded.

use std::fs::File;
use std::io::{Read, pipe};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};
use rustix::process::{Pid, Signal, kill_process};

use crate::service::{Service, after, bitcost, metrics, said, test, wait_until};

bitcost_testkit::trials! {
    PrivateNetwork: silent_connections_of_many_addresses_keep_nobody_out, output_on_a_full_disk_ends_no_test,
        output_that_nobody_reads_any_more_ends_no_test;
}

/// The most memory that a service may take under an attack, in KiB.
const RESIDENT_KIB_MAX: u64 = 64 << 10;

/// Most connections that an attacker tries to hold from one address.
const OF_ADDRESS: usize = 40;

/// The most memory that a process has had resident so far, in KiB (`VmHWM`, proc_pid_status(5)).
fn resident_max(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let mut words = line.unwrap().split_whitespace();
    words.nth(1).unwrap().parse().unwrap()
}

/// Fails where the service has taken too much memory.
fn assert_small(server: &Service) {
    let resident = resident_max(server.id());
    assert!(resident < RESIDENT_KIB_MAX, "{resident} KiB");
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
                if of_address.len() < OF_ADDRESS {
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
    let client = server.client();
    let output = test(&client, &format!("tcp {} -n 1M", server.link));
    assert!(output.status.success(), "{}", said(&output));
    for (addresses, tests) in [(4, 2), (5, 2), (8, 2), (64, 10)] {
        let stop = Arc::new(AtomicBool::new(false));
        let attack = hold(server.port, addresses, stop.clone());
        for number in 1..=tests {
            let output = test(&client, "tcp 127.0.0.1 -n 1M --no-cost");
            assert!(
                output.status.success(),
                "{addresses} addresses, test {number}: {}",
                said(&output)
            );
        }
        stop.store(true, Ordering::Relaxed);
        attack.join().unwrap();
    }
    assert_small(&server);
    let (_, errors) = server.stop();
    assert!(errors.contains("when its place was needed"), "{errors}");
}

/// A service whose output goes here, and its folder.
fn printing_to(output: Stdio, errors: Stdio) -> (Child, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let process = bitcost(folder.path())
        .args(["serve", "127.0.0.1", "--metrics", ":9753", "--state"])
        .arg(folder.path().join("service"))
        .stdout(output)
        .stderr(errors)
        .spawn()
        .unwrap();
    wait_until("it serves", || {
        TcpStream::connect((Ipv4Addr::LOCALHOST, 7351)).is_ok()
    });
    (process, folder)
}

/// Has tests made, in the middle of one of which `vanish` takes place; what was not printed is
/// counted, and the service ends well.
fn assert_serves(mut process: Child, folder: &tempfile::TempDir, vanish: impl FnOnce()) {
    let keys = bitcost(folder.path())
        .args(["serve", "keys", "add", "--state"])
        .arg(folder.path().join("service"))
        .output()
        .unwrap();
    let printed = String::from_utf8(keys.stdout).unwrap();
    let link = format!("bitcost://{}", after(&printed, "bitcost://"));
    let output = test(folder.path(), &format!("tcp {link} -n 1M"));
    assert!(output.status.success(), "{}", said(&output));
    let mut long = bitcost(folder.path())
        .args(["test", "tcp", "127.0.0.1", "-t", "2s", "--no-log"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("a test takes place", || {
        metrics(9753).contains("bitcost_tests_running{service=\"bitcost\"} 1")
    });
    vanish();
    let output = test(folder.path(), "tcp 127.0.0.1 -n 1M --no-cost");
    assert!(output.status.success(), "{}", said(&output));
    assert!(long.wait().unwrap().success());
    wait_until("lines are counted", || {
        !metrics(9753).contains("bitcost_unprinted_lines_total 0\n")
    });
    kill_process(Pid::from_child(&process), Signal::TERM).unwrap();
    assert!(process.wait().unwrap().success());
}

fn output_on_a_full_disk_ends_no_test() {
    let full = || {
        let file = File::options().write(true).open("/dev/full");
        Stdio::from(file.unwrap())
    };
    let (process, folder) = printing_to(full(), full());
    assert_serves(process, &folder, || {});
}

fn output_that_nobody_reads_any_more_ends_no_test() {
    let (reader, writer) = pipe().unwrap();
    let (process, folder) = printing_to(writer.into(), Stdio::null());
    assert_serves(process, &folder, || drop(reader));
}
