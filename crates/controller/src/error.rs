//! The reasons why an execution or a run cannot continue.

use std::fmt;

use bitcost_model::Unavailable;
use bitcost_model::record::Role;

#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    #[error("{role} agent at {place}: {reason}", role = role.name())]
    Agent {
        role: Role,
        place: String,
        reason: String,
    },
    /// The sink refused an event, or what all runs need cannot be had.
    #[error(transparent)]
    Sink(#[from] Unavailable),
    #[error("stopped")]
    Stopped,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentEnd {
    /// Its output ended, all of whose messages were valid: how its process ended says more.
    #[error("its output ended")]
    OutputEnded,
    #[error("{0}")]
    Failed(String),
}

impl From<Unavailable> for AgentEnd {
    fn from(Unavailable(why): Unavailable) -> AgentEnd {
        AgentEnd::Failed(why)
    }
}

#[derive(Debug)]
pub(crate) struct Told {
    /// The agent of which they tell and what joins its name to them; absent where they name it.
    pub of: Option<(Role, &'static str)>,
    pub words: String,
}

impl Told {
    /// The words for an error that names this agent with its place.
    pub fn without(self, role: Role) -> String {
        match self.of {
            Some((of, _)) if of == role => self.words,
            _ => self.to_string(),
        }
    }
}

impl From<String> for Told {
    fn from(words: String) -> Told {
        Told { of: None, words }
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((role, link)) = self.of {
            write!(f, "{}{link}", role.name())?;
        }
        f.write_str(&self.words)
    }
}

/// The reason why a wait has no answer, or a run no result.
#[derive(Debug)]
pub(crate) enum RunError {
    Stopped,
    Failed(Told),
    Lacks(Told),
    Lost(Told),
    Sink(Unavailable),
}

impl RunError {
    /// What happened at an agent.
    pub fn told(self) -> Result<Told, ControllerError> {
        match self {
            RunError::Stopped => Err(ControllerError::Stopped),
            RunError::Sink(why) => Err(why.into()),
            RunError::Failed(told) | RunError::Lacks(told) | RunError::Lost(told) => Ok(told),
        }
    }
}
