//! Cells along a numeric factor, through which a curve is drawn.

use std::collections::BTreeSet;

use bitcost_model::study::Label;
use indexmap::IndexMap;

use super::known::Summary;
use crate::cells::CellSummary;

/// A line of cells: its name, and each of its cells with its level: numbers in ascending order, then words.
pub type LineOfCells<'a> = (String, Vec<(&'a Label, &'a CellSummary)>);

/// The factor with two or more numeric levels: the message size if it is one, otherwise the first.
pub fn numeric_factor(summary: &Summary) -> Option<String> {
    let numbers = |factor: &str| {
        let cells = summary.cells.iter();
        let found: BTreeSet<i64> = cells.filter_map(|cell| cell.number(factor)).collect();
        found.len()
    };
    let factors = summary.study.factors.iter();
    let usable = factors
        .map(|factor| &factor.name)
        .filter(|name| numbers(name) > 1);
    usable
        .min_by_key(|name| *name != "message_size_bytes")
        .cloned()
}

pub fn lines_along<'a>(summary: &'a Summary, factor: &str) -> Vec<LineOfCells<'a>> {
    let mut lines: IndexMap<String, Vec<(&Label, &CellSummary)>> = IndexMap::new();
    for cell in &summary.cells {
        let mut levels = cell.levels.iter();
        let Some((_, level)) = levels.find(|(name, _)| name == factor) else {
            continue;
        };
        let line = lines.entry(cell.name_without(factor)).or_default();
        line.push((level, cell));
    }
    for cells in lines.values_mut() {
        cells.sort_by_key(|(level, _)| match level {
            Label::Number(number) => *number,
            Label::Text(_) => i64::MAX,
        });
    }
    lines.into_iter().collect()
}
