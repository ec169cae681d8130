//! Where the time goes: sampled stacks in, CPU time by layer at each end out.

mod account;
mod activity;
mod chains;
mod classify;
mod found;
mod owner;
mod recorded;
mod spent;
mod twin;
mod weights;

pub use account::{EndProfile, RunProfile};
pub use activity::Activity;
pub use chains::{Chains, chains};
pub use classify::Layers;
pub use found::{
    EndChange, EndLayers, LayerChange, Profiled, ProfiledCell, layer_changes, profiled,
};
pub use owner::{Owner, Place};
pub(crate) use recorded::recorded;
pub use spent::spent;
pub use twin::ProfiledRun;
