//! A box per cell with every run as a dot.

use bitcost_analysis::explain::Explanation;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::{Table, Value};
use bitcost_analysis::metrics::Metric;
use bitcost_analysis::statistics::Interval;

use super::drawing::{
    Drawn, ROWS, along, by_cell, is_spread, measured, named, note, note_rows, points, rows, words,
};
use crate::html::svg::{Mark, Marks, Quartiles, Slot, Trace};
use crate::number;
use bitcost_analysis::evenly::evenly;
use bitcost_study::Picture as Wanted;

/// The fewest dots that a box keeps of its runs, however many boxes there are.
const DOTS: usize = 5;

pub(crate) fn draw(execution: &Findings, _: &Wanted, _: &Explanation) -> Vec<Drawn> {
    let metrics = measured(execution).into_iter();
    metrics
        .filter(|metric| is_spread(&by_cell(execution, metric)))
        .map(|metric| of_metric(execution, metric))
        .collect()
}

fn of_metric(execution: &Findings, metric: &Metric) -> Drawn {
    let mut numbers = Table::new(["cell", "run", metric.name]);
    let (mut drawn, mut all, mut values_of_all) = (0, 0, Vec::new());
    let cells = by_cell(execution, metric);
    let most = points(cells.len(), DOTS);
    let (mut boxes, mut dots) = (Vec::new(), Vec::new());
    for (place, (cell, values)) in cells.iter().enumerate() {
        let (name, y) = (cell.name(), place as f64);
        let row = |(run, value): &(u32, f64)| {
            let name = Value::from(name.as_str());
            vec![name, Value::from(*run), Value::Number(*value)]
        };
        numbers.rows.extend(values.iter().map(row));
        all += values.len();
        if place >= ROWS {
            continue;
        }
        let dot = |(run, value): (u32, f64)| {
            let value_of = Interval::alone(value);
            let title = words(&format!("{name}, run {run}"), &value_of, metric);
            Mark::at(value, y, None, title)
        };
        dots.extend(evenly(values.len(), most).map(|place| dot(values[place])));
        drawn += values.len().min(most);
        let values: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        values_of_all.extend(values.iter().copied());
        boxes.push(of_cell(&name, y, values, metric));
    }
    let title = format!("{}, every run.", metric.title);
    let names = cells.iter().take(ROWS).map(|(cell, _)| cell.name());
    let names = names.collect();
    let x = along(None, &values_of_all, &[]);
    let traces = vec![
        halves("boxes", -0.2, Marks::Boxes(boxes)),
        halves("runs", 0.25, Marks::Points(dots)),
    ];
    Drawn {
        file: format!("spread-{}", metric.name),
        chart: rows(&title, (x, &named(metric)), names, traces),
        title,
        caption:
            "A dot per run; the box above them holds the middle half of the runs, and its line is the median."
                .into(),
        numbers,
        sampled: note_rows(cells.len()).or(note(drawn, all)),
    }
}

/// The marks in one half of each band: the dots are under the box, which would hide them.
fn halves(name: &str, centre: f64, marks: Marks) -> Trace {
    let mut trace = Trace::new(name, 0, marks);
    trace.slot = Slot { centre, width: 0.4 };
    trace
}

fn of_cell(name: &str, y: f64, mut values: Vec<f64>, metric: &Metric) -> Quartiles {
    values.sort_by(f64::total_cmp);
    let at = |fraction: f64| {
        bitcost_analysis::statistics::quantile_of_sorted(&values, fraction).unwrap_or(f64::NAN)
    };
    let [low, middle, high] = [0.25, 0.5, 0.75].map(at);
    // Whiskers reach to the last values within one and a half box heights (Tukey).
    let reach = 1.5 * (high - low);
    let mut all = values.iter().copied();
    let least = all.clone().find(|value| *value >= low - reach);
    let most = all.rfind(|value| *value <= high + reach);
    let (least, most) = (least.unwrap_or(low), most.unwrap_or(high));
    let [from, to] = [low, high].map(number::plain);
    Quartiles {
        y,
        five: [least, low, middle, high, most],
        title: format!(
            "{}, the middle half from {from} to {to}",
            words(
                &format!("{name}, median of {} runs", values.len()),
                &Interval::alone(middle),
                metric
            )
        ),
    }
}
