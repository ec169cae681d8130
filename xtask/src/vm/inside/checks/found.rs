//! The result of a check.

/// The result of a check: the observation if it holds, or the reason why it could not be made. An
/// error is a check that does not hold.
pub(super) enum Found {
    Holds(String),
    Skipped(String),
}
