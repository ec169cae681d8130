//! The agent as a service: TLS 1.3 with a raw public key, one link for whoever may test, one test at a time, and the client's side
//! of all of this.

pub mod address;
pub mod client;
pub mod confine;
mod connection;
mod front;
mod key;
pub mod link;
pub mod message;
mod places;
mod queue;
mod relay;
mod service;
mod session;
mod shared;
mod stream;
mod tls;
#[cfg(test)]
mod trials;

pub use connection::{confined, front_of};
pub use front::{FRONT_VERB, main as front};
pub use key::OwnKey;
pub use service::Service;
pub use shared::AgentCommand;
