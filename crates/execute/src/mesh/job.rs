//! What the runs of a mesh need, and what they cannot request.

use bitcost_model::plan::Plan;
use bitcost_study::Study;
use bitcost_study::mesh::Mesh;

use crate::destination::Destination;
use crate::error::ExecuteError;

pub struct Job<'a> {
    pub study: &'a Study,
    pub mesh: &'a Mesh,
    pub plan: &'a Plan,
    pub destination: &'a Destination,
    pub command_line: &'a [String],
}

pub(super) fn possible(plan: &Plan) -> Result<(), ExecuteError> {
    let refused = plan.cells.iter().find_map(|cell| {
        let conditions = &cell.conditions;
        [
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
