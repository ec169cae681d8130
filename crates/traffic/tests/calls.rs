//! The system calls of the plain streams, traced with strace: one per message at both endpoints and
//! no other, with the requested buffers and lengths.
//!
//! The test program is its own helper: started with `stage`, it runs both endpoints under strace.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bitcost_model::conditions::Conditions;
use bitcost_study::settings::SETTINGS;
use bitcost_traffic::{Control, Flow, Phase};
use libtest_mimic::{Arguments, Completion, Failed, Trial};

const PATIENCE: Duration = Duration::from_secs(10);
const TOKEN: [u8; 16] = *b"sixteen letters!";
/// Few enough that a receiver's socket buffer holds all of them while strace stops its thread.
const MESSAGES: usize = 100;
/// A call that each endpoint's thread makes before and after its run only.
const MARK: &str = "sched_yield";

/// A trial: its name, its settings as on the command line, and the check of both endpoints' calls.
type Row = (&'static str, &'static str, fn(&[Call], &[Call]));

const ROWS: &[Row] = &[
    (
        "tcp_stream makes one call per message",
        "workload=tcp_stream",
        one_each,
    ),
    (
        "udp_stream makes one call per message",
        "workload=udp_stream",
        one_each,
    ),
    (
        "a dirty payload costs no call",
        "workload=tcp_stream payload=dirty",
        one_each,
    ),
];

/// One system call.
#[derive(Clone, Debug)]
struct Call {
    name: String,
    /// Negative where it failed.
    result: i64,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "stage") {
        return stage(&words[1..]);
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let trials = ROWS
        .iter()
        .map(|row| Trial::ignorable_test(row.0, || trial(row)));
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

fn trial((_, settings, check): &Row) -> Result<Completion, Failed> {
    if let Some(reason) = no_strace() {
        return Ok(Completion::ignored_with(reason));
    }
    let folder = tempfile::tempdir()?;
    let mut command = Command::new("strace");
    command
        .args(["-ff", "-e", "raw=all", "-e", "signal=none", "-o"])
        .arg(folder.path().join("calls"));
    command.arg(std::env::current_exe()?).arg("stage");
    command.args(settings.split(' '));
    let output = command.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let mut ends = marked(folder.path())?;
    ends.sort_by_key(|calls| !calls.iter().any(|call| call.name == "sendto"));
    let [sender, receiver] = &ends[..] else {
        return Err(format!("{} threads with marks", ends.len()).into());
    };
    check(&moving(sender, "sendto"), &moving(receiver, "recvfrom"));
    Ok(Completion::Completed)
}

/// The reason why strace cannot be used here; absent where it can.
fn no_strace() -> Option<String> {
    match Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .output()
    {
        Err(error) => Some(format!(
            "strace cannot be started ({error}); install the package strace"
        )),
        Ok(output) if !output.status.success() => Some(format!(
            "strace may not trace here: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
        Ok(_) => None,
    }
}

/// The calls of each marked thread between its marks.
fn marked(folder: &Path) -> Result<Vec<Vec<Call>>, Failed> {
    let mut threads = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let text = std::fs::read_to_string(entry?.path())?;
        let calls: Vec<Call> = text.lines().filter_map(read).collect();
        let marks: Vec<usize> = (0..calls.len())
            .filter(|index| calls[*index].name == MARK)
            .collect();
        if let [begin, end] = marks[..] {
            threads.push(calls.into_iter().take(end).skip(begin + 1).collect());
        }
    }
    Ok(threads)
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

/// Checks that there is one call per message, each of these bytes, and no other call.
fn all_of(calls: &[Call], name: &str, bytes: i64) {
    assert!(
        calls
            .iter()
            .all(|call| call.name == name && call.result == bytes),
        "{calls:?}"
    );
    assert_eq!(calls.len(), MESSAGES);
}

fn one_each(sender: &[Call], receiver: &[Call]) {
    all_of(sender, "sendto", 100);
    all_of(receiver, "recvfrom", 100);
}

/// Checks that three buffers are used in turn, each 24 bytes after a multiple of 4096.
/// Runs both endpoints for [`MESSAGES`] messages, each in its own thread.
fn stage(settings: &[String]) {
    let mut conditions = Conditions {
        stop_messages: Some(MESSAGES as u64),
        ..Conditions::default()
    };
    conditions.message_size_bytes = 100;
    // A larger receive call would return several messages.
    conditions.receive_size_bytes = bitcost_model::conditions::ReceiveSize::Message;
    for (name, value) in settings
        .iter()
        .filter_map(|setting| setting.split_once('='))
    {
        let setting = SETTINGS
            .iter()
            .find(|setting| setting.name == name)
            .expect("a setting");
        bitcost_study::settings::set_text(setting, &mut conditions, value)
            .expect("it takes the value");
    }
    conditions.check(1500).expect("it is possible");
    let pending =
        bitcost_traffic::listen(&conditions, Ipv4Addr::LOCALHOST.into(), TOKEN).expect("listens");
    let (asked, address) = (conditions.clone(), pending.address());
    let sender = thread::spawn(move || {
        bitcost_traffic::connect(&asked, address, TOKEN, PATIENCE)
            .expect("connects")
            .flow
    });
    let receiver = pending.accept(PATIENCE).expect("the sender comes").flow;
    let sender = sender.join().expect("no panic");
    let controls: [Arc<Control>; 2] = Default::default();
    controls
        .iter()
        .for_each(|control| control.enter(Phase::Measured));
    let threads = [sender, receiver]
        .into_iter()
        .zip(&controls)
        .map(|(flow, control)| start(flow, control));
    for (end, thread) in threads.collect::<Vec<_>>().into_iter().enumerate() {
        thread.join().expect("no panic");
        if end == 0 {
            controls[1].expect_messages(MESSAGES as u64);
        }
    }
}

fn start(mut flow: Box<dyn Flow>, control: &Arc<Control>) -> thread::JoinHandle<()> {
    let control = control.clone();
    thread::spawn(move || {
        thread::yield_now();
        flow.run(&control).expect("it succeeds");
        thread::yield_now();
    })
}
