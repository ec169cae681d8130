//! `bitcost test`: one run described by options, as netperf and iperf3 are used every day. It is a
//! study of one cell, executed and logged as every other.

mod arguments;
mod conditions;
mod described;
mod form;
mod modes;
mod progress;
mod repetition;
mod result;

use std::io::IsTerminal;

use bitcost_analysis::cells::Status;
use bitcost_controller::Ending;
use bitcost_execute::Executed;

use crate::failure::Failure;
use crate::opened::{Opened, say_log};
use crate::options::lab::say_warnings;
use crate::output;
use crate::signals::stop_on_signals;
use described::Test;
use progress::Lines;
use repetition::Repetition;
use result::Outcome;

pub use arguments::Arguments;

/// Makes the run, or several, and prints the result.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let stop = stop_on_signals()?;
    let mut test = Test::new(arguments)?;
    let is_repeated = arguments.repeats.repeat.is_some();
    arguments.form.check(
        test.until.is_some() || is_repeated,
        arguments.no_log,
        &test.typed.conditions,
    )?;
    let plan = test.study(None)?.plan(0, test.lengths(None));
    arguments.repeats.check_interval(&plan)?;
    let search = match test.modes()? {
        Some(search) => Some(test.search(search, &stop)?),
        None => None,
    };
    let study = test.study(None)?;
    // In a running lab `lab show --hints` prints them.
    if study.lab.running.is_none() {
        let plan = study.plan(0, test.lengths(None));
        say_warnings(&test.destination.warnings(&study, &plan));
    }
    let mut lines = Lines::new(
        arguments.form.is_text(),
        arguments.form.verbose,
        stop.clone(),
    );
    lines.repeated = is_repeated.then(Repetition::default);
    let Executed { log, ending } = test.execute(&study, None, &stop, &mut lines)?;
    let opened = Opened::of(log)?;
    let ending = ending.inspect_err(|_| say_log(&opened))?;
    let outcome = Outcome {
        opened: &opened,
        until: test.until.as_ref(),
        search: search.as_ref(),
        lab: test.lab.as_ref().map(|lab| lab.topology.as_str()),
    };
    if ending == Ending::Interrupted && !lines.has_run && lines.printed.is_ok() {
        return Err(stopped(&opened, lines.so_far()));
    }
    let is_unprinted = lines.printed.is_err();
    let printed = lines.printed.and_then(|()| outcome.print(arguments.form));
    // A series keeps the reasons why all of its runs failed.
    match is_repeated || has_measured(&opened)? {
        true => say_log(&opened),
        false => opened.remove(),
    }
    match ending {
        // A test whose lines cannot be printed stops itself.
        Ending::Interrupted if !is_unprinted && printed != Err(Failure::OutputClosed) => {
            Err(match arguments.no_log {
                true => Failure::InterruptedUnlogged,
                false => Failure::Interrupted,
            })
        }
        _ => printed,
    }
}

/// Says what a run had carried when it was stopped, in rates, and where that is kept.
fn stopped(opened: &Opened, so_far: Option<String>) -> Failure {
    let Some(rates) = so_far else {
        opened.remove();
        output::say("the run was stopped before anything was measured");
        return Failure::InterruptedUnlogged;
    };
    if std::io::stderr().is_terminal() {
        // The terminal has shown `^C` on this line.
        output::say("");
    }
    output::say(&format!(
        "the run was stopped before its end; until then {rates}; its CPU cost is not known"
    ));
    say_log(opened);
    match opened.file() {
        Ok(_) => Failure::Interrupted,
        Err(_) => Failure::InterruptedUnlogged,
    }
}

/// Whether a run has a result, or was stopped.
fn has_measured(opened: &Opened) -> Result<bool, Failure> {
    let execution = opened.execution()?;
    let mut runs = execution.summary.runs.iter();
    Ok(runs.any(|row| {
        matches!(
            row.status,
            Status::Used | Status::LeftOut | Status::Interrupted
        )
    }))
}
