//! One cell as text: the answer of its only run, or the medians of its runs with their intervals.

use std::fmt::Write;

use bitcost_analysis::explain::ExplainedCell;
use bitcost_analysis::findings::{Findings, Single};
use bitcost_analysis::frame::{Table, Value};
use bitcost_analysis::metrics::{Metric, disturbance_bounds};
use bitcost_model::record::Role;
use bitcost_model::units::counted;

use crate::coverage;
use crate::explained::cell_text;
use crate::mode_search::searches_text;
use crate::number;
use crate::single::{shown, single_text};
use crate::stop_rule::stop_rule_text;
use crate::test_answer::test_answer;

/// The text of one cell; `verbose` also has all figures of its run, and the evidence for the
/// bottleneck.
pub(crate) fn one_cell(findings: &Findings, single: &Single, verbose: bool) -> String {
    let caveats = findings.summary.caveats.iter();
    let of_log = caveats.map(|words| format!("caveat: {words}\n"));
    searches_text(&findings.summary)
        + &of_runs(findings, single, verbose)
        + &of_log.collect::<String>()
}

fn of_runs(findings: &Findings, single: &Single, verbose: bool) -> String {
    let is_several = findings.summary.precision.is_some() || findings.shown_runs().count() > 1;
    if is_several {
        return medians(findings, single) + &evidence(single);
    }
    let answer = test_answer(&single.first, &place(findings), single.limiter);
    match verbose {
        true => format!(
            "{}{}\n{answer}",
            single_text(&single.first),
            evidence(single)
        ),
        false => answer,
    }
}

/// `limiter: receiver's CPU …` with its evidence and remedy.
pub(crate) fn evidence(single: &Single) -> String {
    let named = |cell: &ExplainedCell| ExplainedCell {
        name: "limiter".to_owned(),
        ..cell.clone()
    };
    single
        .limiter
        .map_or_else(String::new, |cell| cell_text(&named(cell)))
}

/// `h1 to h2 in lab wire`.
fn place(findings: &Findings) -> String {
    let summary = &findings.summary;
    let of = |role| {
        let mut ends = summary.ends.iter();
        let end = ends.find(|end| end.role == role);
        end.map_or(role.name(), |end| {
            end.place.strip_prefix("netns:").unwrap_or(&end.place)
        })
    };
    let (sender, receiver) = (of(Role::Sender), of(Role::Receiver));
    match &summary.lab {
        Some(lab) => format!("{sender} to {receiver} in lab {}", lab.topology),
        None => format!("{sender} to {receiver}"),
    }
}

/// Medians with their intervals in brackets, and whether the interval that was requested was
/// reached.
fn medians(findings: &Findings, single: &Single) -> String {
    let summary = &findings.summary;
    let runs = findings.shown_runs().count();
    let mut text = format!(
        "{}; medians, in brackets their {}\n",
        counted(runs, "run"),
        coverage::of_runs(runs)
    );
    for metric in shown(&single.first) {
        if let Some(interval) = single.figure(metric) {
            let interval = number::interval(&interval);
            let _ = writeln!(text, "{:<42} {interval:>24} {}", metric.title, metric.unit);
        }
    }
    if let Some(found) = &single.cell.regimes {
        let _ = writeln!(text, "{}", found.sentence());
    }
    let disturbed = findings.shown_runs().filter(|row| row.is_disturbed).count();
    if disturbed > 0 {
        let _ = writeln!(
            text,
            "disturbed: in {} {}",
            counted(disturbed, "run"),
            disturbance_bounds()
        );
    }
    if let Some(precision) = &summary.precision {
        let _ = writeln!(text, "{}", stop_rule_text(precision));
    }
    text
}

/// The figures that the text shows: the value of one run, or medians with their intervals.
pub(crate) fn figures_table(findings: &Findings, single: &Single) -> Table {
    let is_one = findings.shown_runs().count() == 1;
    let names: &[&str] = match is_one {
        true => &["metric", "value", "unit"],
        false => &["metric", "median", "low", "high", "unit"],
    };
    let mut table = Table::new(names.iter().copied());
    let row = |metric: &Metric| {
        let figure = single.figure(metric)?;
        let mut row = vec![Value::from(metric.title), Value::Number(figure.value)];
        if !is_one {
            row.extend([Value::from(figure.low), Value::from(figure.high)]);
        }
        row.push(Value::from(metric.unit));
        Some(row)
    };
    table.rows = shown(&single.first).filter_map(row).collect();
    table
}
