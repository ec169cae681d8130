//! The link emulator: delays, drops, duplicates, reorders and rate-limits packets between two
//! interfaces as netem does, for kernels without netem.
//!
//! | file | it is |
//! |---|---|
//! | settings | what a direction does, with netem's meanings |
//! | schedule | when each packet departs, or why it does not; pure |
//! | chance | random loss, duplication and reordering, from a seed |
//! | size | segments and bytes of a packet, from its offload header |
//! | inlet, pool | arriving packets with their times, and their memory |
//! | forward | forwards packets between two devices |
//! | handle | what its thread shares with others: counters, and requests for other settings |
//! | counters, lateness | what happened, and how late packets departed |

mod chance;
mod counters;
mod forward;
mod handle;
mod inlet;
mod lateness;
mod pool;
mod schedule;
mod settings;
mod size;

pub use counters::Counters;
pub use forward::{Device, Emulator, TOGETHER_NS};
pub use handle::{Handle, Report};
pub use lateness::Lateness;
pub use schedule::{Departure, Schedule};
pub use settings::Settings;
pub use size::{OFFLOAD_HEADER_BYTES, Size};
