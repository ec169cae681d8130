//! A step of a ladder, as it was executed.

use crate::findings::Findings;

/// A step: its rounds, and, of all but the first step, its test.
#[derive(Debug)]
pub struct Step {
    /// The test with the changes kept so far; absent for the first step, whose test has the ladder.
    pub test: Option<Findings>,
    /// The rounds, in their order.
    pub rounds: Vec<Findings>,
}
