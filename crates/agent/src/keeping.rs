//! Who puts the host back when this agent cannot: nobody in a lab, which goes away with its processes.

use host::{Journal, NoJournal};

/// How the host is kept.
#[derive(Clone, Debug, Default)]
pub struct Keeping {}

impl Keeping {
    /// For a host that is gone with its processes.
    pub fn lab() -> Keeping {
        Keeping {}
    }

    /// Whether this is a host of a lab.
    pub fn is_lab(&self) -> bool {
        true
    }

    /// Where the changes of one run are written down.
    pub fn journal(&self) -> Result<Box<dyn Journal>, String> {
        Ok(Box::new(NoJournal))
    }
}
