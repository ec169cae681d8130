//! What became of an execution's runs, if not all of them are in its figures.

use bitcost_model::units::counted;

use crate::cells::Status;
use crate::findings::Findings;

/// `a: of 30 planned runs: 3 failed, 1 left out, 2 used but disturbed; it did not finish`; absent where every
/// run was made, used and undisturbed.
pub(super) fn run_remarks(execution: &Findings) -> Option<String> {
    let rows = &execution.summary.runs;
    let count = |status: &[Status]| {
        rows.iter()
            .filter(|row| status.contains(&row.status))
            .count()
    };
    let lost = [
        (
            count(&[Status::Failed, Status::Lost, Status::Interrupted]),
            "failed",
        ),
        (count(&[Status::LeftOut]), "left out"),
        (count(&[Status::Missing]), "not made"),
        (
            rows.iter()
                .filter(|row| row.status == Status::Used && row.is_disturbed)
                .count(),
            "used but disturbed",
        ),
    ];
    let lost: Vec<String> = lost
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let ended = execution.summary.is_ended;
    let of = (!lost.is_empty()).then(|| {
        format!(
            "of {}: {}",
            counted(rows.len(), "planned run"),
            lost.join(", ")
        )
    });
    let parts: Vec<String> = of
        .into_iter()
        .chain((!ended).then(|| "it did not finish".to_owned()))
        .collect();
    (!parts.is_empty()).then(|| format!("{}: {}", execution.name, parts.join("; ")))
}
