//! Runs in the forms of netperf and iperf3: runs of our own that have a place in their cells.

use metrics::RunView;
use model::study::Cell;
use model::units::counted;
use report::frame::{Execution, Table};
use report::{RunRow, Status, peers};

use crate::failure::Failure;
use crate::output;

/// A run with its cell, and what became of it.
type Run<'a, 'b> = (&'b RunRow, &'a Cell, RunView<'a>);

/// How many runs are numbered in one sentence.
const NAMED: usize = 20;

/// Every run with a result that is one of ours, in order.
fn with_result<'a, 'b>(execution: &'b Execution<'a>, form: &str) -> Result<Vec<Run<'a, 'b>>, Failure> {
    let name = &execution.name;
    if execution.summary.is_imported {
        return Err(Failure::Usage(format!(
            "--format {form} is only of runs of our own, and those of {name} are other programs'; take --format csv or json"
        )));
    }
    let views = report::run_views(execution.events).map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
    let row = |run: u32| execution.summary.runs.binary_search_by_key(&run, |row| row.run).ok();
    let runs = views
        .into_iter()
        .filter_map(|(planned, cell, view)| Some((&execution.summary.runs[row(planned.index)?], cell, view)));
    Ok(runs.collect())
}

/// Every used run as netperf prints it; says on standard error which runs have no place in their cells.
///
/// # Errors
/// Usage, where runs are other programs'.
pub fn netperf(executions: &[Execution], form: &str) -> Result<Table, Failure> {
    let mut table = peers::netperf_table([]);
    for execution in executions {
        let (used, left_out): (Vec<_>, Vec<_>) =
            with_result(execution, form)?.into_iter().partition(|(row, ..)| row.status == Status::Used);
        if !left_out.is_empty() {
            let numbers: Vec<String> = left_out.iter().take(NAMED).map(|(row, ..)| (row.run + 1).to_string()).collect();
            let more = if left_out.len() > NAMED { ", …" } else { "" };
            output::say(&format!(
                "left out: {} of {} that have no place in their cells ({}{more}); --format text says why",
                counted(left_out.len(), "run"),
                execution.name,
                numbers.join(", ")
            ));
        }
        let runs = used.into_iter().map(|(_, cell, view)| (cell, view));
        table.rows.extend(peers::netperf_table(runs).rows);
    }
    Ok(table)
}

/// One run as iperf3 prints it: the one of this number from 1, else the only one.
///
/// # Errors
/// Usage, where there is not one such run, or iperf3 has nothing like it; check, where it has no place in its cell.
pub fn iperf3(executions: &[Execution], wanted: Option<u32>) -> Result<String, Failure> {
    let usage = |what: String| Err(Failure::Usage(format!("--format iperf3: {what}")));
    let [execution] = executions else {
        return usage(format!("it is of one run, and {} executions are named; name one", executions.len()));
    };
    let name = &execution.name;
    let all = with_result(execution, "iperf3")?;
    let (row, _, view) = match (wanted, &all[..]) {
        (None, [one]) => one,
        (None, []) => return usage(format!("no run of {name} has a result")),
        (None, several) => {
            return usage(format!("it is of one run, and {name} has {}; choose one with --run N", several.len()));
        }
        (Some(wanted), all) => match all.iter().find(|(row, ..)| row.run + 1 == wanted) {
            Some(found) => found,
            None => return usage(no_result(execution, wanted)),
        },
    };
    if row.status != Status::Used {
        let reason = row.reason.as_deref().unwrap_or("it has no place in its cell");
        return Err(Failure::Check(format!("--format iperf3: run {} of {name} is left out: {reason}", row.run + 1)));
    }
    match peers::iperf3(view, row.began_at.as_deref(), env!("CARGO_PKG_VERSION")) {
        Some(document) => Ok(format!("{document:#}\n")),
        None => usage(format!(
            "run {} of {name} is {}, and iperf3 has streams alone; take --format netperf or json",
            row.run + 1,
            view.conditions.workload.name()
        )),
    }
}

/// Why a run of this number is not there.
fn no_result(execution: &Execution, wanted: u32) -> String {
    let (name, runs) = (&execution.name, &execution.summary.runs);
    match runs.iter().find(|row| row.run + 1 == wanted) {
        Some(row) => {
            let reason = row.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
            format!("run {wanted} of {name} has no result ({}){reason}", row.status.name())
        }
        None => format!("{name} has no run {wanted}; its runs are 1 to {}", runs.last().map_or(0, |row| row.run + 1)),
    }
}
