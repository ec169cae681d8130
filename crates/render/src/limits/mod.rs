//! The answers of `bitcost limits`: the arithmetic as text, and the same figures as JSON.

mod bdp;
mod goodput;
mod pacing;
mod quantity;

pub use bdp::{bdp_json, bdp_text};
pub use goodput::{goodput_json, goodput_text};
pub use pacing::{pacing_json, pacing_text};
