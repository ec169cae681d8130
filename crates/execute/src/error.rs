//! Why a study could not be executed.

use bitcost_controller::ControllerError;
use bitcost_lab::LabError;
use bitcost_model::{Invalid, Unavailable};

/// Why a study could not be executed, sorted by what the user has to change.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecuteError {
    #[error("{0}")]
    Check(String),
    /// The command line, a study, a lab file or a log is wrong.
    #[error("{0}")]
    Usage(String),
    /// A host lacks something, or is not as a study needs it.
    #[error("{0}")]
    Environment(String),
    #[error("stopped")]
    Interrupted,
}

impl From<Invalid> for ExecuteError {
    fn from(Invalid(why): Invalid) -> ExecuteError {
        ExecuteError::Usage(why)
    }
}

impl From<Unavailable> for ExecuteError {
    fn from(Unavailable(why): Unavailable) -> ExecuteError {
        ExecuteError::Environment(why)
    }
}

impl From<LabError> for ExecuteError {
    fn from(error: LabError) -> ExecuteError {
        ExecuteError::Environment(error.to_string())
    }
}

impl From<ControllerError> for ExecuteError {
    fn from(error: ControllerError) -> ExecuteError {
        match error {
            ControllerError::Stopped => ExecuteError::Interrupted,
            error => ExecuteError::Environment(error.to_string()),
        }
    }
}
