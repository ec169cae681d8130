//! The caveats and notes under the tables.

use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::explain::Regimes;
use bitcost_analysis::metrics::{METRICS, SoftirqMeans, metric};
use bitcost_analysis::summary::{Summary, shown_metrics};
use bitcost_model::study::phrase;
use bitcost_model::units::counted;

use crate::by_cell::by_cell;
use crate::calibration::calibration_text;
use crate::constants::constants_remarks;
use crate::stop_rule::stop_rule_text;

/// One caveat or note: its mark, and the words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The mark, such as `note: `, with the space that separates it from the words.
    pub mark: &'static str,
    /// The words.
    pub words: String,
}

/// All caveats and notes, in order.
pub fn notes(summary: &Summary) -> Vec<Remark> {
    let one = |words: Option<String>| Vec::from_iter(words);
    let planned = summary.blocks as usize * summary.cells.len();
    let lost = match summary.incomplete.len() {
        0 => None,
        count => Some(format!("{} of {planned} planned", counted(count, "run"))),
    };
    let rule = summary.precision.as_ref().map(stop_rule_text);
    let groups: [(&'static str, Vec<String>); 11] = [
        ("caveat: ", summary.caveats.clone()),
        ("no value: ", missing(summary)),
        ("CPU time: ", attribution(summary)),
        ("note: ", summary.place_notes.clone()),
        ("note: ", of_runs(summary)),
        ("host constants: ", constants_remarks(summary)),
        ("calibration: ", calibration_text(summary)),
        ("regimes: ", regimes(summary)),
        ("stop rule: ", one(rule)),
        ("left out: ", left_out(summary)),
        ("missing: ", one(lost)),
    ];
    let remarks = groups
        .into_iter()
        .flat_map(|(mark, all)| all.into_iter().map(move |words| Remark { mark, words }));
    remarks.collect()
}

/// Notes on runs.
fn of_runs(summary: &Summary) -> Vec<String> {
    let notes = summary.notes.iter();
    by_cell(
        summary,
        notes.map(|note| (note.text.clone(), note.runs, note.cell.clone())),
    )
}

/// Runs that were left out, by reason.
fn left_out(summary: &Summary) -> Vec<String> {
    let runs = summary.excluded.iter();
    by_cell(
        summary,
        runs.map(|run| (run.reason.clone(), 1, Some(phrase(&run.levels)))),
    )
}

/// The shown metrics for which cells have no value, by reason.
fn missing(summary: &Summary) -> Vec<String> {
    // The heading of the tables already says so.
    if summary.cells.iter().all(|cell| cell.runs == 0) {
        return Vec::new();
    }
    let facts = shown_metrics(summary).into_iter().flat_map(|name| {
        let without = summary
            .cells
            .iter()
            .filter(move |cell| cell.figure(name).is_none());
        without.map(move |cell| (why_missing(cell, name), 0, Some(cell.name())))
    });
    by_cell(summary, facts)
}

/// How CPU time was attributed, with the means by which the time of soft interrupts is known.
fn attribution(summary: &Summary) -> Vec<String> {
    let facts = summary.cells.iter().flat_map(|cell| {
        let means = cell
            .softirqs
            .iter()
            .map(|(means, _)| softirqs_words(*means));
        let means = means.collect::<String>();
        cell.methods.iter().map(move |(method, _)| {
            let means = if method.uses_softirqs() { &means } else { "" };
            let words = format!("{}: {}{means}", method.name(), method.doc());
            (words, 0, Some(cell.name()))
        })
    });
    by_cell(summary, facts)
}

/// The regimes of each cell that has two, with the cell where there are several.
fn regimes(summary: &Summary) -> Vec<String> {
    let fact = |cell: &CellSummary| {
        let words = cell.regimes.as_ref().map(Regimes::sentence)?;
        Some((words, 0, (summary.cells.len() > 1).then(|| cell.name())))
    };
    by_cell(summary, summary.cells.iter().filter_map(fact))
}

/// Why a cell has no value of a metric.
pub(crate) fn why_missing(cell: &CellSummary, name: &str) -> String {
    let Some(metric) = metric(name) else {
        return format!(
            "`{name}` is not a metric{}",
            bitcost_model::near::did_you_mean(name, METRICS.iter().map(|metric| metric.name))
        );
    };
    match cell.unattributed.first() {
        _ if cell.runs == 0 => "no run that can be used".into(),
        Some((reason, _)) if metric.attributed => {
            format!("CPU time cannot be attributed to an endpoint: {reason}")
        }
        _ => format!("{}: not measured in these runs", metric.title),
    }
}

/// What follows the description of a method that uses the time of soft interrupts.
pub(crate) fn softirqs_words(means: SoftirqMeans) -> String {
    format!("; soft interrupts {}", means.words())
}
