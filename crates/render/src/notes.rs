//! The caveats and notes under the tables.

use std::collections::BTreeMap;

use bitcost_analysis::metrics::{METRICS, Method, SoftirqMeans, metric};
use bitcost_model::units::counted;

use crate::calibration::calibration_text;
use crate::constants::constants_remarks;
use crate::statements::statement_lines;
use crate::stop_rule::stop_rule_text;
use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::cells::Tally;
use bitcost_analysis::explain::Regimes;
use bitcost_analysis::summary::Summary;
use bitcost_analysis::summary::shown_metrics;
use bitcost_model::study::phrase;

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
    let groups: [(&'static str, Vec<String>); 11] = [
        ("caveat: ", summary.caveats.clone()),
        ("- ", missing(summary)),
        ("CPU time: ", attribution(summary)),
        ("note: ", summary.place_notes.clone()),
        ("note: ", true_of_runs(summary)),
        ("host constants: ", constants_remarks(summary)),
        ("calibration: ", calibration_text(summary)),
        ("regimes: ", regimes(summary)),
        (
            "stop rule: ",
            one(summary.precision.as_ref().map(stop_rule_text)),
        ),
        ("left out: ", left_out(summary)),
        ("missing: ", one(lost)),
    ];
    let remarks = groups
        .into_iter()
        .flat_map(|(mark, all)| all.into_iter().map(move |words| Remark { mark, words }));
    remarks.collect()
}

/// The regimes of each cell that has two, with the cell where there are several.
fn regimes(summary: &Summary) -> Vec<String> {
    let sentence = |cell: &CellSummary| {
        let words = cell.regimes.as_ref().map(Regimes::sentence)?;
        Some(match summary.cells.len() {
            1 => words,
            _ => format!("{}: {words}", phrase(&cell.levels)),
        })
    };
    summary.cells.iter().filter_map(sentence).collect()
}

/// The statements of the study's document, and what these runs say about them, a line each.
pub fn statements(summary: &Summary) -> Vec<String> {
    statement_lines(&summary.checks)
        .into_iter()
        .map(|line| format!("{}{}", line.mark, line.words))
        .collect()
}

/// The most cells that a sentence names; with more, it gives their number.
const CELLS: usize = 3;

/// Cells by their names if they are few, otherwise their number out of all.
fn of_cells(summary: &Summary, names: &[&str]) -> String {
    let all = summary.cells.len();
    match names.len() {
        count if count <= CELLS => names.join("; "),
        count if count == all => format!("all {all} cells"),
        count => format!("{count} of {all} cells"),
    }
}

/// Notes on runs, with one sentence for all cells with the same note.
fn true_of_runs(summary: &Summary) -> Vec<String> {
    let mut groups: Vec<(&str, Vec<&str>, usize)> = Vec::new();
    for note in &summary.notes {
        let cell = note.cell.as_deref();
        match groups
            .iter_mut()
            .find(|(text, cells, _)| *text == note.text && cells.is_empty() == cell.is_none())
        {
            Some((_, cells, count)) => {
                cells.extend(cell);
                *count += note.runs;
            }
            None => groups.push((&note.text, cell.into_iter().collect(), note.runs)),
        }
    }
    let sentence = |(text, cells, count): (&str, Vec<&str>, usize)| match &cells[..] {
        [] => format!("{text} ({})", counted(count, "run")),
        cells => format!(
            "{}: {text} ({})",
            of_cells(summary, cells),
            counted(count, "run")
        ),
    };
    groups.into_iter().map(sentence).collect()
}

/// The shown metrics for which cells have no value, grouped by reason.
fn missing(summary: &Summary) -> Vec<String> {
    // The heading of the tables already says so.
    if summary.cells.iter().all(|cell| cell.runs == 0) {
        return Vec::new();
    }
    let mut missing = Tally::<(String, String)>::default();
    for name in shown_metrics(summary) {
        let without = summary
            .cells
            .iter()
            .filter(|cell| cell.figure(name).is_none());
        without.for_each(|cell| missing.add((why_missing(cell, name), cell.name())));
    }
    let mut reasons = Tally::<&str>::default();
    missing
        .0
        .iter()
        .for_each(|((reason, _), _)| reasons.add(reason));
    let sentence = |(reason, _): &(&str, usize)| {
        let cells = missing
            .0
            .iter()
            .filter(|((known, _), _)| known == reason)
            .map(|((_, cell), _)| cell.as_str());
        format!(
            "no value ({}): {reason}",
            of_cells(summary, &cells.collect::<Vec<_>>())
        )
    };
    reasons.0.iter().map(sentence).collect()
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

/// Each method, with the means by which the time of soft interrupts is known where it uses that.
fn attribution(summary: &Summary) -> Vec<String> {
    let sentence = |method: Method, means: Option<SoftirqMeans>| {
        let has =
            |cell: &CellSummary, means| cell.softirqs.iter().any(|(known, _)| *known == means);
        let uses = |cell: &&CellSummary| {
            cell.methods.iter().any(|(known, _)| *known == method)
                && means.is_none_or(|means| has(cell, means))
        };
        let cells: Vec<String> = summary
            .cells
            .iter()
            .filter(uses)
            .map(CellSummary::name)
            .collect();
        let place = if cells.len() == summary.cells.len() {
            "all cells".to_owned()
        } else {
            cells.join("; ")
        };
        let softirqs = means.map(softirqs_words).unwrap_or_default();
        (!cells.is_empty())
            .then(|| format!("{} ({place}): {}{softirqs}", method.name(), method.doc()))
    };
    let known = |method: Method| match method.uses_softirqs() {
        true => vec![Some(SoftirqMeans::Timed), Some(SoftirqMeans::Ticks)],
        false => vec![None],
    };
    let all = Method::ALL.into_iter();
    let with_means =
        all.flat_map(|method| known(method).into_iter().map(move |means| (method, means)));
    with_means
        .filter_map(|(method, means)| sentence(method, means))
        .collect()
}

/// What follows the description of a method that uses the time of soft interrupts.
pub(crate) fn softirqs_words(means: SoftirqMeans) -> String {
    format!("; soft interrupts {}", means.words())
}

/// The most run numbers in one sentence, and the most sentences.
const NAMED: usize = 30;

/// Runs that were left out, grouped by reason. Runs are numbered from 1 for people, as in the plan
/// and the live view.
fn left_out(summary: &Summary) -> Vec<String> {
    let mut groups: BTreeMap<&String, (Vec<u32>, Vec<String>)> = BTreeMap::new();
    for run in &summary.excluded {
        let (runs, cells) = groups.entry(&run.reason).or_default();
        runs.push(run.run + 1);
        let cell = phrase(&run.levels);
        if !cells.contains(&cell) {
            cells.push(cell);
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, (runs, _))| runs[0]);
    let sentence = |(reason, (found, cells)): &(&String, (Vec<u32>, Vec<String>))| {
        let cells = of_cells(
            summary,
            &cells.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        let numbers: Vec<String> = found.iter().take(NAMED).map(u32::to_string).collect();
        let word = if found.len() == 1 { "run" } else { "runs" };
        let more = match found.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{word} {}{more} ({cells}): {reason}", numbers.join(", "))
    };
    let mut sentences: Vec<String> = groups.iter().take(NAMED).map(sentence).collect();
    if let Some(more) = groups.len().checked_sub(NAMED).filter(|more| *more > 0) {
        let count: usize = groups
            .iter()
            .skip(NAMED)
            .map(|(_, (runs, _))| runs.len())
            .sum();
        sentences.push(format!("{} for {more} more reasons", counted(count, "run")));
    }
    sentences
}
