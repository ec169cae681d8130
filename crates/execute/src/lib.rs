//! Executes a study on its hosts: prepares both endpoints, measures the machines' constants, makes the
//! runs of the plan, and appends every event to the log before it is reported. It prints nothing: see
//! [`Progress`].

mod connection;
mod destination;
mod embedded;
mod error;
mod experiment;
pub mod files;
mod findings;
pub mod hosts;
pub mod identity;
pub mod labs;
mod local;
mod logged;
mod mesh;
mod prepared;
mod progress;
mod recorder;
pub mod requests;
mod round_trip;
pub mod running;
mod start;
pub mod store;
mod target;
mod trust;

pub use connection::Connection;
pub use destination::{Destination, check_without_lab};
pub use error::ExecuteError;
pub use experiment::{Allows, Experiment};
pub use findings::read;
pub use local::check_restored;
pub use logged::Logged;
pub use progress::Progress;
pub use recorder::Executed;
pub use start::Start;
