//! The search for fast options of the cells that ask for it, before the first run of a study.

use std::time::Instant;

use bitcost_analysis::log::measured;
use bitcost_model::plan::Plan;
use bitcost_model::record::EndpointRecord;
use bitcost_model::search::{Goal, Search};
use bitcost_study::Study;
use bitcost_study::mode_search::{BUDGET, ModeSearch, apply};

use super::trial::{Allows, try_once};
use crate::error::ExecuteError;
use crate::prepared::Prepared;
use crate::progress::Progress;

/// The cells of a plan for which there is to be a search.
pub fn wanted(plan: &Plan) -> impl Iterator<Item = usize> {
    let cells = plan.cells.iter().enumerate();
    cells
        .filter(|(_, cell)| cell.conditions.mode_auto)
        .map(|(place, _)| place)
}

/// Gives a cell of a plan what its search took.
pub fn settle(plan: &mut Plan, search: &Search) {
    if let Some(cell) = plan.cells.get_mut(search.cell) {
        // The search made runs with these settings.
        let _ = apply(&search.taken, &mut cell.conditions);
    }
}

/// Searches for one cell; absent where the user stopped it.
///
/// # Errors
/// Those of the session; or where no trial has a result.
pub fn search(
    prepared: &mut Prepared,
    (study, plan, place): (&Study, &Plan, usize),
    allows: Allows,
    progress: &mut dyn Progress,
) -> Result<Option<Search>, ExecuteError> {
    let cell = &plan.cells[place];
    let mtu_bytes = study.lab.mtu_bytes;
    let goal = cell.conditions.search_for;
    let search = ModeSearch {
        conditions: &cell.conditions,
        goal,
        is_kept: &|name| study.names_setting(cell, name),
        possible: &|one| one.check(mtu_bytes).is_ok() && allows(one).is_ok(),
    };
    let name = match plan.cells.len() {
        1 => String::new(),
        _ => format!(" for {}", cell.name()),
    };
    let wanted = match goal {
        Goal::Rate => "fastest",
        Goal::Cost => "cheapest",
    };
    let most = BUDGET.as_secs();
    progress.message(&format!(
        "searching for the {wanted} options{name}, for at most {most} s"
    ));
    let facts = prepared.facts();
    let found = search.search(place, |conditions| {
        let began = Instant::now();
        let take = |ends: [&EndpointRecord; 2]| measured(facts, ends, conditions);
        let outcome = try_once(&mut prepared.session, conditions, take)?;
        Ok::<_, ExecuteError>(outcome.map(|outcome| (outcome, began.elapsed())))
    })?;
    let Some(found) = found else { return Ok(None) };
    let mut refused: Vec<&String> = found
        .trials
        .iter()
        .filter_map(|one| one.refused.as_ref())
        .collect();
    if refused.is_empty() || refused.len() < found.trials.len() {
        return Ok(Some(found));
    }
    refused.sort();
    refused.dedup();
    let reasons: Vec<&str> = refused.into_iter().map(String::as_str).collect();
    Err(ExecuteError::Usage(format!(
        "mode = \"auto\"{name}: no trial has a result: {}; leave it out, or name the modes",
        reasons.join("; ")
    )))
}
