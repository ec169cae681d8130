//! Why conditions are not possible.

use thiserror::Error;

use crate::Invalid;

/// Why conditions are not possible, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Impossible {
    /// A setting does not go with the workload.
    #[error("{setting} is not for {what}; {allowed}")]
    NotFor {
        /// The setting, by its name in a study.
        setting: String,
        /// What it does not go with.
        what: String,
        allowed: String,
    },
    /// Values that do not go together, in a sentence.
    #[error("{0}")]
    Values(String),
}

impl From<Invalid> for Impossible {
    fn from(invalid: Invalid) -> Impossible {
        Impossible::Values(invalid.0)
    }
}

impl From<Impossible> for Invalid {
    fn from(impossible: Impossible) -> Invalid {
        Invalid(impossible.to_string())
    }
}
