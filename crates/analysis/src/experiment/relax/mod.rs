//! What may relax a bottleneck.

pub(super) mod buffers;
pub(super) mod calls;
pub(super) mod hosts;
pub(super) mod path;
