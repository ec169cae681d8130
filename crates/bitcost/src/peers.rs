//! Runs in the forms of netperf and iperf3: runs of our own that have a place in their cells.

use model::units::counted;
use report::frame::{Execution, Table};
use report::{RunRow, Status, peers};

use crate::failure::Failure;
use crate::output;

/// How many runs are numbered in one sentence.
const NAMED: usize = 20;

/// The rows of the runs with a result, which must be of our own.
fn with_result<'a>(execution: &'a Execution, form: &str) -> Result<Vec<&'a RunRow>, Failure> {
    let name = &execution.name;
    if execution.summary.is_imported {
        return Err(Failure::Usage(format!(
            "--format {form} is only of runs of our own, and those of {name} are other programs'; take --format csv or json"
        )));
    }
    let has_result = |row: &&RunRow| matches!(row.status, Status::Used | Status::LeftOut);
    Ok(execution.summary.runs.iter().filter(has_result).collect())
}

/// Every used run as netperf prints it; says on standard error which runs have no place in their cells.
///
/// # Errors
/// Usage, where runs are other programs'.
pub fn netperf(executions: &[Execution], form: &str) -> Result<Table, Failure> {
    let mut table = peers::netperf_table([]);
    for execution in executions {
        let runs = with_result(execution, form)?;
        let left_out: Vec<&RunRow> = runs.into_iter().filter(|row| row.status == Status::LeftOut).collect();
        if !left_out.is_empty() {
            let numbers: Vec<String> = left_out.iter().take(NAMED).map(|row| (row.run + 1).to_string()).collect();
            let more = if left_out.len() > NAMED { ", …" } else { "" };
            output::say(&format!(
                "left out: {} of {} that have no place in their cells ({}{more}); --format text says why",
                counted(left_out.len(), "run"),
                execution.name,
                numbers.join(", ")
            ));
        }
        let used = |row: &RunRow| row.status == Status::Used;
        execution.each_run(used, &mut |_, cell, view| table.rows.extend(peers::netperf_table([(cell, *view)]).rows));
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
    let row = match (wanted, &all[..]) {
        (None, [one]) => one,
        (None, []) => return usage(format!("no run of {name} has a result")),
        (None, several) => {
            return usage(format!("it is of one run, and {name} has {}; choose one with --run N", several.len()));
        }
        (Some(wanted), all) => match all.iter().find(|row| row.run + 1 == wanted) {
            Some(found) => found,
            None => return usage(no_result(execution, wanted)),
        },
    };
    if row.status != Status::Used {
        let reason = row.reason.as_deref().unwrap_or("it has no place in its cell");
        return Err(Failure::Check(format!("--format iperf3: run {} of {name} is left out: {reason}", row.run + 1)));
    }
    let mut printed = None;
    execution.each_run(|of| of.run == row.run, &mut |_, _, view| {
        let document = peers::iperf3(view, row.began_at.as_deref(), env!("CARGO_PKG_VERSION"));
        printed = Some(document.ok_or(view.conditions.workload.name()));
    });
    match printed {
        Some(Ok(document)) => Ok(format!("{document:#}\n")),
        Some(Err(workload)) => usage(format!(
            "run {} of {name} is {workload}, and iperf3 has streams alone; take --format netperf or json",
            row.run + 1
        )),
        None => usage(format!("the log of {name} changed while it was read")),
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
