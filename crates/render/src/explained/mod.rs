//! Why runs were not faster, for people and for programs.

mod bottleneck;
mod cells;
mod cost;
mod json;
mod names;
mod proof;
mod text;
mod verdict;

pub use cells::cell_text;
pub use json::explanation_json;
pub use text::{explanation_folded, explanation_lines, explanation_text};
pub use verdict::verdict_text;

pub(crate) use bottleneck::{Bottleneck, Share};
pub(crate) use proof::sentence as proof_sentence;
