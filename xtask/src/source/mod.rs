//! The Rust sources of the repository, read as tokens: their lines, and the words in them.

mod files;
pub mod lines;
pub mod words;
