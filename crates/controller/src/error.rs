//! The reasons why an execution or a run cannot continue.

use bitcost_model::record::Role;

/// The reason why an execution cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// An agent could not be started or does not answer.
    #[error("{role} agent at {place}: {reason}", role = role.name())]
    Agent {
        /// Its role.
        role: Role,
        /// Its place.
        place: String,
        /// The request and the failure.
        reason: String,
    },
    /// The sink refused an event.
    #[error("{0}")]
    Sink(String),
    /// The user stopped the execution before a run started.
    #[error("stopped")]
    Stopped,
}

/// The reason why a wait ended without the awaited message.
#[derive(Debug)]
pub(crate) enum WaitError {
    /// The user stopped the execution.
    Stopped,
    /// An agent failed, died, or took too long, described in words.
    Failed(String),
    /// The connection to an agent was lost, described in words.
    Lost(String),
}

/// The reason why a run has no result.
pub(crate) enum RunError {
    Stopped,
    Failed(String),
    Lost(String),
    Sink(String),
}

impl From<WaitError> for RunError {
    fn from(error: WaitError) -> RunError {
        match error {
            WaitError::Stopped => RunError::Stopped,
            WaitError::Failed(reason) => RunError::Failed(reason),
            WaitError::Lost(reason) => RunError::Lost(reason),
        }
    }
}

impl From<ControllerError> for RunError {
    fn from(error: ControllerError) -> RunError {
        match error {
            ControllerError::Stopped => RunError::Stopped,
            ControllerError::Sink(reason) => RunError::Sink(reason),
            error @ ControllerError::Agent { .. } => RunError::Failed(error.to_string()),
        }
    }
}
