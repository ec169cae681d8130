//! `bitcost test`: one run described by options, as netperf and iperf3 are used every day. It is a
//! study of one cell, executed and logged as every other.

mod arguments;
mod conditions;
mod described;
pub mod improve;
mod interleaved;
mod progress;

use std::time::Duration;

use bitcost_analysis::cells::Status;
use bitcost_analysis::findings::Findings;
use bitcost_controller::Ending;
use bitcost_execute::Experiment;
use bitcost_model::plan::Lengths;

use crate::failure::Failure;
use crate::format::Look;
use crate::opened::{self, say_log};
use crate::outcome::check;
use crate::output;
use crate::signals::stop_on_signals;
use described::Test;
use progress::Lines;

pub use arguments::Arguments;

const PROOF_BUDGET: Duration = Duration::from_secs(30);

/// Makes the run, or several, and prints the result.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let needs = |what: &str| Err(Failure::Usage(what.to_owned()));
    match arguments.against.is_given() {
        true => return interleaved::run(arguments),
        false if arguments.judging.fail_on.is_some() => {
            return needs(
                "--fail-on needs --against; one test alone is judged by --fail-under and --fail-over-cost",
            );
        }
        false if arguments.budget.is_some() && !arguments.prove => {
            return needs("--budget needs --prove or --against");
        }
        false => {}
    }
    let budget = arguments.budget.unwrap_or(PROOF_BUDGET);
    let experiment = arguments.prove.then_some(Experiment::Prove(budget));
    make(&Test::new(arguments)?, experiment)
}

/// Makes a test and the experiments that follow it, and prints the result.
fn make(test: &Test, experiment: Option<Experiment>) -> Result<(), Failure> {
    let arguments = test.arguments;
    let stop = stop_on_signals()?;
    let (study, look) = (&test.study, &arguments.look);
    look.check_test(study.until.is_some(), &study.base)?;
    let is_improved = matches!(experiment, Some(Experiment::Improve(..)));
    let mut lines = Lines {
        // What waits for the end of a panel is for standard error.
        is_text: look.is_for_people() && !arguments.live,
        is_verbose: look.verbose,
        is_silent: is_improved,
        is_stamped: arguments.timestamps,
        stop: stop.clone(),
        ..Lines::default()
    };
    if is_improved {
        output::say("step 0: the test as it is");
    }
    let lengths = Lengths {
        blocks: study.until.as_ref().map(|until| until.max_blocks),
        ..Lengths::default()
    };
    let executed = test.execute(study, lengths, experiment, &stop, &mut lines)?;
    let folder = executed.folder;
    if let (Err(_), Ok(findings)) = (&executed.ending, &executed.findings) {
        // What was measured, and could not be written.
        let _ = print(findings, look);
    }
    let ending = executed
        .ending
        .inspect_err(|_| folder.as_deref().into_iter().for_each(opened::say_place))?;
    let findings = executed.findings?;
    // A run of several is left out where it is stopped, and its log is kept.
    let has_begun = study.until.is_some() && has_measured(&findings);
    let is_empty = match is_improved {
        // Its lines take no event.
        true => !has_measured(&findings),
        false => !lines.has_run && !has_begun,
    };
    if ending == Ending::Interrupted && is_empty && lines.unprinted.is_none() {
        opened::remove(&findings);
        output::say("the run was stopped before anything was measured");
        return Err(Failure::InterruptedUnlogged);
    }
    let is_unprinted = lines.unprinted.is_some();
    let printed = lines.unprinted.map_or_else(|| print(&findings, look), Err);
    match has_measured(&findings) {
        true => say_log(folder.as_deref()),
        false => opened::remove(&findings),
    }
    match ending {
        // A test whose lines cannot be printed stops itself.
        Ending::Interrupted if !is_unprinted && printed != Err(Failure::OutputClosed) => {
            let has_figures = findings.first_run.is_some();
            if !has_figures {
                output::say("no run was complete: nothing but the log is kept");
            }
            Err(match arguments.no_log || !has_figures {
                true => Failure::InterruptedUnlogged,
                false => Failure::Interrupted,
            })
        }
        _ => printed.and_then(|()| arguments.gates.check(&findings)),
    }
}

/// Prints the result, if any run has one, and checks it.
fn print(findings: &Findings, look: &Look) -> Result<(), Failure> {
    if findings.first_run.is_some() {
        look.print(std::slice::from_ref(findings))?;
    }
    check(findings)
}

/// Whether a run has a result, or was stopped.
fn has_measured(findings: &Findings) -> bool {
    let mut runs = findings.summary.runs.iter();
    runs.any(|row| {
        matches!(
            row.status,
            Status::Used | Status::LeftOut | Status::Interrupted
        )
    })
}
