//! An error in a file that a person wrote, with its place.

use bitcost_model::Invalid;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct StudyError {
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column, counted in characters from 1.
    pub column: usize,
    /// What was found and what is allowed.
    pub message: String,
}

/// Of a text that the program has made, which has no place that a user knows.
impl From<StudyError> for Invalid {
    fn from(error: StudyError) -> Invalid {
        Invalid(error.message)
    }
}
