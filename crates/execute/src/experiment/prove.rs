//! The rounds of an experiment on a test: short runs with large changes of what is suspected.

use std::time::{Duration, Instant};

use bitcost_analysis::experiment::{Base, Proving, Round};
use bitcost_controller::Ending;
use bitcost_model::units::{counted, show_duration};

use super::bench::Bench;
use crate::error::ExecuteError;

/// Tries changes until something is shown, all was tried, or the time does not hold the next round. `done` has the labels of
/// those that are not tried.
///
/// # Errors
/// When the log cannot be written. An error of the session ends the experiments, and is said.
pub(super) fn prove<'a>(
    bench: &mut Bench,
    base: &'a Base,
    done: Vec<String>,
    until: Instant,
) -> Result<(Proving<'a>, Ending), ExecuteError> {
    let mut proving = Proving::new(base, done);
    let unchanged = bench.plan(base, &[])?;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let run_time = bench.block_time(&unchanged);
        let runs = left.div_duration_f64(run_time) as usize;
        let next = proving.next(runs, &|how| bench.changed(base, Some(how)).map(|_| ()));
        let Some((changes, blocks)) = next else {
            return Ok((proving, Ending::Complete));
        };
        let mut round = bench.plan(base, &changes)?;
        if bench.block_time(&round) > left {
            return Ok((proving, Ending::Complete));
        }
        let about = match base.goal {
            None => "experiments on the verdict",
            Some(_) => "trying what may be better",
        };
        bench.progress.message(&format!(
            "{about}: {}, at most {}",
            counted(changes.len(), "change"),
            show_duration(Duration::from_secs(left.as_secs().max(1)))
        ));
        let is_settled = |round: &Round| proving.is_settled(round);
        let made = bench.make(&mut round, (blocks, left), &is_settled);
        proving.take(round);
        match made {
            Ok(Ending::Complete) => {}
            Ok(ending) => return Ok((proving, ending)),
            Err(error) => {
                bench.failed(&error);
                return Ok((proving, Ending::Complete));
            }
        }
    }
}
