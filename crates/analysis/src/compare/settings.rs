//! Settings, apart from the levels, that differ between compared cells.

use bitcost_model::conditions::Conditions;
use serde_json::json;

use super::differences::differences;
use crate::findings::Findings;
use crate::summary::Summary;

/// The most cells that are named for a difference that not all cells have.
const NAMED: usize = 4;

/// One sentence per difference between pairs of cells, given by their indices on both sides;
/// without cells' names where all pairs have the difference. Of files of other programs, only the
/// levels are known, and no settings.
pub(super) fn setting_differences(
    old: &Findings,
    new: &Findings,
    pairs: &[(usize, usize)],
) -> Vec<String> {
    let (Some(was), Some(is)) = (conditions(old), conditions(new)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (old_cell, new_cell) in pairs {
        let name = old.summary.cells[*old_cell].name();
        let (Some(was), Some(is)) = (was.get(*old_cell), is.get(*new_cell)) else {
            continue;
        };
        let differing = differences("", &json!(was), &json!(is)).into_iter();
        found.extend(differing.map(|words| (words, name.clone())));
    }
    by_cells(found, pairs.len())
}

/// One sentence per difference, given with the names of the cells that have it; `all` is the number
/// of compared cells.
fn by_cells(differing: Vec<(String, String)>, all: usize) -> Vec<String> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for (words, name) in differing {
        match found.iter_mut().find(|(known, _)| *known == words) {
            Some((_, cells)) => cells.push(name),
            None => found.push((words, vec![name])),
        }
    }
    found
        .into_iter()
        .map(|(words, cells)| sentence(&words, &cells, all))
        .collect()
}

fn sentence(words: &str, cells: &[String], all: usize) -> String {
    if cells.len() == all {
        return words.to_owned();
    }
    let more = match cells.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; {more} more"),
    };
    format!(
        "{words} ({}{more})",
        cells[..cells.len().min(NAMED)].join("; ")
    )
}

/// The conditions of each cell's runs; absent where another program made them.
fn conditions(execution: &Findings) -> Option<Vec<&Conditions>> {
    let Summary {
        is_imported,
        planned,
        ..
    } = &execution.summary;
    (!is_imported).then(|| planned.iter().map(|cell| &cell.conditions).collect())
}

#[cfg(test)]
mod tests {
    use super::sentence;

    #[test]
    fn cells_are_named_where_not_all_differ() {
        let cells: Vec<String> = (0..6).map(|cell| format!("c{cell}")).collect();
        assert_eq!(sentence("x: was 1, is 2", &cells, 6), "x: was 1, is 2");
        assert_eq!(
            sentence("x: was 1, is 2", &cells, 9),
            "x: was 1, is 2 (c0; c1; c2; c3; 2 more)"
        );
    }
}
