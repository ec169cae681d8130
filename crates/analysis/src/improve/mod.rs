//! What makes a run faster or cheaper: a ladder of changes, each tried by experiment.
//!
//! A step of the ladder is a test with all changes that were kept so far. From the bottleneck of the test follow the
//! changes to try. They are tried in rounds: studies of one factor, whose first level changes nothing
//! (docs/method/improve.md).

mod choose;
mod intervention;
mod interventions;
mod ladder;
mod round;

use crate::findings::Findings;

pub use crate::ladder::{End, Kept, Ladder, Measured, NotTried, Rung, Tried};
pub use bitcost_model::search::Goal;
pub use choose::{Offers, offers};
pub use intervention::{Candidate, Trial};
pub use interventions::INTERVENTIONS;
pub use round::{
    BLOCKS_LEAST, BLOCKS_MOST, FACTOR, FINALISTS, SCREENING_BLOCKS, blocks_planned, is_decided,
    measured, screened, winner,
};

/// A step of a ladder, as it was executed.
#[derive(Debug)]
pub struct Step {
    /// The test with the changes kept so far; absent for the first step, whose test has the ladder.
    pub test: Option<Findings>,
    /// The rounds, in their order.
    pub rounds: Vec<Findings>,
}

/// Adds the ladder of these steps to the findings of the first test. `refused`: what was not tried because this machine
/// or the user does not allow it.
pub fn apply(findings: &mut Findings, steps: &[Step], refused: &[NotTried]) {
    let ladder = Ladder::of(findings, steps, refused);
    findings.ladder = ladder;
}
