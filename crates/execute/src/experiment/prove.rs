//! What limits a test: short runs with large changes of what is suspected.

use std::time::{Duration, Instant};

use bitcost_analysis::experiment::{Base, How, Proving, Round};
use bitcost_analysis::explain::Proof;
use bitcost_controller::Ending;
use bitcost_model::units::{counted, show_duration};

use super::bench::Bench;
use crate::error::ExecuteError;

/// The least window of a run that also shows what limits a test with a change, in milliseconds: enough for a verdict.
pub(super) const AFTER_MS: u32 = 1000;

/// Tries changes until something is proved, all was tried, or the budget does not hold the next round. Also returns the
/// change that made the test fastest.
///
/// # Errors
/// When the log cannot be written. An error of the session ends the experiments, and is said.
pub(super) fn prove(
    bench: &mut Bench,
    base: &Base,
    budget: Duration,
) -> Result<(Proof, Option<How>, Ending), ExecuteError> {
    let until = Instant::now() + budget;
    let mut proving = Proving::new(base);
    let mut ending = Ending::Complete;
    bench.last_ms = Some(AFTER_MS);
    let unchanged = bench.plan(base, &[], false)?;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let run_time = bench.block_time(&unchanged);
        let runs = left.div_duration_f64(run_time) as usize;
        let next = proving.next(runs, &|how| {
            let conditions = bench.changed(base, Some(how), false);
            conditions.map(|_| ())
        });
        let Some((changes, blocks)) = next else {
            break;
        };
        let mut round = bench.plan(base, &changes, false)?;
        if bench.block_time(&round) > left {
            break;
        }
        bench.progress.message(&format!(
            "experiments on the verdict: {}, at most {}",
            counted(changes.len(), "change"),
            show_duration(Duration::from_secs(left.as_secs().max(1)))
        ));
        let is_settled = |round: &Round| proving.is_settled(round);
        let made = bench.make(&mut round, (blocks, left), &is_settled);
        proving.take(round);
        match made {
            Ok(Ending::Complete) => {}
            Ok(ended) => {
                ending = ended;
                break;
            }
            Err(error) => {
                bench.failed(&error);
                break;
            }
        }
    }
    bench.last_ms = None;
    Ok((proving.proof(), proving.fastest(), ending))
}
