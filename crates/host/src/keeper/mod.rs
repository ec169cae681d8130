//! The keeper: a process that holds the journal of an agent, and puts the host back when the agent is gone.
//!
//! The agent writes each step to the keeper's standard input and waits for the word that it is on the disk.
//! Each word of its controller it passes on, so the keeper has a lease too. When the input ends, the
//! agent's process does, or nothing comes for the length of the lease, the keeper takes back what is pending,
//! and ends. An agent that is alive but silent (stopped, or stuck in the kernel) is killed before.
//!
//! | file | it is |
//! |---|---|
//! | process | the keeper itself |
//! | handle | the keeper as its agent sees it |

mod handle;
mod process;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::journal::Line;

pub use handle::Keeper;
pub use process::{main, report};

/// The hidden verb with which the program must call [`main`].
pub const KEEPER_VERB: &str = "host-keeper";

/// The agent's first line.
#[derive(Debug, Serialize, Deserialize)]
pub struct Opening {
    /// Where the journal is to be.
    pub folder: PathBuf,
    /// The agent's process id.
    pub agent_pid: u32,
    /// How long the agent may be silent.
    pub lease_ms: u64,
}

/// What the agent says after that.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// To be written down, and answered.
    Step(Line),
    /// The controller was heard; no answer.
    Renewed,
}

/// What the keeper says to the opening and to each step.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It is on the disk.
    Kept,
    /// Why not.
    Refused(String),
}
