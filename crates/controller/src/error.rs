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
    /// A host lacks something that was asked for, described in words.
    Lacks(String),
    /// The connection to an agent was lost, described in words.
    Lost(String),
}

/// A reason without the words that name this agent, for an error that names it with its place.
pub(crate) fn without_agent(role: Role, reason: String) -> String {
    let name = role.name();
    let starts = [
        format!("{name} agent is gone: "),
        format!("{name} agent "),
        format!("{name}: "),
    ];
    let rest = starts.iter().find_map(|start| reason.strip_prefix(start));
    rest.map_or(reason.clone(), str::to_owned)
}

/// The reason why a run has no result.
pub(crate) enum RunError {
    Stopped,
    Failed(String),
    Lacks(String),
    Lost(String),
    Sink(String),
}

impl From<WaitError> for RunError {
    fn from(error: WaitError) -> RunError {
        match error {
            WaitError::Stopped => RunError::Stopped,
            WaitError::Failed(reason) => RunError::Failed(reason),
            WaitError::Lacks(reason) => RunError::Lacks(reason),
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
