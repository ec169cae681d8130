//! The link emulator: delays, drops, duplicates, reorders and rate-limits packets between two
//! interfaces as netem does, for kernels without netem.

mod chance;
mod forward;
mod handle;
mod inlet;
mod lateness;
mod pool;
mod schedule;
mod settings;
mod size;

pub use forward::{Device, Emulator, TOGETHER_NS};
pub use handle::Handle;
pub use schedule::{Departure, Schedule};
pub use settings::Settings;
pub use size::{OFFLOAD_HEADER_BYTES, Size};
