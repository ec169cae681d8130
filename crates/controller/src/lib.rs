//! The only loop of an execution: it takes the next run, directs both agents, and emits events.
//!
//! The controller knows agents only by their control protocol, and starts each by its [`Endpoint`].
//! It writes and shows nothing: every event goes to the sink that it is given.

mod clock;
mod constants;
mod endpoint;
mod error;
mod idle;
mod observer;
mod pair;
mod pool;
mod process;
mod route;
mod run;
mod session;
mod transport;

pub use crate::endpoint::{Bootstrap, Endpoint, Endpoints, Explain, Start};
pub use crate::error::{AgentEnd, ControllerError};
pub use crate::observer::Observer;
pub use crate::pair::Pair;
pub use crate::pool::Pool;
pub use crate::process::Processes;
pub use crate::run::Sink;
pub use crate::session::{Ending, PathControl, Session, now};
pub use crate::transport::{AgentId, Incoming, Link, Transport};
