//! Where an agent runs: what started it, and the nodes whose counters it also reads.

use bitcost_model::confinement::Confinement;
use bitcost_model::protocol::Origin;
use bitcost_probe::{Between, foreign};

#[derive(Clone, Debug)]
pub struct Place {
    pub(crate) between: Between,
    /// The process whose descendants belong to the run; absent where it cannot be read.
    pub(crate) origin: Option<Origin>,
    /// What the service that started the agent holds it to; absent where none did.
    pub(crate) confinement: Option<Confinement>,
}

impl Place {
    pub fn of(confinement: Option<Confinement>, between: Between) -> Place {
        let origin = match confinement {
            // Everything that a controller started belongs to the run.
            None => foreign::parent_origin(),
            // A service's other processes are other clients' tests.
            Some(_) => foreign::own_origin(),
        };
        Place {
            between,
            origin,
            confinement,
        }
    }
}
