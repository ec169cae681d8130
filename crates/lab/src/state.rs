//! The present state of a running lab: a file in memory, which the daemon writes after each change
//! and which processes in the lab's nodes read.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use bitcost_model::shaping::Shaping;
use bitcost_model::topology::Topology;
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::protocol::Ready;

/// The present state of a running lab.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    /// The network with all changes.
    pub topology: Topology,
    /// The changes since the lab was built, in their order.
    pub changes: Vec<Change>,
    /// The lab as it was built.
    pub ready: Ready,
    /// The name of the machine; nodes have their own names.
    pub machine: String,
}

/// A change of what a device does to packets that leave by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// When: local time with offset (RFC 3339).
    pub at: String,
    /// The device.
    pub device: String,
    /// The shaping before.
    pub from: Shaping,
    /// The shaping since then.
    pub to: Shaping,
}

/// How often a file that is being written is read again, and how long after.
const READINGS: usize = 100;
const PAUSE: Duration = Duration::from_millis(1);

/// The file, as the daemon writes it.
#[derive(Debug)]
pub(crate) struct StateFile {
    file: File,
    writings: u64,
}

impl StateFile {
    pub(crate) fn new() -> Result<StateFile, LabError> {
        let file = bitcost_sys::process::memory_file("bitcost-lab")
            .map_err(|error| LabError::build("make the file of the lab's state", &error))?;
        Ok(StateFile { file, writings: 0 })
    }

    /// The number of its file descriptor.
    pub(crate) fn fd(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// Writes the state. The first and the last line of a complete file are the same number.
    pub(crate) fn write(&mut self, state: &State) -> Result<(), LabError> {
        self.writings += 1;
        let cannot = |error: io::Error| LabError::build("write the lab's state", &error);
        let json = serde_json::to_string(state).map_err(|error| cannot(error.into()))?;
        let text = format!("{number}\n{json}\n{number}\n", number = self.writings);
        self.file
            .write_all_at(text.as_bytes(), 0)
            .and_then(|()| self.file.set_len(text.len() as u64))
            .map_err(cannot)
    }
}

impl State {
    /// Reads the file at this path.
    ///
    /// # Errors
    /// When there is no such file, or nothing that this version of the program writes.
    pub fn read(path: &Path) -> Result<State, LabError> {
        let failed = |why: String| {
            LabError::daemon(format!(
                "cannot read the state of the lab, {}: {why}; the lab is gone, or not yours",
                path.display()
            ))
        };
        for _ in 0..READINGS {
            let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
            let lines: Vec<&str> = text.lines().collect();
            if let [first, json, last] = lines[..]
                && first == last
            {
                return serde_json::from_str(json)
                    .map_err(|error| failed(format!("{error}; use the bitcost that built it")));
            }
            std::thread::sleep(PAUSE);
        }
        Err(failed("it was incomplete at every reading".to_owned()))
    }

    /// What this device did when the lab was built.
    pub fn as_built(&self, device: &str) -> Option<&Shaping> {
        as_built(&self.topology, &self.changes, device)
    }
}

/// What a device of a lab with these changes did when the lab was built.
pub fn as_built<'a>(
    topology: &'a Topology,
    changes: &'a [Change],
    device: &str,
) -> Option<&'a Shaping> {
    let first = changes.iter().find(|change| change.device == device);
    let first = first.map(|change| &change.from);
    first.or_else(|| topology.end(device).map(|end| &end.egress))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_change_tells_what_was_built() {
        let delayed = |delay_us| Shaping {
            delay_us,
            ..Shaping::default()
        };
        let change = |from, to| Change {
            at: String::new(),
            device: "s1-eth1".to_owned(),
            from: delayed(from),
            to: delayed(to),
        };
        let changes = [change(1, 2), change(2, 3)];
        let topology = Topology::default();
        assert_eq!(as_built(&topology, &changes, "s1-eth1"), Some(&delayed(1)));
        assert_eq!(as_built(&topology, &changes, "s1-eth2"), None);
    }
}
