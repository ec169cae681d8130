//! Colours, shortened words, and the choice of a scale, for all plots.

use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::summary::{Summary, numeric_factor};

use crate::layout::TextOptions;

/// The ratio of the largest to the smallest value from which an axis is logarithmic.
pub const LOGARITHMIC: f64 = 8.0;

/// Colours of the terminal (ECMA-48, 8.3.117) that are readable on light and on dark backgrounds,
/// in turn.
const COLOURS: [u8; 6] = [36, 35, 33, 32, 34, 31];

/// Text in the colour with this number, if colours are on.
pub(super) fn paint(text: &str, colour: usize, options: TextOptions) -> String {
    if options.colour {
        format!("\u{1b}[{}m{text}\u{1b}[0m", COLOURS[colour % COLOURS.len()])
    } else {
        text.to_owned()
    }
}

/// The number of each cell's colour: that of its line, if cells are along a numeric factor.
pub(super) fn colours(summary: &Summary) -> Vec<usize> {
    let Some(factor) = numeric_factor(summary) else {
        return (0..summary.cells.len()).collect();
    };
    let mut names: Vec<String> = Vec::new();
    let colour = |cell: &CellSummary| {
        let name = cell.name_without(&factor);
        names
            .iter()
            .position(|known| *known == name)
            .unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            })
    };
    summary.cells.iter().map(colour).collect()
}

/// Words of at most `most` characters in one line; longer words end in `…`.
pub(crate) fn short(words: &str, most: usize) -> String {
    let words: String = words
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    if words.chars().count() <= most {
        return words;
    }
    words
        .chars()
        .take(most.saturating_sub(1))
        .chain(['…'])
        .collect()
}
