//! The last line of an explanation: what limited most cells, and how many warnings there are.

use bitcost_analysis::explain::{ExplainedCell, Explanation};
use bitcost_model::units::counted;

/// `summary: receiver's CPU in 4 cells, unknown in 2 cells; 3 warnings`, the most frequent first;
/// absent where there are no several cells.
pub(super) fn in_all(explanation: &Explanation) -> Option<String> {
    let cells = &explanation.cells;
    if cells.len() < 2 {
        return None;
    }
    let mut found: Vec<(String, usize)> = Vec::new();
    for cell in cells {
        let words = ExplainedCell::limiter_words(cell);
        let words = words.unwrap_or_else(|| "no run that can be explained".to_owned());
        match found.iter_mut().find(|(known, _)| *known == words) {
            Some((_, count)) => *count += 1,
            None => found.push((words, 1)),
        }
    }
    found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let has_comma = found.iter().any(|(words, _)| words.contains(", "));
    let parts = found.iter();
    let parts = parts.map(|(words, count)| format!("{words} in {}", counted(*count, "cell")));
    let limiters = parts
        .collect::<Vec<_>>()
        .join(if has_comma { "; " } else { ", " });
    let warnings = match explanation.warnings.len() {
        0 => "no warning".to_owned(),
        count => counted(count, "warning"),
    };
    Some(format!("summary: {limiters}; {warnings}\n"))
}
