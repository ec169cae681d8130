//! The search for fast options of the cells that ask for it, before the first run of a study.

use std::time::{Duration, Instant};

use bitcost_analysis::experiment::{Base, Ladder, Search};
use bitcost_controller::Ending;
use bitcost_model::plan::Plan;
use bitcost_model::search::Goal;
use bitcost_model::study::LabSpec;
use bitcost_study::Study;

use super::bench::Bench;
use crate::error::ExecuteError;

/// The most time of a search.
const BUDGET: Duration = Duration::from_secs(3);

/// Searches for one cell; absent where the user stopped it.
///
/// # Errors
/// Those of the session; or where no trial has a result.
pub fn search(
    bench: &mut Bench,
    (study, plan, place): (&Study, &Plan, usize),
    lab: Option<&LabSpec>,
) -> Result<Option<Ladder>, ExecuteError> {
    let cell = &plan.cells[place];
    let name = match plan.cells.len() {
        1 => String::new(),
        _ => format!(" for {}", cell.name()),
    };
    let wanted = match cell.conditions.search_for {
        Goal::Rate => "fastest",
        Goal::Cost => "cheapest",
    };
    bench.progress.message(&format!(
        "searching for the {wanted} options{name}, for at most {} s",
        BUDGET.as_secs()
    ));
    let base = Base::searched(&cell.conditions, lab.cloned());
    let until = Instant::now() + BUDGET;
    let mut slowest = Duration::ZERO;
    let mut search = Search::new(base.clone(), place);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let next = search.next(left, slowest, &|how| {
            let mut names = how.settings.keys();
            names.all(|name| !study.names_setting(cell, name))
                && bench.changed(&base, Some(how)).is_ok()
        });
        let Some((changes, blocks)) = next else { break };
        let mut round = bench.plan(&search.base, &changes)?;
        let began = Instant::now();
        if bench.make(&mut round, (blocks, left), &|_| false)? == Ending::Interrupted {
            return Ok(None);
        }
        slowest = slowest.max(began.elapsed() / round.conditions.len() as u32);
        search.take(&round);
    }
    let ladder = search.ladder;
    let refused = ladder
        .untried
        .iter()
        .filter(|_| ladder.rungs[0].rate.is_none());
    let mut reasons: Vec<&str> = refused.map(|one| &*one.reason).collect();
    reasons.sort_unstable();
    reasons.dedup();
    if reasons.is_empty() {
        return Ok(Some(ladder));
    }
    Err(ExecuteError::Environment(format!(
        "mode = \"auto\"{name}: no trial has a result: {}; leave it out, or name the modes",
        reasons.join("; ")
    )))
}
