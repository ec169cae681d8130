//! What is kept of a run until all of its execution are known.

use bitcost_model::record::Role;

use crate::explain::cost::Packet;
use crate::explain::load::Load;
use crate::explain::signals::Signals;
use crate::metrics::{Figures, RunView, wire_load};

/// The most runs of an execution that are explained: the first ones.
pub(crate) const MANY: usize = 3000;

/// What is kept of a run: numbers only, no samples.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(super) packet: Option<Packet>,
    pub(crate) signals: Signals,
    /// What it had of each resource.
    pub(crate) load: Load,
    /// Whether most of the work on an endpoint's full CPU was the wire's.
    pub(super) is_limited_by_wire: bool,
}

impl Kept {
    /// What is kept of a run with these figures.
    pub fn of(view: &RunView, figures: &Figures) -> Kept {
        let limits = |role| wire_load(view, role).is_some_and(|load| load.limits());
        Kept {
            packet: Packet::of(view.conditions, figures),
            signals: Signals::of(view),
            load: Load::of(view),
            is_limited_by_wire: limits(Role::Sender) || limits(Role::Receiver),
        }
    }
}
