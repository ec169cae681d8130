//! What cells that are compared were set differently, beside their levels.

use model::conditions::Conditions;
use serde_json::json;

use super::leaves::differences;
use crate::Summary;
use crate::frame::Execution;

/// Cells that are named with a difference that not all have.
const NAMED: usize = 4;

/// One sentence per difference of pairs of cells, by their places on both sides; once where all pairs have it. Of other programs'
/// files no settings are known but their levels.
pub(super) fn setting_differences(old: &Execution, new: &Execution, pairs: &[(usize, usize)]) -> Vec<String> {
    let (Some(was), Some(is)) = (conditions(old), conditions(new)) else { return Vec::new() };
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for (old_cell, new_cell) in pairs {
        let name = old.summary.cells[*old_cell].name();
        let (Some(was), Some(is)) = (was.get(*old_cell), is.get(*new_cell)) else { continue };
        for words in differences("", &json!(was), &json!(is)) {
            match found.iter_mut().find(|(known, _)| *known == words) {
                Some((_, cells)) => cells.push(name.clone()),
                None => found.push((words, vec![name.clone()])),
            }
        }
    }
    found.into_iter().map(|(words, cells)| sentence(&words, &cells, pairs.len())).collect()
}

fn sentence(words: &str, cells: &[String], all: usize) -> String {
    if cells.len() == all {
        return words.to_owned();
    }
    let more = match cells.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; {more} more"),
    };
    format!("{words} ({}{more})", cells[..cells.len().min(NAMED)].join("; "))
}

/// What each cell's runs do; absent where another program made them.
fn conditions<'a>(execution: &'a Execution) -> Option<Vec<&'a Conditions>> {
    let Summary { is_imported, planned, .. } = &execution.summary;
    (!is_imported).then(|| planned.iter().map(|cell| &cell.conditions).collect())
}

#[cfg(test)]
mod tests {
    use super::sentence;

    #[test]
    fn cells_are_named_where_not_all_differ() {
        let cells: Vec<String> = (0..6).map(|cell| format!("c{cell}")).collect();
        assert_eq!(sentence("x: was 1, is 2", &cells, 6), "x: was 1, is 2");
        assert_eq!(sentence("x: was 1, is 2", &cells, 9), "x: was 1, is 2 (c0; c1; c2; c3; 2 more)");
    }
}
