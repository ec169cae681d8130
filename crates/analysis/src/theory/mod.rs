//! The most that a link can carry: goodput, bandwidth-delay products. Pure functions.

mod bdp;
mod goodput;

pub use bdp::Bdp;
pub use goodput::{Goodput, Point};
