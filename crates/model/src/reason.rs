//! Errors that are one sentence for the user: what is wrong, or what is missing.

/// Why a value is refused: what was asked, what is allowed. Whoever wrote it has to change it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(pub String);

/// Why something could not be done or measured here: what was asked, what happened, what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

impl From<Invalid> for String {
    fn from(invalid: Invalid) -> String {
        invalid.0
    }
}

impl From<Unavailable> for String {
    fn from(unavailable: Unavailable) -> String {
        unavailable.0
    }
}
