//! The agent as a service: TLS 1.3 with raw public keys, links that enrol clients, rules for each
//! key, a queue, and the client's side of all of this.
//!
//! | file | it is |
//! |---|---|
//! | address, link, fingerprint | what users type and see |
//! | frames, message | what both sides say before the control protocol begins |
//! | stream, tls, secure, own_key | proving keys, and a connection on which every wait has an end |
//! | confine, front | the process without privileges that speaks TLS with one client |
//! | fronts, channel, proof | how the service starts these processes, and what it lets them say |
//! | store, rules | the keys of a service, and what each may do |
//! | policy, judge | whether a message of a client may go to an agent |
//! | runs | what the runs of a session came to |
//! | places, lobby, pending | which connections may wait without a proof |
//! | service, shared, opening, queue, session, relay | the service, from its socket to an agent |
//! | monitor | what the service tells monitoring: counts and last results, in Prometheus's text format over HTTP |
//! | known, client, again, agent_at | a client: the services that it knows, and its way to an agent there |

pub mod address;
pub mod again;
mod agent_at;
mod channel;
pub mod client;
pub mod confine;
pub mod event;
pub mod fingerprint;
pub mod frames;
mod front;
mod fronts;
mod judge;
mod known;
pub mod link;
mod lobby;
pub mod message;
pub mod monitor;
mod opening;
mod own_key;
mod pending;
mod places;
pub mod policy;
#[cfg(test)]
mod policy_tests;
mod proof;
mod queue;
mod relay;
pub mod rules;
mod runs;
mod secure;
mod service;
mod session;
mod shared;
pub mod store;
mod stream;
mod tls;
#[cfg(test)]
mod trials;

pub use agent_at::{Carried, carry};
pub use front::{FRONT_VERB, main as front};
pub use fronts::{Fronts, Give};
#[doc(hidden)]
pub use judge::{Fact, Judge, REFUSED_MAX};
pub use known::{Client, Known};
pub use own_key::OwnKey;
pub use queue::Lengths;
#[doc(hidden)]
pub use relay::{End, Queues, WAITING_BYTES_MAX};
pub use service::Service;
pub use shared::AgentCommand;
