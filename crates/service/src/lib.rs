//! The agent as a service: TLS 1.3 with a raw public key, one link for whoever may test, one test at a time, and the client's side
//! of all of this.

pub mod address;
pub mod client;
pub mod confine;
mod connection;
pub mod frames;
mod front;
mod judge;
mod key;
pub mod link;
pub mod message;
mod places;
pub mod policy;
#[cfg(test)]
mod policy_tests;
mod queue;
mod relay;
mod service;
mod session;
mod shared;
mod signing;
mod stream;
mod tls;
#[cfg(test)]
mod trials;

pub use front::{FRONT_VERB, main as front};
#[doc(hidden)]
pub use judge::{Judge, REFUSED_MAX, SESSION_S_MAX};
pub use key::OwnKey;
#[doc(hidden)]
pub use relay::{End, Queues, WAITING_BYTES_MAX};
pub use service::Service;
pub use shared::{AgentCommand, Event};
pub use signing::{StartFront, confined, front_of};
