//! What stands under the tables: what must be known to read them.

use std::collections::BTreeMap;

use metrics::{METRICS, Method, metric};
use model::units::counted;

use crate::ceiling;
use crate::checks;
use crate::summary::{CellSummary, Summary};
use crate::tally::Tally;
use crate::text::shown_metrics;
use model::study::phrase;

/// One thing to know: what it is about, and the words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Such as `note: `, with what parts it from the words.
    pub mark: &'static str,
    /// The words.
    pub words: String,
}

/// Everything that must be known, in order.
pub fn notes(summary: &Summary) -> Vec<Remark> {
    let mut found = Vec::new();
    let mut add = |mark, words| found.push(Remark { mark, words });
    summary.caveats.iter().for_each(|words| add("caveat: ", words.clone()));
    missing(summary).into_iter().for_each(|words| add("- ", words));
    attribution(summary).into_iter().for_each(|words| add("CPU time: ", words));
    summary.place_notes.iter().for_each(|note| add("note: ", note.clone()));
    true_of_runs(summary).into_iter().for_each(|words| add("note: ", words));
    ceiling::sentences(summary).into_iter().for_each(|words| add("calibration: ", words));
    if let Some(precision) = &summary.precision {
        add("stop rule: ", precision.sentence());
    }
    left_out(summary).into_iter().for_each(|words| add("left out: ", words));
    if !summary.incomplete.is_empty() {
        let planned = summary.blocks as usize * summary.cells.len();
        add("missing: ", format!("{} of {planned} planned", counted(summary.incomplete.len(), "run")));
    }
    found
}

/// What the study's document states, and what these runs say to it, a line each.
pub fn statements(summary: &Summary) -> Vec<String> {
    checks::lines(&summary.checks).into_iter().map(|line| format!("{}{}", line.mark, line.words)).collect()
}

/// Cells that a sentence names; of more it says how many they are.
const CELLS: usize = 3;

/// Cells by their names where they are few, else how many of all.
fn of_cells(summary: &Summary, names: &[&str]) -> String {
    let all = summary.cells.len();
    match names.len() {
        count if count <= CELLS => names.join("; "),
        count if count == all => format!("all {all} cells"),
        count => format!("{count} of {all} cells"),
    }
}

/// What is true of runs, a sentence for all cells of which the same is true.
fn true_of_runs(summary: &Summary) -> Vec<String> {
    let mut groups: Vec<(&str, Vec<&str>, usize)> = Vec::new();
    for note in &summary.notes {
        let cell = note.cell.as_deref();
        match groups.iter_mut().find(|(text, cells, _)| *text == note.text && cells.is_empty() == cell.is_none()) {
            Some((_, cells, count)) => {
                cells.extend(cell);
                *count += note.runs;
            }
            None => groups.push((&note.text, cell.into_iter().collect(), note.runs)),
        }
    }
    let sentence = |(text, cells, count): (&str, Vec<&str>, usize)| match &cells[..] {
        [] => format!("{text} ({})", counted(count, "run")),
        cells => format!("{}: {text} ({})", of_cells(summary, cells), counted(count, "run")),
    };
    groups.into_iter().map(sentence).collect()
}

/// The shown metrics that cells have no value of, those of one reason together.
fn missing(summary: &Summary) -> Vec<String> {
    // The head of the tables says so.
    if summary.cells.iter().all(|cell| cell.runs == 0) {
        return Vec::new();
    }
    let mut missing = Tally::<(String, String)>::default();
    for name in shown_metrics(summary) {
        let without = summary.cells.iter().filter(|cell| cell.figure(name).is_none());
        without.for_each(|cell| missing.add((why_missing(cell, name), cell.name())));
    }
    let mut reasons = Tally::<&str>::default();
    missing.0.iter().for_each(|((reason, _), _)| reasons.add(reason));
    let sentence = |(reason, _): &(&str, usize)| {
        let cells = missing.0.iter().filter(|((known, _), _)| known == reason).map(|((_, cell), _)| cell.as_str());
        format!("no value ({}): {reason}", of_cells(summary, &cells.collect::<Vec<_>>()))
    };
    reasons.0.iter().map(sentence).collect()
}

fn why_missing(cell: &CellSummary, name: &str) -> String {
    let Some(metric) = metric(name) else {
        return format!(
            "`{name}` is not a metric{}",
            model::near::did_you_mean(name, METRICS.iter().map(|metric| metric.name))
        );
    };
    match cell.unattributed.first() {
        _ if cell.runs == 0 => "no run that can be used".into(),
        Some((reason, _)) if metric.attributed => format!("the ends' CPU time cannot be told apart: {reason}"),
        _ => format!("{}: not measured in these runs", metric.title),
    }
}

fn attribution(summary: &Summary) -> Vec<String> {
    let sentence = |method: Method| {
        let uses = |cell: &&CellSummary| cell.methods.iter().any(|(known, _)| *known == method);
        let cells: Vec<String> = summary.cells.iter().filter(uses).map(CellSummary::name).collect();
        let place = if cells.len() == summary.cells.len() { "all cells".to_owned() } else { cells.join("; ") };
        (!cells.is_empty()).then(|| format!("{} ({place}): {}", method.name(), method.doc()))
    };
    Method::ALL.into_iter().filter_map(sentence).collect()
}

/// How many runs are numbered in one sentence, and how many sentences there are.
const NAMED: usize = 30;

/// Runs that were left out, those of one reason together. People count runs from 1, as the plan
/// and the live view do.
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
        let cells = of_cells(summary, &cells.iter().map(String::as_str).collect::<Vec<_>>());
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
        let count: usize = groups.iter().skip(NAMED).map(|(_, (runs, _))| runs.len()).sum();
        sentences.push(format!("{} for {more} more reasons", counted(count, "run")));
    }
    sentences
}
