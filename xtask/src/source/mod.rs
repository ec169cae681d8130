//! The Rust sources of the repository, read as tokens: their lines.

mod files;
pub mod lines;
