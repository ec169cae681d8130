//! What makes a test faster or cheaper: short runs try what may relax its bottleneck, the change that gains is kept, and the
//! next step begins with the test that has it.

use std::time::{Duration, Instant};

use bitcost_analysis::experiment::{Base, End, Ladder};
use bitcost_analysis::findings::Findings;
use bitcost_controller::Ending;
use bitcost_model::conditions::Conditions;
use bitcost_model::event::Event;
use bitcost_model::plan::Plan;
use bitcost_model::search::{Changes, Decision, Goal};

use super::bench::Bench;
use super::prove::prove;
use crate::error::ExecuteError;

/// Makes the steps, and adds the ladder to the findings of the first test, which changes `base`.
///
/// # Errors
/// When the log cannot be written. An error of the session ends the steps, and is said.
pub(super) fn improve(
    bench: &mut Bench,
    (first, place): (&mut Findings, &Event),
    mut base: Base,
    goal: Goal,
    budget: Duration,
) -> Result<Ending, ExecuteError> {
    let until = Instant::now() + budget;
    let mut ladder = Ladder::new(&base.conditions, goal, None);
    ladder.tested((&first.summary, first.explanation.cells.first()), &base);
    base.goal = Some(goal);
    keep_rate(&mut base, goal);
    let ending = climb(bench, (first, place), base, &mut ladder, until);
    let ending = ending.unwrap_or_else(|error| {
        bench.failed(&error);
        Ending::Complete
    });
    let decided = bench.decide(Decision::Changes(serde_json::json!(ladder)));
    // What cannot be written is printed all the same.
    first.ladder = Some(ladder);
    decided.map(|()| ending)
}

/// Makes all further runs keep the rate of the first test, for the least cost.
fn keep_rate(base: &mut Base, goal: Goal) {
    let conditions = &base.conditions;
    let has_rate = conditions.rate_bps.is_some() || conditions.message_rate.is_some();
    if goal == Goal::Cost && !has_rate && !conditions.workload.is_transactional() {
        let rate = 1e6 * base.rate / f64::from(conditions.flows);
        base.conditions.rate_bps = Some(rate.round() as u64);
    }
}

/// One step after the other, until nothing gains or the time is over.
fn climb(
    bench: &mut Bench,
    of: (&Findings, &Event),
    mut base: Base,
    ladder: &mut Ladder,
    until: Instant,
) -> Result<Ending, ExecuteError> {
    loop {
        let done = ladder.kept().map(|kept| kept.tried.label.clone()).collect();
        let (proving, ending) = prove(bench, &base, done, until)?;
        ladder.take(&proving);
        if ending == Ending::Interrupted {
            ladder.end = End::Early;
            return Ok(ending);
        }
        let Some((change, tried)) = proving.fastest() else {
            return Ok(ending);
        };
        let own = &base.conditions;
        let conditions = Conditions {
            duration_ms: own.duration_ms,
            warmup_ms: own.warmup_ms,
            idle_baseline_ms: own.idle_baseline_ms,
            ..bench.changed(&base, Some(&change.how))?
        };
        let left = until.saturating_duration_since(Instant::now());
        let has_time = Plan::of_one(conditions.clone()).total_time() <= left;
        let lack = if has_time { "" } else { " needs more time" };
        let label = &change.how.label;
        let message = format!("kept: {label}; the test with what is kept{lack}");
        bench.progress.message(&message);
        ladder.keep(&change, tried);
        if !has_time {
            return Ok(ending);
        }
        let kept = ladder.kept().flat_map(|kept| kept.settings.clone());
        let settings: Changes = kept.collect();
        let (ending, tested) = bench.test(of, &conditions, settings)?;
        let Some((test, mut next)) = tested else {
            return Ok(ending);
        };
        ladder.tested((&test.summary, test.explanation.cells.first()), &next);
        next.goal = base.goal;
        base = next;
    }
}
