//! What is kept of a run until all of its execution are known.

use crate::explain::decide::RunSignals;
use crate::explain::figures::RunFigures;
use crate::explain::load::Load;
use crate::explain::warnings::RunFacts;
use crate::metrics::RunView;

/// Executions with more runs than this are explained by figures alone.
pub(crate) const MANY: usize = 3000;

/// What is kept of a run: numbers only, no samples.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(super) figures: RunFigures,
    pub(super) facts: RunFacts,
    pub(super) signals: RunSignals,
    /// What it had of each resource.
    pub(crate) load: Load,
}

impl Kept {
    /// What is kept of a run with these figures; `number` is its number in the order of execution, from 1.
    pub fn of(number: u64, view: &RunView, figures: RunFigures) -> Kept {
        Kept {
            figures,
            facts: RunFacts::of(number, view),
            signals: RunSignals::of(view),
            load: Load::of(view),
        }
    }
}
