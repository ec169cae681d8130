//! What is kept of a run until all of its execution are known.

use bitcost_model::record::Role;

use crate::explain::decide::RunSignals;
use crate::explain::figures::RunFigures;
use crate::explain::load::Load;
use crate::metrics::{Figures, RunView, wire_load};

/// Executions with more runs than this are explained by figures alone.
pub(crate) const MANY: usize = 3000;

/// What is kept of a run: numbers only, no samples.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(super) figures: RunFigures,
    pub(super) signals: RunSignals,
    /// What it had of each resource.
    pub(crate) load: Load,
    /// Whether most of the work on an endpoint's full CPU was the wire's.
    pub(super) is_limited_by_wire: bool,
}

impl Kept {
    /// What is kept of a run with these figures; `run` is its place in the order, from 0.
    pub fn of(run: u32, view: &RunView, figures: &Figures) -> Kept {
        let limits = |role| wire_load(view, role).is_some_and(|load| load.limits());
        Kept {
            figures: RunFigures::with(u64::from(run) + 1, view.conditions, figures),
            signals: RunSignals::of(view),
            load: Load::of(view),
            is_limited_by_wire: limits(Role::Sender) || limits(Role::Receiver),
        }
    }
}
