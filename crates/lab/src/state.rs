//! The present state of a running lab: a file in memory, which the daemon writes after each change
//! and which processes in the lab's nodes read.

use std::io;
use std::path::Path;
use std::time::Duration;

use bitcost_model::shaping::Shaping;
use bitcost_model::topology::Topology;
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::memory_file::MemoryFile;
use crate::protocol::Ready;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    pub topology: Topology,
    /// The changes since the lab was built, in their order.
    pub changes: Vec<Change>,
    /// The lab as it was built, and how it is entered.
    #[serde(rename = "entry")]
    pub ready: Ready,
    /// The name of the machine; nodes have their own names.
    pub machine: String,
}

/// A change of what a device does to packets that leave by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// When: local time with offset (RFC 3339).
    pub at: String,
    pub device: String,
    pub from: Shaping,
    pub to: Shaping,
}

/// How often a file that is being written is read again, and how long after.
const READINGS: usize = 100;
const PAUSE: Duration = Duration::from_millis(1);

impl State {
    pub(crate) fn write(&self, file: &mut MemoryFile) -> Result<(), LabError> {
        let json = serde_json::to_string(self).map_err(io::Error::from);
        let written = json.and_then(|json| file.write(&json));
        written.map_err(|error| LabError::build("write the lab's state", &error))
    }

    /// Reads the file at this path.
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

    pub fn as_built(&self, device: &str) -> Option<&Shaping> {
        let first = self.changes.iter().find(|change| change.device == device);
        let first = first.map(|change| &change.from);
        first.or_else(|| self.topology.end(device).map(|end| &end.egress))
    }
}
