//! Messages between processes of bitcost and with the shells of other hosts, except the frames of
//! the control protocol.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hint::black_box;

use bitcost_host::journal;
use bitcost_host::watchdog::{Answer as WatchdogAnswer, Message, Setup};
use bitcost_lab::LabError;
use bitcost_lab::protocol::{Ready, Request, Set};
use bitcost_lab::registry::{self, Description};
use bitcost_model::protocol::reach::{self, Found};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::text;

/// A journal with any content: each number is pending once, an unread line is named, and a
/// truncated one hides nothing.
pub fn journal(bytes: &[u8]) {
    let contents = journal::parse(bytes);
    let numbers: BTreeSet<u32> = contents
        .pending
        .iter()
        .map(|change| change.number)
        .collect();
    assert_eq!(numbers.len(), contents.pending.len());
    assert!(!contents.hides_changes || !contents.unread.is_empty());
    assert!(!contents.hides_changes || contents.is_left());
    if !bytes.is_empty() && !bytes.ends_with(b"\n") {
        assert!(!contents.unread.is_empty());
    }
}

/// Lines between an agent and the watchdog of its journal.
pub fn watchdog(bytes: &[u8]) {
    for line in text(bytes).lines() {
        reads_back::<Setup>(line);
        reads_back::<Message>(line);
        reads_back::<WatchdogAnswer>(line);
    }
}

/// The output of another host's shell before an agent is started there, and of `ssh -G`.
pub fn opening(bytes: &[u8]) {
    let mut output = bytes;
    match reach::line(&mut output) {
        Ok(Some(line)) => {
            assert!(
                !line.contains(char::is_control) || line.contains('\t'),
                "{line:?}"
            );
            let Found {
                system,
                machine,
                program,
            } = Found::of(&line);
            assert!(
                !system.contains(' ') && !machine.contains(' ') && program != Some(""),
                "{line:?}"
            );
        }
        Ok(None) => {}
        Err(_) => assert!(bytes.len() as u64 >= reach::NOISE_BYTES),
    }
    black_box(reach::ssh_host_name(text(bytes)));
}

/// The description of a running lab and the requests to it: the lab is drawn without a panic.
pub fn registry(bytes: &[u8]) {
    let line = text(bytes);
    reads_back::<registry::Request>(line);
    if let Ok(Description { state, .. }) = serde_json::from_str(line) {
        let topology = state.topology;
        black_box((bitcost_lab::draw(&topology), topology.hosts().count()));
        for host in topology.hosts() {
            black_box(topology.address(&host.name));
        }
    }
}

/// Lines between a controller and the daemon of its lab.
pub fn lab_daemon(bytes: &[u8]) {
    for line in text(bytes).lines() {
        reads_back::<Request>(line);
        reads_back::<Result<Ready, LabError>>(line);
        reads_back::<Result<Vec<String>, LabError>>(line);
        reads_back::<Set>(line);
    }
}

/// A line that was read is the same after it was written and read a second time.
fn reads_back<T: Serialize + DeserializeOwned + Debug>(line: &str) {
    let Ok(read) = serde_json::from_str::<T>(line) else {
        return;
    };
    let written = serde_json::to_string(&read).expect("is written");
    let again: T =
        serde_json::from_str(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(format!("{again:?}"), format!("{read:?}"));
}
