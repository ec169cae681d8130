//! Medians against a numeric factor, with their intervals; a letter per line.

use bitcost_analysis::metrics::Metric;

use super::axis::{Axis, WORD};
use super::canvas::Canvas;
use super::look::{paint, short};
use crate::layout::{TextOptions, heading};
use crate::titles::named;
use bitcost_analysis::summary::Summary;
use bitcost_analysis::summary::{lines_along, numeric_factor};

/// Lines of text in the plotting area.
const ROWS: usize = 12;

/// Numbers at the vertical axis.
const TICKS: usize = 4;

/// Letters of lines; they repeat if there are more lines.
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";

/// One point: the number, the median, and its interval.
type Point = (f64, f64, f64, f64);

/// The plot of one metric; absent where the study has no numeric factor.
pub(super) fn draw(summary: &Summary, metric: &Metric, options: TextOptions) -> Option<String> {
    let factor = numeric_factor(summary)?;
    let lines = lines(summary, &factor, metric);
    let points = lines.iter().flat_map(|(_, points)| points.iter());
    let (x, y): (Vec<f64>, Vec<f64>) = points
        .flat_map(|(x, _, low, high)| [(*x, *low), (*x, *high)])
        .unzip();
    if x.is_empty() {
        return None;
    }
    let (across, up) = (Axis::named(&x), Axis::round(&y, TICKS));
    let indent = up
        .ticks
        .iter()
        .map(|(_, word)| word.chars().count())
        .max()
        .unwrap_or(0);
    let columns = usize::from(options.width)
        .saturating_sub(indent + 3 + WORD)
        .max(TICKS);
    let mut canvas = Canvas::new(columns, ROWS);
    for (colour, (_, points)) in lines.iter().enumerate() {
        add(&mut canvas, points, &across, &up, colour);
    }
    let remark = match (across.is_log, up.is_log) {
        (false, false) => "",
        (true, false) => ", logarithmic across",
        (false, true) => ", logarithmic upwards",
        (true, true) => ", both logarithmic",
    };
    let title = format!("{} against {factor}{remark}", named(metric));
    let mut text = format!("\n{}", heading(&title, options));
    for (row, line) in canvas.rows(options).enumerate() {
        let word = up
            .ticks
            .iter()
            .find(|(value, _)| canvas.row_of(up.place(*value)) == row)
            .map(|(_, word)| word.as_str());
        let rule = if word.is_some() { '┤' } else { '│' };
        text += format!("{:>indent$} {rule} {line}", word.unwrap_or("")).trim_end();
        text.push('\n');
    }
    let [rule, words] = across.lines(columns);
    text += &format!("{:indent$} └─{rule}\n{:indent$}   {words}\n", "", "");
    if lines.len() > 1 {
        text += &legend(&lines, indent + 3, options);
    }
    Some(text)
}

/// Every line; a line without the metric has no points.
fn lines(summary: &Summary, factor: &str, metric: &Metric) -> Vec<(String, Vec<Point>)> {
    let point = |(number, cell): &(i64, &bitcost_analysis::cells::CellSummary)| {
        let figure = cell.figure(metric.name)?;
        let [low, high] = [figure.low, figure.high].map(|bound| bound.unwrap_or(figure.value));
        Some((*number as f64, figure.value, low, high))
    };
    let lines = lines_along(summary, factor).into_iter();
    lines
        .map(|(name, cells)| (name, cells.iter().filter_map(point).collect()))
        .collect()
}

fn letter(line: usize) -> char {
    char::from(LETTERS[line % LETTERS.len()])
}

fn add(canvas: &mut Canvas, points: &[Point], across: &Axis, up: &Axis, colour: usize) {
    let place = |x: f64, y: f64| (across.place(x), up.place(y));
    for pair in points.windows(2) {
        canvas.line(
            place(pair[0].0, pair[0].1),
            place(pair[1].0, pair[1].1),
            colour,
        );
    }
    for (x, middle, low, high) in points {
        canvas.line(place(*x, *low), place(*x, *high), colour);
        canvas.mark(place(*x, *middle), letter(colour), colour);
    }
}

/// `a UDP   b TCP on`, in lines of the width.
fn legend(lines: &[(String, Vec<Point>)], indent: usize, options: TextOptions) -> String {
    let width = usize::from(options.width);
    let (mut text, mut used) = (" ".repeat(indent), indent);
    for (place, (name, _)) in lines
        .iter()
        .enumerate()
        .filter(|(_, (_, points))| !points.is_empty())
    {
        let name = short(name, width.saturating_sub(indent + 2));
        let length = name.chars().count() + 5;
        if used > indent && used + length - 3 > width {
            text = format!("{}\n{}", text.trim_end(), " ".repeat(indent));
            used = indent;
        }
        text += &format!(
            "{} {name}   ",
            paint(&letter(place).to_string(), place, options)
        );
        used += length;
    }
    format!("{}\n", text.trim_end())
}
