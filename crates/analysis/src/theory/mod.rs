//! The most that a link can carry: header arithmetic, bandwidth-delay products. Pure functions.

mod bdp;
mod framing;
mod goodput;

pub use bdp::{Bdp, bdp_bytes};
pub use framing::{Counted, Fragments, Framing, OnWire, Transport};
pub use goodput::{Goodput, Point};
