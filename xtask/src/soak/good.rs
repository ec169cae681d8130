//! Clients that keep to the protocol: enrolled ones, stock iperf3, some that vanish in the middle of
//! a test, and some that no key lets in.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use super::clients::Clients;
use super::servers::Server;

/// Tests of an enrolled client, in turn.
const TESTS: [&str; 6] = [
    "tcp 127.0.0.1 -t 200ms -b 200M",
    "udp 127.0.0.1 -t 200ms -b 20M --no-cost",
    "tcp 127.0.0.1 -t 200ms -R -P 4 -b 50M",
    "rr 127.0.0.1 -t 200ms --no-cost",
    "udp 127.0.0.1 -t 200ms -b 20M -R",
    "tcp 127.0.0.1 -n 1MB --both",
];

/// Tests of stock iperf3, in turn.
const STOCK: [&str; 5] = [
    "-t 1 -b 50M",
    "-u -t 1 -b 8M",
    "-t 1 -b 50M -R -P 4",
    "-u -t 1 -b 8M --bidir",
    "-n 1000000",
];

/// `bitcost test` of a user with this state folder.
pub fn bitcost(program: &Path, state: &Path, words: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env("BITCOST_STATE_DIR", state)
        .args(["test", "--no-log"])
        .args(words.split_whitespace())
        .stdin(Stdio::null());
    command
}

/// Tests one after the other.
pub fn of_service(clients: &Clients, program: &Path, state: &Path) {
    let mut tests = TESTS.iter().cycle();
    while clients.goes_on() {
        let Some(test) = tests.next() else { return };
        let output = bitcost(program, state, test).output();
        match output {
            Ok(output) if output.status.success() => clients.good.fetch_add(1, Relaxed),
            Ok(output) => {
                println!("{test}: {}", String::from_utf8_lossy(&output.stderr));
                clients.good_failed.fetch_add(1, Relaxed)
            }
            Err(error) => {
                println!("{test}: {error}");
                clients.good_failed.fetch_add(1, Relaxed)
            }
        };
    }
}

/// Stock iperf3, where it is installed.
pub fn of_iperf3(clients: &Clients, port: u16) {
    let port = port.to_string();
    let mut tests = STOCK.iter().cycle();
    while clients.goes_on() {
        let Some(test) = tests.next() else { return };
        let output = Command::new("iperf3")
            .args(["-c", "127.0.0.1", "-p", &port])
            .args(test.split_whitespace())
            .output();
        let Ok(output) = output else {
            println!("iperf3 is not installed; none of its clients comes");
            return;
        };
        match output.status.success() {
            true => clients.good.fetch_add(1, Relaxed),
            false => {
                println!("iperf3 {test}: {}", String::from_utf8_lossy(&output.stderr));
                clients.good_failed.fetch_add(1, Relaxed)
            }
        };
    }
}

/// Tests whose client is killed before they end.
pub fn vanish(clients: &Clients, program: &Path, state: &Path) {
    let mut milliseconds = 50;
    while clients.goes_on() {
        let test = bitcost(program, state, "udp 127.0.0.1 -t 5s -b 20M --no-cost")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        if let Ok(mut test) = test {
            thread::sleep(Duration::from_millis(milliseconds));
            let _ = test.kill();
            let _ = test.wait();
            clients.bad.fetch_add(1, Relaxed);
        }
        milliseconds = 50 + (milliseconds + 170) % 2000;
        thread::sleep(Duration::from_secs(1));
    }
}

/// Clients without a key that is served, with a link that is spent.
pub fn foreign(clients: &Clients, program: &Path, state: &Path, server: &Server) {
    while clients.goes_on() {
        let words = format!("tcp {} -t 200ms", server.link);
        let output = bitcost(program, state, &words).output();
        if output.is_ok_and(|output| output.status.code() == Some(3)) {
            clients.refused.fetch_add(1, Relaxed);
        }
        thread::sleep(Duration::from_millis(500));
    }
}
