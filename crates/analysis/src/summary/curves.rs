//! Cells along a numeric factor, through which a curve is drawn.

use super::known::Summary;
use crate::cells::CellSummary;

/// A line of cells: its name, and each of its cells with its number, in order.
pub type LineOfCells<'a> = (String, Vec<(i64, &'a CellSummary)>);

/// The factor with two or more numeric levels: the message size if it is one, otherwise the first.
pub fn numeric_factor(summary: &Summary) -> Option<String> {
    let numbers = |factor: &str| {
        let mut found: Vec<i64> = summary
            .cells
            .iter()
            .filter_map(|cell| cell.number(factor))
            .collect();
        found.sort_unstable();
        found.dedup();
        found.len()
    };
    let names = summary
        .study
        .factors
        .iter()
        .map(|factor| factor.name.as_str());
    let mut usable: Vec<&str> = names.filter(|name| numbers(name) > 1).collect();
    usable.sort_by_key(|name| *name != "message_size_bytes");
    usable.first().map(|name| (*name).to_owned())
}

pub fn lines_along<'a>(summary: &'a Summary, factor: &str) -> Vec<LineOfCells<'a>> {
    let mut lines: Vec<LineOfCells> = Vec::new();
    for cell in &summary.cells {
        let Some(number) = cell.number(factor) else {
            continue;
        };
        let name = cell.name_without(factor);
        match lines.iter_mut().find(|(known, _)| *known == name) {
            Some((_, cells)) => cells.push((number, cell)),
            None => lines.push((name, vec![(number, cell)])),
        }
    }
    lines
        .iter_mut()
        .for_each(|(_, cells)| cells.sort_by_key(|(number, _)| *number));
    lines
}
