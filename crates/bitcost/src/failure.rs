//! How a command can fail, and the exit code of each way.

use std::process::ExitCode;

use bitcost_agent::Refusal;
use bitcost_controller::ControllerError;
use bitcost_execute::ExecuteError;
use bitcost_lab::LabError;
use bitcost_model::{Invalid, Unavailable};

use bitcost_render::progress::say;

pub const EXIT_CODES: [(u8, &str); 7] = [
    (
        0,
        "Success. For a study: every run is in the table. A statement of a document that fails is a \
         finding, not an error.",
    ),
    (
        1,
        "A measurement or a comparison failed its check: runs failed, were lost or left out; a \
         setting is not in effect; `--fail-on` found such a change, or a figure breaks its bound.",
    ),
    (
        2,
        "The command line, the study, the lab or the log is wrong; nothing was created.",
    ),
    (
        3,
        "The machine or a host lacks something, such as a kernel module or a privilege; a host cannot \
         be reached; the folder or standard output cannot be written.",
    ),
    (
        4,
        "`--fail-on`, `--fail-under` or `--fail-over-cost` could not be decided: some intervals are too wide.",
    ),
    (
        130,
        "Stopped by Ctrl-C; what was measured is kept. `bitcost serve` and `bitcost lab up` exit with 0.",
    ),
    (
        141,
        "SIGPIPE: standard output was closed, as by `| head -1`. `bitcost run` continues to its \
         end first and keeps its log. Progress that standard error does not accept is dropped.",
    ),
];

/// Why a command did not do what was asked.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// A measurement or a comparison failed its check: 1.
    Check(String),
    /// The command line or a study is wrong: 2.
    Usage(String),
    /// The host lacks something: 3.
    Environment(String),
    /// The check of a comparison cannot be decided by these runs: 4.
    Undecided(String),
    /// The user stopped it: 130, as a shell reports SIGINT.
    Interrupted,
    /// The user stopped a command that keeps no log, or has not begun it: 130.
    InterruptedUnlogged,
    /// A program that ran in a lab, or the parser of the command line, has already printed what
    /// happened; the exit code is this one.
    Program(u8),
    /// Standard output has no reader any more: 141, as a shell reports SIGPIPE; nothing is printed.
    OutputClosed,
}

impl Failure {
    /// Prints on standard error what happened; returns the exit code.
    pub fn report(self) -> ExitCode {
        let (message, code) = match self {
            Failure::Check(message) => (message, 1),
            Failure::Usage(message) => (message, 2),
            Failure::Environment(message) => (message, 3),
            Failure::Undecided(message) => (message, 4),
            Failure::Interrupted => ("stopped; what was measured is kept".to_owned(), 130),
            Failure::InterruptedUnlogged => ("stopped".to_owned(), 130),
            Failure::Program(code) => return ExitCode::from(code),
            Failure::OutputClosed => return ExitCode::from(141),
        };
        say(&format!("bitcost: {message}"));
        ExitCode::from(code)
    }
}

impl From<ExecuteError> for Failure {
    fn from(error: ExecuteError) -> Failure {
        match error {
            ExecuteError::Check(message) => Failure::Check(message),
            ExecuteError::Usage(message) => Failure::Usage(message),
            ExecuteError::Environment(message) => Failure::Environment(message),
            ExecuteError::Interrupted => Failure::InterruptedUnlogged,
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure::Environment(refusal.reason)
    }
}

/// Errors whose exit code `execute` knows.
macro_rules! as_of_execute {
    ($($error:ty),+) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                ExecuteError::from(error).into()
            }
        }
    )+};
}

as_of_execute!(Invalid, Unavailable, LabError, ControllerError);
