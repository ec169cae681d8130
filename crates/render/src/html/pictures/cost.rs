//! CPU time per message against message size, and the line through it: the cost of a message, and
//! the cost of a byte.

use bitcost_analysis::explain::{CostModel, Explanation, Spent, Unit};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::{Table, Value};

use super::curve::sizes;
use super::drawing::{Drawn, along, plain};
use crate::explained::formula;
use crate::html::svg::range;
use crate::html::svg::{Mark, Marks, Trace};
use crate::number;
use crate::words::around;
use bitcost_study::Picture as Wanted;

const ENDS: [(&str, Spent); 2] = [("send", Spent::SendCpu), ("receive", Spent::ReceiveCpu)];

/// A picture per endpoint and unit: a message and the segments that carry it are different units.
pub(crate) fn draw(_: &Findings, _: &Wanted, explanation: &Explanation) -> Vec<Drawn> {
    let pairs = Unit::ALL
        .into_iter()
        .flat_map(|unit| ENDS.map(|(end, spent)| (end, spent, unit)));
    pairs
        .filter_map(|(end, spent, unit)| of_end(&explanation.costs, end, spent, unit))
        .collect()
}

fn of_end(costs: &[(String, CostModel)], end: &str, spent: Spent, unit: Unit) -> Option<Drawn> {
    let word = unit.name();
    let models: Vec<&(String, CostModel)> = costs
        .iter()
        .filter(|(_, cost)| (cost.spent, cost.unit) == (spent, unit))
        .collect();
    if models.is_empty() {
        return None;
    }
    let mut traces = Vec::new();
    let mut numbers = Table::new([
        "line".to_owned(),
        format!("{word}_size_bytes"),
        format!("ns_per_{word}"),
        "runs".to_owned(),
        format!("line_ns_per_{word}"),
    ]);
    let mut sentences = Vec::new();
    let (mut all_x, mut all_y) = (Vec::new(), Vec::new());
    for (series, (name, cost)) in models.into_iter().enumerate() {
        numbers.rows.extend(rows(name, cost));
        let of = around("", name, ": ");
        sentences.push(format!("{of}{}", formula(cost)));
        all_x.extend(cost.fit.places.iter().map(|(x, ..)| *x));
        let pair = traces_of(name, cost, series, word);
        all_y.extend(cost.fit.places.iter().map(|(_, mean, _)| *mean));
        if let Marks::Curve(line) = &pair[1].marks {
            all_y.extend(line.iter().map(|(_, y)| *y));
        }
        traces.extend(pair);
    }
    let title = format!("CPU time of a {word} to {end}.");
    let (x, y) = (sizes(None, all_x), along(None, &all_y, &[]));
    let titles = [format!("{word} size (bytes)"), format!("ns per {word}")];
    let chart = plain(&title, (x, &titles[0]), (y, &titles[1]), traces);
    Some(Drawn {
        file: format!("cost-{end}-{word}"),
        title,
        caption: format!(
            "Means of each size, and the line with the least relative error. {}.",
            sentences.join("; ")
        ),
        chart,
        numbers,
        sampled: None,
    })
}

/// The means of a model, and its line in the same colour.
fn traces_of(name: &str, cost: &CostModel, series: usize, word: &str) -> [Trace; 2] {
    let fit = &cost.fit;
    let sizes: Vec<f64> = fit.places.iter().map(|(x, ..)| *x).collect();
    let [points, fitted] = if name.is_empty() {
        ["means".to_owned(), "line".to_owned()]
    } else {
        [name.to_owned(), format!("{name} (line)")]
    };
    let mark = |(x, mean, runs): &(f64, f64, usize)| {
        let ns = number::plain(*mean);
        let title = format!("{points}, {x}: {ns} ns per {word}, {runs} runs");
        Mark::at(*x, *mean, None, title)
    };
    let means = Marks::Points(fit.places.iter().map(mark).collect());
    let line = Marks::Curve(line(&sizes).map(|x| (x, fit.at(x))).collect());
    [
        Trace::new(&points, series, means),
        Trace::new(&fitted, series, line),
    ]
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
    let (low, high) = range(sizes.iter().copied());
    let (low, high) = (low.max(1.0), high.max(1.0));
    (0..=STEPS).map(move |step| low * (high / low).powf(f64::from(step) / f64::from(STEPS)))
}
