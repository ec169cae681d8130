//! The system calls of the plain streams, traced with strace: one per message at both endpoints and
//! no other, with the requested buffers and lengths.

use crate::play::*;
use std::path::Path;
use std::process::{Command, Stdio};

use bitcost_model::conditions::ReceiveSize;

use crate::options::set;

/// Few enough that a receiver's socket buffer holds all of them while strace stops its thread.
const MESSAGES: usize = 100;
/// A call that each endpoint's thread makes before and after its run only.
const MARK: &str = "sched_yield";

/// The trials with their settings as on the command line.
const ROWS: [(&str, &str); 3] = [
    (
        "tcp_stream makes one call per message",
        "workload=tcp_stream",
    ),
    (
        "udp_stream makes one call per message",
        "workload=udp_stream",
    ),
    (
        "a dirty payload costs no call",
        "workload=tcp_stream payload=dirty",
    ),
];

#[derive(Clone, Debug)]
struct Call {
    name: String,
    /// Negative where it failed.
    result: i64,
}

/// The verb by which the test program runs both endpoints.
pub const STAGE: &str = "stage";

pub fn trials() -> Vec<(&'static str, Run)> {
    let of_row = |(name, settings)| (name, Box::new(move || trial(settings)) as Run);
    ROWS.into_iter().map(of_row).collect()
}

fn trial(settings: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("strace");
    command
        .args(["-ff", "-e", "raw=all", "-e", "signal=none", "-o"])
        .arg(folder.path().join("calls"));
    command.arg(std::env::current_exe().expect("this program"));
    command.arg(STAGE).args(settings.split(' '));
    let output = match command.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) => bitcost_testkit::ignore(&format!("strace cannot be started: {error}")),
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && said.contains("ptrace(") {
        bitcost_testkit::ignore(&format!("strace may not trace here: {said}"));
    }
    assert!(output.status.success(), "{said}");
    let mut ends = marked(folder.path());
    ends.sort_by_key(|calls| !calls.iter().any(|call| call.name == "sendto"));
    let [sender, receiver] = &ends[..] else {
        panic!("{} threads with marks", ends.len());
    };
    one_each(sender, "sendto");
    one_each(receiver, "recvfrom");
}

/// The calls of each marked thread between its marks.
fn marked(folder: &Path) -> Vec<Vec<Call>> {
    let mut threads = Vec::new();
    for entry in std::fs::read_dir(folder).expect("listed") {
        let path = entry.expect("a file").path();
        let text = std::fs::read_to_string(path).expect("text");
        let calls: Vec<Call> = text.lines().filter_map(read).collect();
        let marks: Vec<usize> = (0..calls.len())
            .filter(|index| calls[*index].name == MARK)
            .collect();
        if let [begin, end] = marks[..] {
            threads.push(calls.into_iter().take(end).skip(begin + 1).collect());
        }
    }
    threads
}

/// `sendto(0x4, 0x7f00, 0x64, 0x4000, 0, 0) = 0x64`.
fn read(line: &str) -> Option<Call> {
    let (name, rest) = line.split_once('(')?;
    let (_, result) = rest.rsplit_once(" = ")?;
    let number = |text: &str| {
        let text = text.trim();
        text.strip_prefix("0x").map_or_else(
            || text.parse().ok(),
            |hex| u64::from_str_radix(hex, 16).ok(),
        )
    };
    let result = result.split_whitespace().next()?;
    let result = number(result).map_or(-1, |result| result as i64);
    Some(Call {
        name: name.to_owned(),
        result,
    })
}

/// The calls up to the last one that moved a message, without those that timed out. Later calls
/// only end the connection.
fn moving(calls: &[Call], name: &str) -> Vec<Call> {
    let waited = |call: &&Call| call.name == "recvfrom" && call.result < 0;
    let calls: Vec<&Call> = calls.iter().filter(|call| !waited(call)).collect();
    let last = calls
        .iter()
        .rposition(|call| call.name == name && call.result > 0)
        .unwrap_or(0);
    calls[..=last].iter().map(|call| (*call).clone()).collect()
}

/// Checks that there is one call for each message of 100 bytes, and no other call.
fn one_each(calls: &[Call], name: &str) {
    let calls = moving(calls, name);
    let is_one = |call: &Call| call.name == name && call.result == 100;
    assert!(calls.iter().all(is_one), "{calls:?}");
    assert_eq!(calls.len(), MESSAGES);
}

/// Runs both endpoints for [`MESSAGES`] messages, each in its own thread.
pub fn stage(settings: &[String]) {
    let mut conditions = Conditions {
        stop_messages: Some(MESSAGES as u64),
        warmup_ms: 0,
        message_size_bytes: 100,
        // A larger receive call would return several messages.
        receive_size_bytes: ReceiveSize::Message,
        ..Conditions::default()
    };
    for setting in settings {
        let (name, value) = setting.split_once('=').expect("a value");
        set(&mut conditions, name, value);
    }
    conditions.check(1500).expect("it is possible");
    let controls: [Arc<Control>; 2] = Default::default();
    let start = |ready: Ready, control: &Arc<Control>| {
        let (mut flow, control) = (ready.flow, control.clone());
        control.enter(Phase::Measured);
        thread::spawn(move || {
            thread::yield_now();
            flow.run(&control).expect("it succeeds");
            thread::yield_now();
        })
    };
    let [sender, receiver] = meet(&conditions);
    let (sender, receiver) = (start(sender, &controls[0]), start(receiver, &controls[1]));
    sender.join().expect("no panic");
    controls[1].expect_messages(MESSAGES as u64);
    receiver.join().expect("no panic");
}
