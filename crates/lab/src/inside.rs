//! The running lab in one of whose nodes this process is.

use std::env;
use std::path::{Path, PathBuf};

use bitcost_sys::namespace::{Kind, is_in};

use crate::protocol::NapiState;
use crate::state::State;
use crate::{Lab, LabError};

/// The variables of a program's environment that name its lab, its node, and the file of the lab's
/// state.
pub const LAB: &str = "BITCOST_LAB";
pub const NODE: &str = "BITCOST_NODE";
pub const STATE: &str = "BITCOST_LAB_STATE";

/// Why the kernel threads that receive cannot be set from within a node.
const UNPLACED: &str = "bitcost runs in a node of a running lab, which has no access to the kernel threads of this machine";

/// A node of a running lab, in which this process is.
#[derive(Clone, Debug)]
pub struct Inside {
    pub lab: String,
    pub node: String,
    pub state_file: PathBuf,
    pub state: State,
}

impl Inside {
    /// The node that this process is in; `None` outside of running labs.
    pub fn find() -> Result<Option<Inside>, LabError> {
        let words = [LAB, NODE, STATE].map(|name| env::var(name).ok());
        let [Some(lab), Some(node), Some(file)] = words else {
            return Ok(None);
        };
        let state_file = PathBuf::from(file);
        let state = State::read(&state_file)?;
        let own = state.ready.nodes.iter().find(|(name, _)| *name == node);
        let is_here =
            own.is_some_and(|(_, fd)| is_in(&state.ready.file(*fd), Kind::Net).unwrap_or(false));
        // The environment may have come from elsewhere.
        Ok(is_here.then_some(Inside {
            lab,
            node,
            state_file,
            state,
        }))
    }

    pub fn lab(&self) -> Lab {
        let mut ready = self.state.ready.clone();
        let pids = format!("/proc/{}/ns/pid", ready.daemon_pid);
        if !is_in(Path::new(&pids), Kind::Pid).unwrap_or(false) {
            ready.hosts.iter_mut().for_each(|host| {
                if let NapiState::Threaded { unplaced, .. } = &mut host.napi {
                    unplaced.get_or_insert(UNPLACED.to_owned());
                }
            });
        }
        Lab::of_another(ready)
    }
}
