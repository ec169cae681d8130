//! Where an agent runs: what started it, and the nodes whose counters it also reads.

use bitcost_model::protocol::Origin;
use bitcost_probe::{Between, foreign};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parent {
    /// A controller: everything that it started belongs to the run.
    Controller,
    /// A service, whose other processes are other clients' tests.
    Service,
}

#[derive(Clone, Debug)]
pub struct Place {
    pub(crate) between: Between,
    /// The process whose descendants belong to the run; absent where it cannot be read.
    pub(crate) origin: Option<Origin>,
}

impl Place {
    pub fn of(parent: Parent, between: Between) -> Place {
        let origin = match parent {
            Parent::Controller => foreign::parent_origin(),
            Parent::Service => foreign::own_origin(),
        };
        Place { between, origin }
    }
}
