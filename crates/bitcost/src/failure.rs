//! How a command can fail, and the exit code of each way.

use std::process::ExitCode;

use crate::output;

/// Why a command did not do what was asked.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// A measurement or a comparison failed its check: 1.
    Check(String),
    /// The command line or a study is wrong: 2.
    Usage(String),
    /// The host lacks something: 3.
    Environment(String),
    /// The user stopped it: 130, as a shell reports SIGINT.
    Interrupted,
    /// A program that ran in a lab, or the parser of the command line, has said what happened and ends with this code.
    Program(u8),
    /// Nobody reads what is printed any more: 141, as a shell reports SIGPIPE; nothing is said.
    OutputClosed,
}

impl Failure {
    /// Says on standard error what happened; returns the exit code.
    pub fn report(self) -> ExitCode {
        let (message, code) = match self {
            Failure::Check(message) => (message, 1),
            Failure::Usage(message) => (message, 2),
            Failure::Environment(message) => (message, 3),
            Failure::Interrupted => ("stopped; what was measured is kept".to_owned(), 130),
            Failure::Program(code) => return ExitCode::from(code),
            Failure::OutputClosed => return ExitCode::from(141),
        };
        output::say(&format!("bitcost: {message}"));
        ExitCode::from(code)
    }
}

impl From<lab::LabError> for Failure {
    fn from(error: lab::LabError) -> Failure {
        Failure::Environment(error.to_string())
    }
}

impl From<store::StoreError> for Failure {
    fn from(error: store::StoreError) -> Failure {
        use store::StoreError::{CannotRead, Damaged, NotAnEvent, NotAnExecution, TooNew};
        match error {
            CannotRead { .. } | Damaged { .. } | NotAnEvent { .. } | NotAnExecution { .. } | TooNew { .. } => {
                Failure::Usage(error.to_string())
            }
            error => Failure::Environment(error.to_string()),
        }
    }
}

impl From<drive::DriveError> for Failure {
    fn from(error: drive::DriveError) -> Failure {
        match error {
            drive::DriveError::Stopped => Failure::Interrupted,
            error => Failure::Environment(error.to_string()),
        }
    }
}
