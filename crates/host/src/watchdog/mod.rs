//! The watchdog: a process that holds the journal of an agent, and restores the host when the agent
//! is gone.
//!
//! The agent writes each step to the watchdog's standard input and waits until the watchdog
//! confirms that it is on disk. The agent also passes on that it heard the controller, so the
//! watchdog has a lease too. When the input or the agent's process ends, or nothing arrives for the
//! length of the lease, the watchdog restores what is pending, and exits. An agent that is alive
//! but silent (stopped, or stuck in the kernel) is killed first.
//!
//! | file | it is |
//! |---|---|
//! | process | the watchdog itself |
//! | handle | the watchdog as its agent sees it |

mod handle;
mod process;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::journal::Entry;

pub use handle::Watchdog;
pub use process::{main, report};

/// The hidden command on which the program must call [`main`].
pub const WATCHDOG_VERB: &str = "host-watchdog";

#[derive(Debug, Serialize, Deserialize)]
pub struct Setup {
    pub folder: PathBuf,
    pub agent_pid: u32,
    /// How long the agent may be silent.
    pub lease_ms: u64,
}

/// A later message of the agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// A step to write to the journal; it is answered.
    Step(Box<Entry>),
    /// The controller was heard; it is not answered.
    Renewed,
}

/// The answer of the watchdog to the setup and to each step.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Written,
    /// The line is not on disk, for this reason.
    Refused(String),
}
