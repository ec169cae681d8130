//! Each metric over the executions of a history: a line for each cell, with its change points.

use bitcost_analysis::frame::{Table, Value};
use bitcost_analysis::history::{History, Series};
use bitcost_analysis::statistics::Interval;
use bitcost_study::Scale;

use super::drawing::{Drawn, along, named, plain, words};
use crate::html::svg::{Mark, Marks, Trace};

/// The most cells in a picture.
const CELLS: usize = 16;

pub(crate) fn draw(history: &History) -> Vec<Drawn> {
    let of_metric = history
        .series
        .chunk_by(|one, next| one.metric.name == next.metric.name);
    of_metric.map(|all| of(history, all)).collect()
}

fn of(history: &History, all: &[Series]) -> Drawn {
    let metric = all[0].metric;
    let mut numbers = Table::new(["cell", "execution", "began_at", metric.name, "low", "high"]);
    for series in all {
        for (number, found) in known(series) {
            let bound = |bound: Option<f64>| bound.map_or(Value::Absent, Value::Number);
            numbers.rows.push(vec![
                Value::from(series.cell().as_str()),
                Value::from(number as u32 + 1),
                Value::from(history.executions[number].began_at.as_str()),
                Value::Number(found.value),
                bound(found.low),
                bound(found.high),
            ]);
        }
    }
    let drawn = &all[..all.len().min(CELLS)];
    let mark = |series: &Series, number: usize, found: Interval| Mark {
        x: number as f64 + 1.0,
        y: found.value,
        low: found.low,
        high: found.high,
        title: words(
            &format!("{}, {}", series.cell(), history.executions[number].name),
            &found,
            metric,
        ),
        ..Mark::default()
    };
    let trace = |(place, series): (usize, &Series)| {
        let marks = known(series).map(|(number, found)| mark(series, number, found));
        Trace::new(&series.cell(), place, Marks::Line(marks.collect()))
    };
    let traces = drawn.iter().enumerate().map(trace).collect();
    let bounds = |found: Interval| {
        [Some(found.value), found.low, found.high]
            .into_iter()
            .flatten()
    };
    let values = drawn
        .iter()
        .flat_map(|series| known(series).flat_map(move |(_, found)| bounds(found)));
    let y = along(None, &values.collect::<Vec<f64>>(), &[]);
    let x = along(
        Some(Scale::Linear),
        &[1.0, history.executions.len() as f64],
        &[],
    );
    let title = format!("{} over the executions.", metric.title);
    let mut chart = plain(
        &title,
        (x, "execution, in order of time"),
        (y, &named(metric)),
        traces,
    );
    let changes = all.iter().flat_map(|series| &series.changes);
    let mut rules: Vec<usize> = changes.map(|change| change.between[1]).collect();
    rules.sort_unstable();
    rules.dedup();
    chart.panels[0].rules = rules.into_iter().map(|after| after as f64 + 0.5).collect();
    Drawn {
        file: format!("history-{}", metric.name),
        title,
        caption: "Medians as measured, with their 95 % intervals; dotted lines are change points."
            .into(),
        chart,
        numbers,
        sampled: (drawn.len() < all.len())
            .then(|| format!("The first {CELLS} of {} cells are drawn.", all.len())),
    }
}

/// The executions that have a value.
fn known(series: &Series) -> impl Iterator<Item = (usize, Interval)> {
    let medians = series.medians.iter().enumerate();
    medians.filter_map(|(number, found)| Some((number, (*found)?)))
}
