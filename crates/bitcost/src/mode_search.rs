//! `--mode auto`: the short runs that find the fastest pair of modes, on the path and in the session of the run.

use std::collections::BTreeSet;

use drive::{Ending, Session};
use metrics::RunView;
use model::conditions::Conditions;
use model::event::{Event, FailureKind};
use model::mode_search::{ModeSearch, Try};
use model::plan::Plan;

use crate::failure::Failure;
use crate::place::Facts;

/// Tries every candidate, then the best ones again.
///
/// # Errors
/// Check, when not one pair could be measured; else those of the session.
pub fn search(session: &mut Session, search: &mut ModeSearch, facts: Facts) -> Result<(), Failure> {
    play(session, search, &search.first_round(), facts)?;
    for round in search.later_rounds() {
        play(session, search, &round, facts)?;
    }
    if search.chosen().is_some() {
        return Ok(());
    }
    let reasons: BTreeSet<&str> =
        search.candidates.iter().filter_map(|candidate| candidate.refused.as_deref()).collect();
    let reasons: Vec<&str> = reasons.into_iter().collect();
    Err(Failure::Check(format!("--mode auto found no pair of modes that works here: {}", reasons.join("; "))))
}

fn play(session: &mut Session, search: &mut ModeSearch, plan: &Plan, facts: Facts) -> Result<(), Failure> {
    let mut take = |event: Event| {
        match event {
            Event::RunEnded { run, sender, receiver, .. } => {
                let Some(planned) = plan.runs.iter().find(|planned| planned.index == run) else { return Ok(()) };
                let conditions: &Conditions = &plan.cells[planned.cell].conditions;
                let view = facts.view(&sender, &receiver, conditions);
                let candidate = &mut search.candidates[run as usize];
                match outcome(&view) {
                    Ok(outcome) => candidate.tries.push(outcome),
                    Err(reason) => candidate.refused = Some(reason),
                }
            }
            Event::RunFailed { run, kind: FailureKind::Failed | FailureKind::Lost, reason } => {
                search.candidates[run as usize].refused = Some(reason);
            }
            _ => {}
        }
        Ok(())
    };
    match session.execute(plan, &BTreeSet::new(), &mut take)? {
        Ending::Complete => Ok(()),
        Ending::Interrupted => Err(Failure::Interrupted),
    }
}

fn outcome(run: &RunView) -> Result<Try, String> {
    let figure = |name: &str| metrics::metric(name).and_then(|metric| (metric.compute)(run));
    let throughput_mbps = figure("throughput_mbps").filter(|mbps| *mbps > 0.0);
    Ok(Try {
        throughput_mbps: throughput_mbps.ok_or("nothing was received in its window")?,
        send_service_demand_us_per_kib: figure("send_service_demand_us_per_kib"),
        receive_service_demand_us_per_kib: figure("receive_service_demand_us_per_kib"),
    })
}
