//! What an execution ends with: its answer, and whether it failed.

use bitcost_analysis::cells::{RunRow, Status};
use bitcost_analysis::findings::Findings;
use bitcost_render::answer::study_answer;
use bitcost_render::block::text;
use bitcost_render::explained::explanation_lines;
use bitcost_render::layout::NARROW;

use crate::failure::Failure;
use crate::format::Look;
use crate::opened::{self, say_log, say_place};
use crate::output;

/// Prints on standard error what follows the tables of a study: its answer, or after other forms
/// than text what limited each cell; and where the log is. The text of a single cell is its answer.
pub fn say_answer(findings: &Findings, look: &Look) {
    let folder = opened::folder(findings);
    let shown = output::shell_word(folder);
    if findings.single().is_some() || findings.mesh.is_some() {
        return say_log(Some(folder));
    }
    if look.is_for_people() {
        say_place(folder);
        let answer = text(&study_answer(findings, &shown), NARROW);
        return output::say(&format!("\n{}", answer.trim_end()));
    }
    for line in explanation_lines(&findings.explanation) {
        output::say(&format!("limiter: {line}"));
    }
    output::say_whole(&format!("why: bitcost explain {shown}"));
    say_log(Some(folder));
}

/// Fails if a run was interrupted; if runs were left out, with the reason of the first; and if a setting that was requested
/// of a single cell is not in effect.
pub fn check(findings: &Findings) -> Result<(), Failure> {
    let summary = &findings.summary;
    if let Some(why) = summary.runs.iter().find_map(|row| row.interrupted.clone()) {
        return Err(Failure::Check(why));
    }
    if findings.single().is_some() {
        let missed = findings.of_runs(|row| &row.not_in_effect);
        if !missed.is_empty() {
            let missed = missed.join("; ");
            return Err(Failure::Check(format!("not in effect: {missed}")));
        }
    }
    let unused = |row: &&RunRow| match row.status {
        Status::Failed | Status::Lost => true,
        Status::LeftOut => summary.excluded.iter().any(|run| run.run == row.run),
        Status::Used | Status::Interrupted | Status::Missing => false,
    };
    let unused: Vec<&RunRow> = summary.runs.iter().filter(unused).collect();
    let reason = unused.first().and_then(|row| row.reason.as_deref());
    let reason = reason.unwrap_or("it has no result");
    let message = match unused.len() {
        0 => return Ok(()),
        1 if summary.runs.len() == 1 => reason.to_owned(),
        1 => format!("1 run was left out: {reason}"),
        count => format!("{count} runs were left out; the first: {reason}"),
    };
    Err(match unused.iter().all(|row| row.host_lacks) {
        true => Failure::Environment(message),
        false => Failure::Check(message),
    })
}
