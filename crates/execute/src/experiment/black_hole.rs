//! A test of which full packets never arrived: smaller ones are tried, and the largest size that passes is looked for.

use bitcost_analysis::experiment::BlackHole;
use bitcost_analysis::findings::Findings;
use bitcost_controller::Ending;
use bitcost_model::conditions::{Conditions, Mss};
use bitcost_model::search::{Changes, Decision};

use super::bench::Bench;
use crate::error::ExecuteError;

/// Makes these trials, where a test asks for them, and adds what they show; absent where it does not.
///
/// # Errors
/// When the log cannot be written. An error of the session ends the trials, and is said.
pub fn look(bench: &mut Bench, findings: &mut Findings) -> Result<Option<Ending>, ExecuteError> {
    let Some(mut hole) = BlackHole::of(findings) else {
        return Ok(None);
    };
    bench
        .progress
        .message("full packets do not arrive: smaller ones are tried");
    let rate = match tried(bench, &mut hole) {
        Ok(rate) => rate,
        Err(Stopped::ByUser) => return Ok(Some(Ending::Interrupted)),
        Err(Stopped::Failed(error)) => {
            bench.failed(&error);
            return Ok(Some(Ending::Complete));
        }
        Err(Stopped::Open(why)) => {
            let why = format!("it is not known which packets arrive: a trial failed: {why}");
            bench.progress.message(&why);
            return Ok(Some(Ending::Complete));
        }
    };
    let proof = hole.proof(rate);
    let decided = bench.decide(Decision::Bottleneck(serde_json::json!(proof)));
    // What cannot be written is printed all the same.
    findings.prove(proof);
    decided.map(|()| Some(Ending::Complete))
}

/// Why there is no answer.
enum Stopped {
    ByUser,
    Failed(ExecuteError),
    /// A trial failed for another reason than that nothing arrived.
    Open(String),
}

/// The rate with the largest segments that pass; absent where small ones do not, or full ones do.
fn tried(bench: &mut Bench, hole: &mut BlackHole) -> Result<Option<f64>, Stopped> {
    let mut made = |mut conditions: Conditions| -> Result<Option<f64>, Stopped> {
        // A peer may have no warm-up.
        if (bench.allows)(&conditions).is_err() {
            conditions.warmup_ms = 0;
        }
        let trial = bench.trial(settings(&conditions), &conditions, &mut Vec::new());
        let ended = trial.map_err(Stopped::Failed)?.ok_or(Stopped::ByUser)?;
        bench.rounds += 1;
        let run = ended.map_err(|why| Stopped::Open(why.0))?;
        Ok(run.ok().map(|run| run.rate))
    };
    let [small, full] = hole.bounds();
    let Some(passed) = made(hole.test(small))? else {
        return Ok(None);
    };
    let is_probed = !hole.is_of_answers() && made(hole.probe(small))?.is_some();
    // A path that was dead for a while passes full packets again.
    let again = match is_probed {
        true => hole.probe(full),
        false => hole.test(full),
    };
    if made(again)?.is_some() {
        return Ok(None);
    }
    while let Some(size) = hole.next().filter(|_| is_probed) {
        let passes = made(hole.probe(size))?.is_some();
        hole.take(size, passes);
    }
    let largest = made(hole.test(hole.bounds()[0]))?;
    Ok(Some(largest.unwrap_or(passed)))
}

/// What a trial differs by from the test.
fn settings(trial: &Conditions) -> Changes {
    let settings = match trial.mss {
        Some(Mss::Bytes(size)) => vec![("mss", size.to_string())],
        _ => vec![
            ("workload", trial.workload.name().to_owned()),
            ("message_size_bytes", trial.message_size_bytes.to_string()),
        ],
    };
    let named = settings.into_iter();
    named
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
