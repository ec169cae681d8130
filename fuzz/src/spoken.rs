//! What processes of bitcost say to each other and to other hosts' shells, but for the frames of the control protocol.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hint::black_box;

use host::journal;
use host::keeper::{Answer as Kept, Opening, Word};
use lab::protocol::{Answer, Order, Request};
use lab::registry::{Description, Question};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wire::reach::{self, Found, NoLine};

use super::text;

/// Whatever a journal says: each number is pending once, a line that is not read is named, and one that is cut hides nothing.
pub fn journal(bytes: &[u8]) {
    let contents = journal::parse(bytes);
    let numbers: BTreeSet<u32> = contents.pending.iter().map(|change| change.number).collect();
    assert_eq!(numbers.len(), contents.pending.len());
    assert!(!contents.hides_changes || !contents.unread.is_empty());
    assert!(!contents.hides_changes || contents.is_left());
    if !bytes.is_empty() && !bytes.ends_with(b"\n") {
        assert!(!contents.unread.is_empty());
    }
}

/// Lines between an agent and the keeper of its journal.
pub fn keeper(bytes: &[u8]) {
    for line in text(bytes).lines() {
        reads_back::<Opening>(line);
        reads_back::<Word>(line);
        reads_back::<Kept>(line);
    }
}

/// What another host's shell prints before an agent is started there, and what ssh tells of its configuration.
pub fn opening(bytes: &[u8]) {
    let mut output = bytes;
    match reach::line(&mut output) {
        Ok(line) => {
            assert!(!line.contains(char::is_control) || line.contains('\t'), "{line:?}");
            let Found { system, machine, program } = Found::of(&line);
            assert!(!system.contains(' ') && !machine.contains(' ') && program != Some(""), "{line:?}");
        }
        Err(NoLine::Noise) => assert!(bytes.len() as u64 >= reach::NOISE_BYTES),
        Err(NoLine::Ended | NoLine::Read(_)) => {}
    }
    black_box(reach::ssh_host_name(text(bytes)));
}

/// What a lab that stands says of itself, and what it is asked: it is drawn without a panic.
pub fn registry(bytes: &[u8]) {
    let line = text(bytes);
    reads_back::<Question>(line);
    if let Ok(Description { topology, .. }) = serde_json::from_str(line) {
        black_box((lab::draw(&topology), topology.hosts().count()));
        for host in topology.hosts() {
            black_box(topology.address(&host.name));
        }
    }
}

/// Lines between a controller and the holder of its lab.
pub fn holder(bytes: &[u8]) {
    for line in text(bytes).lines() {
        reads_back::<Request>(line);
        reads_back::<Answer>(line);
        reads_back::<Order>(line);
    }
}

/// What was read of a line is the same when it is written and read again.
fn reads_back<T: Serialize + DeserializeOwned + Debug>(line: &str) {
    let Ok(read) = serde_json::from_str::<T>(line) else { return };
    let written = serde_json::to_string(&read).expect("is written");
    let again: T = serde_json::from_str(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(format!("{again:?}"), format!("{read:?}"));
}
