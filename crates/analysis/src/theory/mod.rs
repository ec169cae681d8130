//! The most that a link can carry: header arithmetic, pacing rates, bandwidth-delay products. Pure
//! functions.
//!
//! Each answer shows its arithmetic as text and has the same figures as JSON; the functions below
//! it give curves to reports.

mod bdp;
mod framing;
mod goodput;
mod pacing;
mod show;

pub use bdp::{Bdp, bdp_bytes};
pub use framing::{Counted, Framing, OnWire, Transport};
pub use goodput::{Goodput, Point};
pub use pacing::Pacing;
