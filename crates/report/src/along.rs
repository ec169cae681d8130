//! Cells along a factor that is a number: what a curve is drawn through.

use model::study::{Label, phrase};

use crate::summary::{CellSummary, Summary};

/// The name of a line that is the only one: there is no other factor to name it by.
pub const ALONE: &str = "all";

/// A line of cells: its name, and each of its cells with the number, in order.
pub type LineOfCells<'a> = (String, Vec<(i64, &'a CellSummary)>);

/// The factor along which there are two numbers or more: the message size where it is one, else the first.
pub fn numeric_factor(summary: &Summary) -> Option<String> {
    let numbers = |factor: &str| {
        let mut found: Vec<i64> = summary.cells.iter().filter_map(|cell| cell.number(factor)).collect();
        found.sort_unstable();
        found.dedup();
        found.len()
    };
    let names = summary.study.factors.iter().map(|factor| factor.name.as_str());
    let mut usable: Vec<&str> = names.filter(|name| numbers(name) > 1).collect();
    usable.sort_by_key(|name| *name != "message_size_bytes");
    usable.first().map(|name| (*name).to_owned())
}

impl CellSummary {
    /// The level of a factor, where it is a number.
    pub fn number(&self, factor: &str) -> Option<i64> {
        self.levels.iter().find(|(name, _)| name == factor).and_then(|(_, label)| match label {
            Label::Number(number) => Some(*number),
            Label::Text(_) => None,
        })
    }

    /// The levels of the other factors in one phrase; [`ALONE`] where there are none.
    pub fn name_without(&self, factor: &str) -> String {
        let others: Vec<_> = self.levels.iter().filter(|(name, _)| name != factor).cloned().collect();
        if others.is_empty() { ALONE.to_owned() } else { phrase(&others) }
    }
}

/// The cells of each line along the factor, in the order of the plan.
pub fn lines_along<'a>(summary: &'a Summary, factor: &str) -> Vec<LineOfCells<'a>> {
    let mut lines: Vec<LineOfCells> = Vec::new();
    for cell in &summary.cells {
        let Some(number) = cell.number(factor) else { continue };
        let name = cell.name_without(factor);
        match lines.iter_mut().find(|(known, _)| *known == name) {
            Some((_, cells)) => cells.push((number, cell)),
            None => lines.push((name, vec![(number, cell)])),
        }
    }
    lines.iter_mut().for_each(|(_, cells)| cells.sort_by_key(|(number, _)| *number));
    lines
}
