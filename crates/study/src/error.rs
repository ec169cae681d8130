//! An error in a file that a person wrote, with its place.

/// An error in a study, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct StudyError {
    /// The file as the user named it.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column, counted in characters from 1.
    pub column: usize,
    /// What was found and what is allowed.
    pub message: String,
}
