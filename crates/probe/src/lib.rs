//! Counters and facts that the kernel publishes, one file per source, read only.
//!
//! What a host does not tell is absent: readers return `None` or an empty list, never an error and never 0.

pub mod cpu;
pub mod host;
mod read;
pub mod schedstat;
pub mod switches;
