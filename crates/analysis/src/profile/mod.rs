//! Where the time goes: sampled stacks in, CPU time by layer at each end out.

mod account;
mod classify;
mod folded;
mod found;
mod owner;
mod weights;

pub use account::{EndProfile, RunProfile, run_profile};
pub use classify::Layers;
pub use folded::folded;
pub use found::{EndLayers, LayerTime, Profiled, ProfiledCell, profiled};
pub use owner::{Owner, Place};
