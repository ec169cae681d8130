//! Plots of a summary in a terminal's own characters: how the runs of each cell spread, and how medians follow a size.

mod axis;
mod canvas;
mod curve;
mod spread;

use crate::along::numeric_factor;
use crate::summary::{CellSummary, Summary};
use crate::text::{TextOptions, measured};

/// Which plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plots {
    /// The spread of each metric, and the curve of the first.
    Short,
    /// The spread and the curve of each metric.
    All,
    /// The spread of each metric.
    Quantiles,
    /// The curve of each metric.
    Curve,
}

/// From this ratio of the largest to the smallest value on an axis is logarithmic.
pub const LOGARITHMIC: f64 = 8.0;

/// The plots as lines of text, at most as wide as `options` say; empty where there is no more than one run.
///
/// A line of cells has one colour in all of them. Names and letters say the same without colours.
pub fn plots(summary: &Summary, which: Plots, options: TextOptions) -> String {
    let measured = measured(summary);
    let curves = if which == Plots::Short { 1 } else { measured.len() };
    let mut parts = Vec::new();
    if which != Plots::Curve {
        parts.extend(measured.iter().filter_map(|metric| spread::draw(summary, metric, options)));
        parts.extend((!parts.is_empty()).then(|| spread::LEGEND.to_owned()));
    }
    if which != Plots::Quantiles {
        parts.extend(measured.iter().take(curves).filter_map(|metric| curve::draw(summary, metric, options)));
    }
    parts.concat()
}

/// Colours of the terminal (ECMA-48, 8.3.117) that are read on light and on dark ground, in turn.
const COLOURS: [u8; 6] = [36, 35, 33, 32, 34, 31];

/// Text in the colour of a number, where colours are wanted.
fn paint(text: &str, colour: usize, options: TextOptions) -> String {
    if options.colour { format!("\u{1b}[{}m{text}\u{1b}[0m", COLOURS[colour % COLOURS.len()]) } else { text.to_owned() }
}

/// The number of each cell's colour: that of its line, where cells lie along a factor of numbers.
fn colours(summary: &Summary) -> Vec<usize> {
    let Some(factor) = numeric_factor(summary) else { return (0..summary.cells.len()).collect() };
    let mut names: Vec<String> = Vec::new();
    let colour = |cell: &CellSummary| {
        let name = cell.name_without(&factor);
        names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        })
    };
    summary.cells.iter().map(colour).collect()
}

/// Words of at most so many characters in one line; what is longer ends in `…`.
fn short(words: &str, most: usize) -> String {
    let words: String = words.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    if words.chars().count() <= most {
        return words;
    }
    words.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}
