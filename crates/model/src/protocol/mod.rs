//! The control protocol between controller and agent, without IO: messages, framing, lease.
//!
//! Bytes and times are passed in as arguments. Each frame is a length of four bytes, big-endian,
//! and a JSON text of that length. The controller speaks first; the first message in each direction
//! carries [`PROTOCOL`], and two programs with different versions end the connection with an error
//! that says so.

mod frame;
mod lease;
mod message;
pub mod reach;

pub use frame::{Decoder, FRAME_BYTES_MAX, FrameError, RECORD_BYTES_MAX, encode};
pub use lease::Lease;
pub use message::{
    Addresses, FailureCause, FromAgent, Origin, Part, Peer, Prepare, Receiving, Route, SentCounts,
    Start, ToAgent, Token,
};

/// The longest time after the window in which what was sent may still arrive, as long as it moves.
/// After it a run is kept as it was at the end of the window.
pub const DRAIN_MAX: std::time::Duration = std::time::Duration::from_secs(20);

/// Version of the protocol; it rises with every change that the other side must know of.
pub const PROTOCOL: u32 = 5;
