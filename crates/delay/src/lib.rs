//! A delay line: a program between two interfaces that delays, loses, doubles, reorders and slows packets as netem does,
//! for kernels without it.
//!
//! | file | it is |
//! |---|---|
//! | settings | what a direction does, with netem's meanings |
//! | schedule | when each packet departs or why not; pure |
//! | chance | losses and other fates, from a seed |
//! | size | segments and bytes of a packet, from its offload header |
//! | inlet, pool | packets as they come, with their times, and their memory |
//! | forward | carries them between two devices |
//! | counters, lateness | what happened, and how late the line was |

mod chance;
mod counters;
mod forward;
mod inlet;
mod lateness;
mod pool;
mod schedule;
mod settings;
mod size;

pub use counters::{Amount, Counters};
pub use forward::{Device, Handle, Line, Report, TOGETHER_NS};
pub use lateness::Lateness;
pub use schedule::{Departure, Schedule};
pub use settings::{Limit, Settings};
pub use size::{OFFLOAD_HEADER_BYTES, Size};
