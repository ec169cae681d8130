//! A box per cell with every run as a dot.

use bitcost_analysis::findings::Findings;
use bitcost_analysis::metrics::Metric;
use bitcost_analysis::statistics::{Interval, quantile_of_sorted};

use super::picture::{Picture, ROWS, by_cell, factors, named, note_rows, points, words};
use crate::html::chart::{Axis, Chart, Mark, Marks, Quartiles, Trace};
use crate::number;

/// The fewest dots that a box keeps of its runs, however many boxes there are.
const DOTS: usize = 5;

pub(super) fn draw(execution: &Findings, metric: &Metric) -> Option<Picture> {
    let cells = by_cell(execution, metric);
    if cells.iter().all(|(_, values)| values.len() < 2) {
        return None;
    }
    let most = points(cells.len(), DOTS);
    let (mut names, mut boxes, mut dots, mut all) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (place, (cell, values)) in cells.iter().take(ROWS).enumerate() {
        let name = cell.name();
        let dot = |at: usize| {
            let (run, value) = values[at];
            let of = Interval::alone(value);
            let title = words(&format!("{name}, run {run}"), &of, metric.unit);
            Mark::at(value, place as f64, &of, title)
        };
        dots.extend(evenly(values.len(), most).map(dot));
        let values: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        all.extend(values.iter().copied());
        boxes.push(of_cell(&name, place as f64, values, metric));
        names.push(name);
    }
    let runs: usize = cells.iter().map(|(_, values)| values.len()).sum();
    let drawn = dots.len();
    let sampled = format!("Sampled: {drawn} of {runs} runs are drawn, evenly chosen.");
    // The dots are under the boxes, which would hide them.
    let mut traces = vec![
        Trace::new("boxes", 0, Marks::Boxes(boxes)),
        Trace::new("runs", 0, Marks::Dots(dots)),
    ];
    (traces[0].slot, traces[1].slot) = ((-0.2, 0.4), (0.25, 0.4));
    let x = (Axis::along(None, &all, &[]), named(metric));
    let mut chart = Chart::rows(
        x,
        factors(cells.iter().map(|(cell, _)| *cell)),
        names,
        traces,
    );
    chart.has_legend = false;
    Some(Picture {
        title: format!("{}, every run.", metric.title),
        caption: "A dot per run; the box above them holds the middle half of the runs, and its line is the median.".into(),
        chart,
        note: note_rows(cells.len()).or((drawn < runs).then_some(sampled)),
    })
}

/// At most `most` places below `count`, evenly chosen, the first and the last among them.
fn evenly(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let taken = count.min(most);
    (0..taken).map(move |place| place * (count - 1) / (taken - 1).max(1))
}

fn of_cell(name: &str, y: f64, mut values: Vec<f64>, metric: &Metric) -> Quartiles {
    values.sort_by(f64::total_cmp);
    let at = |fraction: f64| quantile_of_sorted(&values, fraction).unwrap_or(f64::NAN);
    let [low, middle, high] = [0.25, 0.5, 0.75].map(at);
    // Whiskers reach to the last values within one and a half box heights (Tukey).
    let reach = 1.5 * (high - low);
    let mut within = values
        .iter()
        .copied()
        .filter(|value| (low - reach..=high + reach).contains(value));
    let least = within.next().unwrap_or(low);
    let most = within.next_back().unwrap_or(high);
    let name = format!("{name}, median of {} runs", values.len());
    let median = words(&name, &Interval::alone(middle), metric.unit);
    let [from, to] = [low, high].map(number::plain);
    Quartiles {
        y,
        five: [least, low, middle, high, most],
        title: format!("{median}, the middle half from {from} to {to}"),
    }
}
