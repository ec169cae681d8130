//! The search for fast options of the cells that ask for it, before the first run of a study.

use std::collections::BTreeSet;
use std::time::Instant;

use bitcost_analysis::log::measured;
use bitcost_controller::Ending;
use bitcost_model::conditions::Conditions;
use bitcost_model::event::Event;
use bitcost_model::plan::Plan;
use bitcost_model::search::{Goal, Measured, Search};
use bitcost_model::{Invalid, Unavailable};
use bitcost_study::Study;
use bitcost_study::mode_search::{BUDGET, ModeSearch, apply};

use crate::error::ExecuteError;
use crate::prepared::Prepared;
use crate::progress::Progress;

/// A sentence where conditions are not possible at the endpoints.
pub type Allows = fn(&Conditions) -> Result<(), Invalid>;

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
    let is_kept = |name: &str| study.names_setting(cell, name);
    let possible = |conditions: &Conditions| {
        conditions.check(mtu_bytes)?;
        allows(conditions)
    };
    let goal = cell.conditions.search_for;
    let mut search = ModeSearch::new(&cell.conditions, &is_kept, &possible).of_goal(goal);
    let name = match plan.cells.len() {
        1 => String::new(),
        _ => format!(" for {}", cell.name()),
    };
    let most = BUDGET.as_secs();
    let wanted = match goal {
        Goal::Rate => "fastest",
        Goal::Cost => "cheapest",
    };
    progress.message(&format!(
        "searching for the {wanted} options{name}, for at most {most} s"
    ));
    let began = Instant::now();
    while let Some(conditions) = search.next(began.elapsed()) {
        let trial = Instant::now();
        let Some(outcome) = try_once(prepared, conditions)? else {
            return Ok(None);
        };
        search.take(outcome, trial.elapsed());
    }
    let found = search.found(place, began.elapsed());
    found.map(Some).map_err(|reasons| {
        ExecuteError::Usage(format!(
            "mode = \"auto\"{name}: no trial has a result: {reasons}; leave it out, or name the modes"
        ))
    })
}

/// One short run: what it measured, or why it did not; absent where the user stopped it.
fn try_once(
    prepared: &mut Prepared,
    conditions: Conditions,
) -> Result<Option<Result<Measured, Unavailable>>, ExecuteError> {
    let facts = prepared.facts();
    let mut outcome = Err(Unavailable("it has no result".to_owned()));
    let mut take = |event: Event| {
        match event {
            Event::RunEnded {
                sender, receiver, ..
            } => outcome = measured(facts, [&sender, &receiver], &conditions),
            Event::RunFailed { reason, .. } => outcome = Err(Unavailable(reason)),
            _ => {}
        }
        Ok(())
    };
    let plan = Plan::of_one(conditions.clone());
    let ending = prepared
        .session
        .execute(&plan, &BTreeSet::new(), &mut take)?;
    Ok((ending == Ending::Complete).then_some(outcome))
}
