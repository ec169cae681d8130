//! Clients that keep to the protocol: enrolled ones, stock iperf3, some that vanish in the middle of
//! a test, and some that no key lets in.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use super::clients::Clients;

/// Tests of an enrolled client, in turn.
const TESTS: [&str; 6] = [
    "tcp 127.0.0.1 -b 200M",
    "udp 127.0.0.1 -b 20M --no-cost",
    "tcp 127.0.0.1 -R -P 4 -b 50M",
    "rr 127.0.0.1 --no-cost",
    "udp 127.0.0.1 -b 20M -R",
    "tcp 127.0.0.1 -n 1MB --both",
];

/// The windows of a test, in milliseconds: each is for a test that failed in the one before, because a
/// machine that is busy with something else may not get far in a short one.
const WINDOWS_MS: [u32; 4] = [200, 400, 800, 1600];

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

/// Whether a test of an enrolled client succeeds in one of the windows.
pub fn succeeds(program: &Path, state: &Path, test: &str) -> bool {
    WINDOWS_MS.iter().any(|window| {
        let words = match test.contains(" -n ") {
            true => test.to_owned(),
            false => format!("{test} -t {window}ms"),
        };
        match bitcost(program, state, &words).output() {
            Ok(output) if output.status.success() => true,
            Ok(output) => {
                println!("{words}: {}", String::from_utf8_lossy(&output.stderr));
                false
            }
            Err(error) => {
                println!("{words}: {error}");
                false
            }
        }
    })
}

/// Tests one after the other.
pub fn of_service(clients: &Clients, program: &Path, state: &Path) {
    let mut tests = TESTS.iter().cycle();
    while clients.goes_on() {
        let Some(test) = tests.next() else { return };
        match succeeds(program, state, test) {
            true => clients.good.fetch_add(1, Relaxed),
            false => clients.good_failed.fetch_add(1, Relaxed),
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
pub fn foreign(clients: &Clients, program: &Path, state: &Path, link: &str) {
    let words = format!("tcp {link} -t 200ms");
    while clients.goes_on() {
        let output = bitcost(program, state, &words).output();
        if output.is_ok_and(|output| output.status.code() == Some(3)) {
            clients.refused.fetch_add(1, Relaxed);
        }
        thread::sleep(Duration::from_millis(500));
    }
}
