//! The change of each cell: a point with its interval per cell, in per cent or the metric's unit,
//! with a sign and colour by its verdict.

use bitcost_analysis::compare::{Change, Comparison, Shift, Verdict};
use bitcost_analysis::frame::{Table, Value};
use bitcost_analysis::metrics::Metric;
use bitcost_study::Scale;

use super::drawing::{Drawn, ROWS, along, figure, note_rows, rows};
use crate::html::svg::{Column, ColumnCell, Ink, LETTER, Legend, Mark, Marks, Sign, Trace};
use crate::number;

/// A metric whose changes are drawn together: changes in per cent, or changes in its own unit.
#[derive(Clone, Copy)]
struct Drawing {
    metric: &'static Metric,
    is_ratio: bool,
}

impl Drawing {
    fn has(self, change: &Change) -> bool {
        let is_ratio = change.shift.map(|shift| matches!(shift, Shift::Ratio(_)));
        change.metric.name == self.metric.name && is_ratio == Some(self.is_ratio)
    }

    fn of(self, comparison: &Comparison) -> Vec<(String, &Change)> {
        let cells = comparison.cells.iter();
        cells
            .filter_map(|cell| {
                Some((
                    cell.name(),
                    cell.changes.iter().find(|change| self.has(change))?,
                ))
            })
            .collect()
    }
}

pub(crate) fn draw(comparison: &Comparison) -> Vec<Drawn> {
    let mut drawings: Vec<Drawing> = Vec::new();
    for change in comparison.changes() {
        let drawing = Drawing {
            metric: change.metric,
            is_ratio: matches!(change.shift, Some(Shift::Ratio(_))),
        };
        if change.shift.is_some() && !drawings.iter().any(|known| known.has(change)) {
            drawings.push(drawing);
        }
    }
    drawings
        .into_iter()
        .map(|drawing| of_metric(comparison, drawing))
        .collect()
}

fn of_metric(comparison: &Comparison, drawing: Drawing) -> Drawn {
    let Drawing { metric, is_ratio } = drawing;
    let changes = drawing.of(comparison);
    let columns = if is_ratio {
        ["change_pct", "low_pct", "high_pct"]
    } else {
        ["difference", "low", "high"]
    };
    let mut numbers = Table::new(["cell"].into_iter().chain(columns).chain(["verdict"]));
    numbers
        .rows
        .extend(changes.iter().map(|(name, change)| row(name, change)));
    let drawn = &changes[..changes.len().min(ROWS)];
    let unit = changes
        .first()
        .map_or("", |(_, change)| if is_ratio { "%" } else { change.unit() });
    let traces: Vec<Trace> = Verdict::ALL
        .into_iter()
        .map(|verdict| points(verdict, drawn, unit))
        .filter(|trace| matches!(&trace.marks, Marks::Points(marks) if !marks.is_empty()))
        .collect();
    let threshold = [-comparison.threshold_pct, comparison.threshold_pct];
    let rules = match is_ratio {
        true => threshold.to_vec(),
        false => Vec::new(),
    };
    let shifts = drawn
        .iter()
        .filter_map(|(_, change)| Some(change.shift?.change()));
    let mut values: Vec<f64> = shifts
        .flat_map(|shift| [Some(shift.value), shift.low, shift.high])
        .flatten()
        .collect();
    values.extend(&rules);
    let title = format!("{}, change.", metric.title);
    let x = along(Some(Scale::Linear), &values, &[0.0]);
    let names = drawn.iter().map(|(name, _)| name.clone()).collect();
    let mut chart = rows(&title, (x, &axis_title(unit)), names, traces);
    chart.width = 960.0;
    chart.panels[0].rules = rules;
    chart.panels[0].columns = columns_of(drawn, unit);
    chart.legend = Legend::Traces;
    let file = if is_ratio { "change" } else { "difference" };
    Drawn {
        file: format!("{file}-{}", metric.name),
        title,
        caption: caption(is_ratio),
        chart,
        numbers,
        sampled: note_rows(changes.len()),
    }
}

/// Each change with its interval, and its verdict.
fn columns_of(changes: &[(String, &Change)], unit: &str) -> Vec<Column> {
    let column = |title: &str, words: &dyn Fn(&Change) -> String| {
        let cell = |(_, change): &(String, &Change)| ColumnCell {
            value: None,
            words: words(change),
            title: String::new(),
        };
        let cells: Vec<ColumnCell> = changes.iter().map(cell).collect();
        let longest = cells.iter().map(|cell| cell.words.chars().count()).max();
        Column {
            title: title.to_owned(),
            width: LETTER * longest.unwrap_or(0).max(title.len()) as f64,
            cells,
        }
    };
    let change = |change: &Change| match change.shift {
        Some(shift) => number::signed(&shift.change(), unit, 1),
        None => String::new(),
    };
    vec![
        column("change", &change),
        column("verdict", &|change| change.verdict.name().to_owned()),
    ]
}

fn axis_title(unit: &str) -> String {
    match unit {
        "" => "change".to_owned(),
        unit => format!("change, {unit}"),
    }
}

fn caption(is_ratio: bool) -> String {
    if is_ratio {
        "Change from old to new in per cent, with 95 % intervals; dotted lines show the threshold."
            .into()
    } else {
        "Difference of new and old, with 95 % intervals, because a value of 0 or below has no ratio."
            .into()
    }
}

fn points(verdict: Verdict, changes: &[(String, &Change)], unit: &str) -> Trace {
    let of_verdict = changes
        .iter()
        .enumerate()
        .filter(|(_, (_, change))| change.verdict == verdict);
    let mark = |(place, (name, change)): (usize, &(String, &Change))| {
        let shift = change.shift?.change();
        let words = number::signed(&shift, unit, 1);
        let title = format!("{name}: {words}, {}", verdict.name());
        Some(Mark::at(shift.value, place as f64, Some(&shift), title))
    };
    let (ink, sign) = look(verdict);
    let marks = Marks::Points(of_verdict.filter_map(mark).collect());
    let mut trace = Trace::new(verdict.name(), 0, marks);
    (trace.ink, trace.sign) = (Ink::Named(ink), sign);
    trace
}

/// The colour of a verdict, and the sign that distinguishes it without colour.
fn look(verdict: Verdict) -> (&'static str, Sign) {
    match verdict {
        Verdict::Better => ("better", Sign::TriangleUp),
        Verdict::Worse => ("worse", Sign::TriangleDown),
        Verdict::Same => ("same", Sign::Circle),
        Verdict::Changed => ("changed", Sign::Diamond),
        Verdict::Missing => ("missing", Sign::Cross),
        Verdict::CannotTell | Verdict::NotComparable => ("unsure", Sign::OpenCircle),
    }
}

fn row(name: &str, change: &Change) -> Vec<Value> {
    let [change_pct, low, high] = figure(change.shift.map(|shift| shift.change()).as_ref());
    let verdict = Value::from(change.verdict.name());
    vec![Value::from(name), change_pct, low, high, verdict]
}
