//! Where the time goes: sampled stacks in, CPU time by layer at each end out.

mod account;
mod classify;
mod folded;
mod found;
mod owner;
mod spent;
mod weights;

pub use account::{EndProfile, RunProfile};
pub use classify::Layers;
pub use folded::folded;
pub use found::{EndLayers, Profiled, ProfiledCell, profiled};
pub use owner::{Owner, Place};
pub use spent::spent;
