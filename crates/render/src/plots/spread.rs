//! The spread of the runs of each cell: a line per cell with its least and greatest value, the
//! middle half and the median.

use bitcost_analysis::metrics::Metric;

use super::axis::{Axis, WORD};
use super::look::{colours, paint, short};
use crate::layout::{TextOptions, heading};
use crate::number;
use crate::titles::named;
use bitcost_analysis::summary::Summary;

/// The most cells that are drawn.
const CELLS: usize = 30;

/// Columns between two numbers of the axis.
const TICK: usize = 14;

/// The legend of the lines.
pub(super) const LEGEND: &str = "(● and number: median; ━ middle half; ├ least; ┤ most)\n";

/// The plot of one metric; absent where there is only one run to draw.
pub(super) fn draw(summary: &Summary, metric: &Metric, options: TextOptions) -> Option<String> {
    let all = cells(summary, metric);
    let drawn = &all[..all.len().min(CELLS)];
    let values: Vec<f64> = drawn
        .iter()
        .flat_map(|(_, values)| values.iter().copied())
        .collect();
    if values.len() < 2 {
        return None;
    }
    let room = usize::from(options.width) / 3;
    let names: Vec<String> = drawn
        .iter()
        .map(|(cell, _)| short(&summary.cells[*cell].name(), room))
        .collect();
    let medians: Vec<String> = drawn
        .iter()
        .map(|(_, values)| number::plain(at(values, 0.5)))
        .collect();
    let [name_width, median_width] = [&names, &medians].map(|words| longest(words));
    let indent = name_width + median_width + 4;
    let columns = usize::from(options.width)
        .saturating_sub(indent + WORD)
        .max(TICK);
    let axis = Axis::round(&values, columns / TICK);
    let remark = if axis.is_log { ", logarithmic" } else { "" };
    let mut text = format!(
        "\n{}",
        heading(&format!("{}, every run{remark}", named(metric)), options)
    );
    let colours = colours(summary);
    for (((cell, values), name), median) in drawn.iter().zip(&names).zip(&medians) {
        let (begin, line) = strip(values, &axis, columns);
        let line = format!(
            "{}{}",
            " ".repeat(begin),
            paint(&line, colours[*cell], options)
        );
        text += &format!("{name:>name_width$}  {median:>median_width$}  {line}\n");
    }
    for line in axis.lines(columns) {
        text += &format!("{:indent$}{line}\n", "");
    }
    if drawn.len() < all.len() {
        text += &format!(
            "{CELLS} of {} cells are drawn; `bitcost report` draws all\n",
            all.len()
        );
    }
    Some(text)
}

fn longest(words: &[String]) -> usize {
    words
        .iter()
        .map(|word| word.chars().count())
        .max()
        .unwrap_or(0)
}

fn at(sorted: &[f64], fraction: f64) -> f64 {
    bitcost_analysis::statistics::quantile_of_sorted(sorted, fraction).unwrap_or(f64::NAN)
}

/// The index of each cell that has the metric, with the values of its used runs in ascending order.
fn cells(summary: &Summary, metric: &Metric) -> Vec<(usize, Vec<f64>)> {
    let mut cells: Vec<_> = (0..summary.cells.len())
        .map(|cell| (cell, Vec::new()))
        .collect();
    for run in &summary.runs {
        if let (Some(value), Some((_, values))) = (run.used_value(metric), cells.get_mut(run.cell))
        {
            values.push(value);
        }
    }
    cells.retain(|(_, values)| !values.is_empty());
    cells
        .iter_mut()
        .for_each(|(_, values)| values.sort_by(f64::total_cmp));
    cells
}

/// The column of its start, and `├──━━●━━─┤`.
fn strip(sorted: &[f64], axis: &Axis, columns: usize) -> (usize, String) {
    let column = |fraction: f64| axis.column(at(sorted, fraction), columns);
    let [least, low, middle, high, most] = [0.0, 0.25, 0.5, 0.75, 1.0].map(column);
    let letter = |place: usize| match place {
        place if place == middle => '●',
        place if low < high && (low..=high).contains(&place) => '━',
        place if place == least => '├',
        place if place == most => '┤',
        _ => '─',
    };
    (least, (least..=most).map(letter).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strip_goes_from_the_least_to_the_most() {
        let axis = Axis::round(&[0.0, 100.0], 4);
        assert_eq!(
            strip(&[20.0, 40.0, 50.0, 60.0, 90.0], &axis, 11),
            (2, "├─━●━──┤".to_owned())
        );
        assert_eq!(
            strip(&[20.0, 20.0, 20.0, 90.0], &axis, 11),
            (2, "●━━────┤".to_owned())
        );
        assert_eq!(strip(&[70.0], &axis, 11), (7, "●".to_owned()));
    }
}
