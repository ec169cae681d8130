//! Sentences that are true of several cells, each once.

use bitcost_analysis::summary::Summary;
use bitcost_model::units::counted;

use crate::words::around;

/// The most cells that a sentence names; with more, it gives their number.
const CELLS: usize = 3;

/// A sentence about a number of runs, and the cell of which it is true; absent where it is about no
/// single one.
pub(crate) type Fact = (String, usize, Option<String>);

/// Each sentence once, after the cells of which it is true, and before the number of runs where that
/// is not 0.
pub(crate) fn by_cell(summary: &Summary, facts: impl IntoIterator<Item = Fact>) -> Vec<String> {
    let mut groups: Vec<(String, usize, Vec<String>)> = Vec::new();
    for (words, runs, cell) in facts {
        let known = groups.iter_mut().find(|(known, ..)| *known == words);
        match known {
            Some((_, count, cells)) => {
                *count += runs;
                cells.extend(cell.filter(|cell| !cells.contains(cell)));
            }
            None => groups.push((words, runs, Vec::from_iter(cell))),
        }
    }
    let all = summary.cells.len();
    let sentence = |(words, runs, cells): (String, usize, Vec<String>)| {
        let cells = match cells.len() {
            count if count == all => "all cells".to_owned(),
            count if count <= CELLS => cells.join("; "),
            count => format!("{count} of {all} cells"),
        };
        let count = match runs {
            0 => String::new(),
            runs => format!(" ({})", counted(runs, "run")),
        };
        format!("{}{words}{count}", around("", &cells, ": "))
    };
    groups.into_iter().map(sentence).collect()
}
