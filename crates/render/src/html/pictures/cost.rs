//! CPU time per message against message size, and the line through it: the cost of a message, and
//! the cost of a byte.

use bitcost_analysis::execution::Execution;
use bitcost_analysis::explain::{CostModel, Explanation, Spent, Unit};
use bitcost_analysis::frame::{Table, Value};
use plotly::common::Mode;
use plotly::{Plot, Scatter};

use super::curve::sizes;
use super::drawing::{Drawn, HEIGHT, label, layout, scaled};
use crate::explained::formula;
use bitcost_study::Picture as Wanted;

const ENDS: [(&str, Spent); 2] = [("send", Spent::SendCpu), ("receive", Spent::ReceiveCpu)];

/// A picture per endpoint and unit: a message and the segments that carry it are different units.
pub(crate) fn draw(_: &Execution, _: &Wanted, explanation: &Explanation) -> Vec<Drawn> {
    let pairs = Unit::ALL
        .into_iter()
        .flat_map(|unit| ENDS.map(|(end, spent)| (end, spent, unit)));
    pairs
        .filter_map(|(end, spent, unit)| of_end(&explanation.costs, end, spent, unit))
        .collect()
}

fn of_end(costs: &[(String, CostModel)], end: &str, spent: Spent, unit: Unit) -> Option<Drawn> {
    let word = unit.word();
    let models: Vec<&(String, CostModel)> = costs
        .iter()
        .filter(|(_, cost)| (cost.spent, cost.unit) == (spent, unit))
        .collect();
    if models.is_empty() {
        return None;
    }
    let mut plot = Plot::new();
    let mut numbers = Table::new([
        "line".to_owned(),
        format!("{word}_size_bytes"),
        format!("ns_per_{word}"),
        "runs".to_owned(),
        format!("line_ns_per_{word}"),
    ]);
    let mut sentences = Vec::new();
    let (mut all_x, mut all_y) = (Vec::new(), Vec::new());
    for (name, cost) in models {
        let fit = &cost.fit;
        let (x, y): (Vec<f64>, Vec<f64>) =
            fit.places.iter().map(|(x, mean, _)| (*x, *mean)).unzip();
        numbers.rows.extend(rows(name, cost));
        let of = if name.is_empty() {
            String::new()
        } else {
            format!("{name}: ")
        };
        sentences.push(format!("{of}{}", formula(cost)));
        let (line_x, line_y): (Vec<f64>, Vec<f64>) = line(&x).map(|x| (x, fit.at(x))).unzip();
        all_x.extend(x.iter().copied());
        all_y.extend(y.iter().chain(&line_y).copied());
        let [points, fitted] = if name.is_empty() {
            ["means".to_owned(), "line".to_owned()]
        } else {
            [label(name), format!("{} (line)", label(name))]
        };
        plot.add_trace(
            Scatter::new(x, y)
                .name(points)
                .mode(Mode::Markers)
                .legend_group(label(name)),
        );
        plot.add_trace(
            Scatter::new(line_x, line_y)
                .name(fitted)
                .mode(Mode::Lines)
                .legend_group(label(name)),
        );
    }
    let x = sizes(&format!("{word} size (bytes)"), None, all_x);
    plot.set_layout(
        layout()
            .x_axis(x)
            .y_axis(scaled(&format!("ns per {word}"), &all_y)),
    );
    Some(Drawn {
        file: format!("cost-{end}-{word}"),
        title: format!("CPU time of a {word} to {end}."),
        caption: format!(
            "Means of each size, and the line with the least relative error. {}.",
            sentences.join("; ")
        ),
        plot,
        numbers,
        sampled: None,
        height: HEIGHT,
    })
}

/// The rows of one model in the table of the picture.
fn rows(name: &str, cost: &CostModel) -> impl Iterator<Item = Vec<Value>> {
    cost.fit.places.iter().map(move |(x, mean, count)| {
        vec![
            Value::from(name),
            Value::Number(*x),
            Value::Number(*mean),
            Value::Whole(*count as i64),
            Value::Number(cost.fit.at(*x)),
        ]
    })
}

/// The number of points of a line.
const STEPS: u32 = 60;

/// Sizes from the least to the most at equal ratios, because a line is a curve on a logarithmic
/// axis.
fn line(sizes: &[f64]) -> impl Iterator<Item = f64> {
    let (low, high) = sizes
        .iter()
        .fold((f64::INFINITY, 1.0_f64), |(low, high), x| {
            (low.min(*x), high.max(*x))
        });
    let low = low.max(1.0);
    (0..=STEPS).map(move |step| low * (high / low).powf(f64::from(step) / f64::from(STEPS)))
}
