//! What limits a test: short runs in which a little of one resource after the other is taken away.

use std::time::{Duration, Instant};

use bitcost_analysis::experiment::{
    Base, Change, Round, is_enough, judge, needs_screening, standing_out, tightening,
};
use bitcost_analysis::explain::{Decision, NotTried, Proof};
use bitcost_controller::Ending;
use bitcost_model::units::{counted, show_duration};

use super::bench::Bench;
use crate::error::ExecuteError;

/// The most blocks of a round that decides, of which the budget allows fewer.
const BLOCKS_PLANNED: u32 = 60;

/// The suspects first; where the throughput follows none of them, all other resources. Where nothing is suspected, one
/// block of all, and then those with an effect.
///
/// # Errors
/// When the log cannot be written. An error of the session ends the experiments, and is said.
pub(super) fn prove(
    bench: &mut Bench,
    base: &Base,
    budget: Duration,
) -> Result<(Proof, Ending), ExecuteError> {
    let until = Instant::now() + budget;
    let (mut rounds, mut untried): (Vec<Round>, Vec<NotTried>) = (Vec::new(), Vec::new());
    let (mut done, mut screened): (Vec<String>, Vec<Change>) = (Vec::new(), Vec::new());
    let mut ending = Ending::Complete;
    for _ in 0..2 {
        let offers = tightening(base, &done, &|how| {
            bench.changed(base, Some(how), false).map(|_| ())
        });
        let screens = done.is_empty() && needs_screening(base, &offers.changes);
        done.extend(offers.labels());
        untried.extend(offers.untried);
        let mut changes = offers.changes;
        changes.append(&mut screened);
        if changes.is_empty() {
            continue;
        }
        let mut round = bench.plan(base, &changes, screens)?;
        let left = until.saturating_duration_since(Instant::now());
        bench.progress.message(&format!(
            "experiments on the verdict: {}, at most {}",
            counted(changes.len(), "change"),
            show_duration(Duration::from_secs(left.as_secs().max(1)))
        ));
        let blocks = if screens { 1 } else { BLOCKS_PLANNED };
        let made = bench.make(&mut round, (blocks, left), &|round| {
            is_enough(base, &judge(base, &[], &[round], true))
        });
        rounds.push(round);
        ending = match made {
            Ok(ending) => ending,
            Err(error) => {
                bench
                    .progress
                    .message(&format!("experiments failed: {error}"));
                break;
            }
        };
        let all: Vec<&Round> = rounds.iter().collect();
        let proof = judge(base, &[], &all, false);
        let is_open = proof.tried.iter().any(|one| one.limits == Decision::Open);
        if screens && ending == Ending::Complete {
            screened = standing_out(changes, &proof.tried);
        } else if ending == Ending::Interrupted
            || proof.limiter().is_some()
            || !proof.is_sound
            || is_open
        {
            break;
        }
    }
    let all: Vec<&Round> = rounds.iter().collect();
    Ok((judge(base, &untried, &all, false), ending))
}
