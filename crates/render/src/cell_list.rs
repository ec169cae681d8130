//! A metric with a row per cell, used if the table that a study asks for would be mostly empty, or
//! wider than the page.

use bitcost_analysis::metrics::{Metric, metric};
use bitcost_model::imported::NOT_SAID;
use bitcost_model::study::{Label, phrase};

use crate::figure::figure;
use crate::lines::Lines;
use crate::number;
use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::summary::ImprovementSummary;
use bitcost_analysis::summary::Summary;

/// The most factors whose levels are written alone; with more, each level has its factor's name.
const FEW: usize = 2;

/// True if the study's table has more columns than `columns`, or if fewer than a third of its
/// places have a cell.
pub(crate) fn is_needed(summary: &Summary, columns: usize) -> bool {
    let levels = |factor: &str| {
        summary
            .study
            .factor(factor)
            .map_or(1, |factor| factor.levels.len())
    };
    let across = summary.study.table.columns.as_deref().map_or(1, levels);
    let places = summary.study.factors.iter().fold(1, |all: usize, factor| {
        all.saturating_mul(factor.levels.len())
    });
    across > columns || summary.cells.len().saturating_mul(3) < places
}

/// The cells that have the metric; if the study has an improvement, also the improvement at each
/// combination of the other levels.
pub(crate) fn cell_tables(summary: &Summary, name: &str) -> Vec<(Option<String>, Lines)> {
    let mut tables = vec![(None, cells(summary, name))];
    let has_better_side = metric(name).is_some_and(Metric::has_better_side);
    if let Some(asked) = summary
        .study
        .table
        .improvement
        .as_ref()
        .filter(|_| has_better_side)
    {
        let title = format!("improvement, {} → {}:", asked.from, asked.to);
        tables.push((Some(title), improvements(summary, name)));
    }
    tables
}

fn cells(summary: &Summary, name: &str) -> Lines {
    let factors: Vec<&str> = summary
        .study
        .factors
        .iter()
        .map(|factor| factor.name.as_str())
        .collect();
    let is_few = factors.len() <= FEW;
    let head = if is_few {
        factors.join(" · ")
    } else {
        "cell".to_owned()
    };
    let unit = metric(name).map_or("", |metric| metric.unit);
    let mut rows = Vec::new();
    for cell in &summary.cells {
        // Notes under the tables say which cells lack a value.
        let expected = cell.expected(name);
        if cell.figure(name).is_none() && expected.is_none() {
            continue;
        }
        let words = if is_few { cell.name() } else { named(cell) };
        rows.push((
            false,
            vec![words, figure(cell, name).unwrap_or("-".to_owned())],
        ));
        rows.extend(expected.map(|value| (true, vec!["  document".to_owned(), value.to_string()])));
    }
    Lines {
        header: vec![head, unit.to_owned()],
        rows,
    }
}

/// `message_size_bytes 1024, transport TCP`, without levels that a file does not give.
fn named(cell: &CellSummary) -> String {
    let said = cell
        .levels
        .iter()
        .filter(|(_, label)| *label != Label::Text(NOT_SAID.to_owned()));
    let words: Vec<String> = said
        .map(|(factor, label)| format!("{factor} {label}"))
        .collect();
    if words.is_empty() {
        cell.name()
    } else {
        words.join(", ")
    }
}

fn improvements(summary: &Summary, name: &str) -> Lines {
    let row = |found: &ImprovementSummary| {
        let words = if found.levels.is_empty() {
            "all".to_owned()
        } else {
            phrase(&found.levels)
        };
        let ours = found.figures.iter().find(|(known, _)| *known == name);
        let theirs = found.expected.iter().find(|(known, _)| known == name);
        let mut rows = vec![(
            false,
            vec![
                words,
                ours.map_or("-".to_owned(), |(name, ratio)| {
                    number::improvement(name, ratio)
                }),
            ],
        )];
        rows.extend(theirs.map(|(_, ratio)| {
            (
                true,
                vec![
                    "  document".to_owned(),
                    format!("×{}", number::plain(*ratio)),
                ],
            )
        }));
        rows
    };
    Lines {
        header: vec!["cell".to_owned(), String::new()],
        rows: summary.improvements.iter().flat_map(row).collect(),
    }
}
