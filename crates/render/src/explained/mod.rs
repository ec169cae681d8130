//! Why runs were not faster, for people and for programs.

mod bottleneck;
mod text;
mod watched;

pub use text::{cell_blocks, evidence_blocks, explanation_blocks, explanation_lines, said};

pub use watched::{Columns, TCP, UDP, hop_blocks, watched_blocks, watched_row, watched_words};

pub(crate) use bottleneck::{Bottleneck, Share};
pub(crate) use text::remedy;
