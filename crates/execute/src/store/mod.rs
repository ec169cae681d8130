//! The store: one folder per execution, with an append-only log of events, one JSON text per line.

mod chain;
mod error;
mod found;
mod read;
mod write;

pub use chain::{Chain, seal_again};
pub use error::LOG_NAME;
pub use found::{USUAL_PARENT, newest};
pub use read::{End, LogFile};
pub use write::{Writer, stamped};
