//! What the runs of a mesh need, and what they cannot request.

use bitcost_model::plan::Plan;
use bitcost_study::Study;
use bitcost_study::mesh::Mesh;

use crate::destination::Destination;
use crate::error::ExecuteError;

/// A mesh that is executed.
pub struct Job<'a> {
    pub study: &'a Study,
    pub mesh: &'a Mesh,
    /// Its runs.
    pub plan: &'a Plan,
    /// How its hosts are reached.
    pub destination: &'a Destination,
    /// The command line, for the log.
    pub command_line: &'a [String],
}

/// Refuses what the runs of a mesh cannot request.
pub(super) fn possible(plan: &Plan) -> Result<(), ExecuteError> {
    let refused = plan.cells.iter().find_map(|cell| {
        let conditions = &cell.conditions;
        [
            (conditions.program.is_some(), "program"),
            (conditions.mode_auto, "mode = \"auto\""),
            (
                conditions.emulator_queue_limit.is_some(),
                "emulator_queue_limit",
            ),
            (conditions.path_change.is_some(), "path_change"),
            (conditions.moderation_us.is_some(), "moderation"),
        ]
        .into_iter()
        .find_map(|(is_there, name)| is_there.then_some(name))
    });
    refused.map_or(Ok(()), |name| {
        Err(ExecuteError::Usage(format!(
            "the runs of a mesh have no {name}; leave it out, or study two hosts"
        )))
    })
}
