//! The link emulator: delays, drops, duplicates, reorders and rate-limits packets between two
//! interfaces as netem does, for kernels without netem.

mod chance;
mod forward;
mod handle;
mod inlet;
mod pool;
mod schedule;
mod size;

pub use forward::{Device, Emulator, TOGETHER_NS};
pub use handle::Handle;
pub use inlet::rate_by_delay_bytes;
pub use schedule::{Departure, Schedule};
pub use size::Size;
