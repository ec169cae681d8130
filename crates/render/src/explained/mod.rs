//! Why runs were not faster, for people and for programs.

mod bottleneck;
mod json;
mod text;

pub use json::explanation_json;
pub use text::{
    cell_text, evidence_text, explanation_folded, explanation_lines, explanation_text, said,
};

pub(crate) use bottleneck::{Bottleneck, Share};
pub(crate) use text::remedy;
