//! CPU time per message against message size, and the line through it: what a message costs, and what a byte costs.

use explain::{CostModel, Explanation, Spent, Unit};
use plotly::common::Mode;
use plotly::{Plot, Scatter};
use report::frame::{Execution, Table, Value};

use super::{Drawn, HEIGHT, Wanted, axis, label, layout};

const ENDS: [(&str, Spent); 2] = [("send", Spent::SendCpu), ("receive", Spent::ReceiveCpu)];

/// A picture per end and unit: a message and the segments that it travels in are different things.
pub(crate) fn draw(_: &Execution, _: &Wanted, explanation: &Explanation) -> Vec<Drawn> {
    let pairs = Unit::ALL.into_iter().flat_map(|unit| ENDS.map(|(end, spent)| (end, spent, unit)));
    pairs.filter_map(|(end, spent, unit)| of_end(&explanation.costs, end, spent, unit)).collect()
}

fn of_end(costs: &[(String, CostModel)], end: &str, spent: Spent, unit: Unit) -> Option<Drawn> {
    let word = unit.word();
    let mut plot = Plot::new();
    let mut numbers = Table::new([
        "line".to_owned(),
        format!("{word}_size_bytes"),
        format!("ns_per_{word}"),
        "runs".to_owned(),
        format!("line_ns_per_{word}"),
    ]);
    let mut sentences = Vec::new();
    for (name, cost) in costs.iter().filter(|(_, cost)| (cost.spent, cost.unit) == (spent, unit)) {
        let fit = &cost.fit;
        let (x, y): (Vec<f64>, Vec<f64>) = fit.places.iter().map(|(x, mean, _)| (*x, *mean)).unzip();
        numbers.rows.extend(fit.places.iter().map(|(x, mean, count)| {
            let line = [Value::Whole(*count as i64), Value::Number(fit.at(*x))];
            [Value::from(name.as_str()), Value::Number(*x), Value::Number(*mean)].into_iter().chain(line).collect()
        }));
        let (fixed, per_kib) = (fit.intercept.value, fit.slope.value * 1024.0);
        sentences.push(format!("{name}: {fixed:.0} ns per {word} and {per_kib:.1} ns per KiB"));
        let line = x.iter().map(|x| fit.at(*x)).collect();
        plot.add_trace(Scatter::new(x.clone(), y).name(label(name)).mode(Mode::Markers).legend_group(label(name)));
        let trace = Scatter::new(x, line).name(format!("{} (line)", label(name))).mode(Mode::Lines);
        plot.add_trace(trace.legend_group(label(name)));
    }
    if sentences.is_empty() {
        return None;
    }
    plot.set_layout(layout().x_axis(axis(&format!("{word} size (bytes)"))).y_axis(axis(&format!("ns per {word}"))));
    Some(Drawn {
        file: format!("cost-{end}-{word}"),
        title: format!("CPU time of a {word} to {end}."),
        caption: format!("Means of each size, and the line with the least relative error. {}.", sentences.join("; ")),
        plot,
        numbers,
        sampled: None,
        height: HEIGHT,
    })
}
