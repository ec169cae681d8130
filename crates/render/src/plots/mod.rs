//! Plots of a summary in a terminal's own characters: the spread of the runs of each cell, and
//! medians against a size.

pub(crate) mod axis;
mod canvas;
mod curve;
mod look;
mod spread;

pub use look::LOGARITHMIC;
pub(crate) use look::short;

use crate::layout::TextOptions;
use bitcost_analysis::summary::Summary;
use bitcost_analysis::summary::measured;

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

/// The plots as lines of text, at most as wide as `options` allows; empty where there is no more
/// than one run.
///
/// A line of cells has the same colour in all plots. Names and letters give the same information
/// without colours.
pub fn plots(summary: &Summary, which: Plots, options: TextOptions) -> String {
    let measured = measured(summary);
    let curves = if which == Plots::Short {
        1
    } else {
        measured.len()
    };
    let mut parts = Vec::new();
    if which != Plots::Curve {
        parts.extend(
            measured
                .iter()
                .filter_map(|metric| spread::draw(summary, metric, options)),
        );
        parts.extend((!parts.is_empty()).then(|| spread::LEGEND.to_owned()));
    }
    if which != Plots::Quantiles {
        parts.extend(
            measured
                .iter()
                .take(curves)
                .filter_map(|metric| curve::draw(summary, metric, options)),
        );
    }
    parts.concat()
}
