//! `bitcost test`: one run described by options, as netperf and iperf3 are used every day. It is a
//! study of one cell, executed and logged as every other.

mod arguments;
mod conditions;
mod described;
mod form;
mod modes;
mod progress;
mod result;

use bitcost_controller::Ending;
use bitcost_execute::Executed;

use crate::failure::Failure;
use crate::opened::{Opened, say_log};
use crate::options::lab::say_warnings;
use crate::output;
use crate::signals::stop_on_signals;
use described::Test;
use progress::Lines;
use result::Outcome;

pub use arguments::Arguments;

/// Makes the run, or several, and prints the result.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let stop = stop_on_signals()?;
    let mut test = Test::new(arguments)?;
    arguments.form.check(
        test.until.is_some(),
        arguments.no_log,
        &test.typed.conditions,
    )?;
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
    let mut lines = Lines::new(arguments.form.is_text(), stop.clone());
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
        let so_far = lines.so_far();
        let so_far = so_far.map_or(String::new(), |rates| format!("; until then {rates}"));
        output::say(&format!(
            "the run was stopped before its end{so_far}; its CPU cost is not known"
        ));
        return Err(Failure::InterruptedUnlogged);
    }
    let printed = lines.printed.and_then(|()| outcome.print(arguments.form));
    say_log(&opened);
    match ending {
        Ending::Interrupted if printed != Err(Failure::OutputClosed) => {
            Err(match arguments.no_log {
                true => Failure::InterruptedUnlogged,
                false => Failure::Interrupted,
            })
        }
        _ => printed,
    }
}
