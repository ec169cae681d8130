//! CPU time per message against message size, and the line through it: what a message costs, and what a byte costs.

use explain::{CostModel, Spent};
use plotly::common::Mode;
use plotly::{Plot, Scatter};
use report::frame::{Execution, Table, Value};

use super::{Drawn, HEIGHT, Wanted, axis, label, layout};
use crate::explained::explanation;

const ENDS: [(&str, Spent); 2] = [("send", Spent::SendCpu), ("receive", Spent::ReceiveCpu)];

pub(crate) fn draw(execution: &Execution, _: &Wanted) -> Vec<Drawn> {
    let costs = explanation(execution).costs;
    ENDS.iter().filter_map(|(end, spent)| of_end(&costs, end, *spent)).collect()
}

fn of_end(costs: &[(String, CostModel)], end: &str, spent: Spent) -> Option<Drawn> {
    let mut plot = Plot::new();
    let mut numbers = Table::new(["line", "message_size_bytes", "ns_per_message", "runs", "line_ns_per_message"]);
    let mut sentences = Vec::new();
    for (name, cost) in costs.iter().filter(|(_, cost)| cost.spent == spent) {
        let fit = &cost.fit;
        let (x, y): (Vec<f64>, Vec<f64>) = fit.places.iter().map(|(x, mean, _)| (*x, *mean)).unzip();
        numbers.rows.extend(fit.places.iter().map(|(x, mean, count)| {
            let line = [Value::Whole(*count as i64), Value::Number(fit.at(*x))];
            [Value::from(name.as_str()), Value::Number(*x), Value::Number(*mean)].into_iter().chain(line).collect()
        }));
        let (fixed, per_kib) = (fit.intercept.value, fit.slope.value * 1024.0);
        sentences.push(format!("{name}: {fixed:.0} ns per message and {per_kib:.1} ns per KiB"));
        let line = x.iter().map(|x| fit.at(*x)).collect();
        plot.add_trace(Scatter::new(x.clone(), y).name(label(name)).mode(Mode::Markers).legend_group(label(name)));
        let trace = Scatter::new(x, line).name(format!("{} (line)", label(name))).mode(Mode::Lines);
        plot.add_trace(trace.legend_group(label(name)));
    }
    if sentences.is_empty() {
        return None;
    }
    plot.set_layout(layout().x_axis(axis("message size (bytes)")).y_axis(axis("ns per message")));
    Some(Drawn {
        file: format!("cost-{end}"),
        title: format!("CPU time of a message to {end}."),
        caption: format!("Means of each size, and the line with the least relative error. {}.", sentences.join("; ")),
        plot,
        numbers,
        sampled: None,
        height: HEIGHT,
    })
}
