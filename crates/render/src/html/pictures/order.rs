//! Every run in the order in which they were made, which shows a drift.

use bitcost_analysis::cells::Status;
use bitcost_analysis::explain::Explanation;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::{Table, Value};
use bitcost_analysis::metrics::Metric;

use super::drawing::{Drawn, along, bare, by_cell, measured, named, note, plain, points, words};
use crate::html::svg::{Mark, Marks, Sign, Trace};
use bitcost_analysis::evenly::evenly;
use bitcost_study::{Picture as Wanted, Scale};

pub(crate) fn draw(execution: &Findings, _: &Wanted, _: &Explanation) -> Vec<Drawn> {
    measured(execution)
        .into_iter()
        .map(|metric| of_metric(execution, metric))
        .collect()
}

/// The fewest dots of each cell, however many cells there are.
const DOTS: usize = 5;

fn of_metric(execution: &Findings, metric: &Metric) -> Drawn {
    let mut traces: Vec<Trace> = Vec::new();
    let mut numbers = Table::new(["cell", "run", "status", metric.name]);
    let (mut drawn, mut all, mut values_of_all) = (0, 0, Vec::new());
    let mut left_out: Vec<(u32, f64)> = Vec::new();
    for run in execution
        .summary
        .runs
        .iter()
        .filter(|run| run.status == Status::LeftOut)
    {
        left_out.extend(run.value(metric).map(|value| (run.run + 1, value)));
    }
    let cells = by_cell(execution, metric);
    let clouds = cells.len() + usize::from(!left_out.is_empty());
    let most = points(clouds, DOTS);
    let cells = cells
        .into_iter()
        .map(|(cell, values)| (cell.name(), "used", values));
    let crosses = (!left_out.is_empty()).then(|| ("left out".to_owned(), "left_out", left_out));
    for (name, status, values) in cells.chain(crosses) {
        let chosen: Vec<(u32, f64)> = evenly(values.len(), most)
            .map(|place| values[place])
            .collect();
        (drawn, all) = (drawn + chosen.len(), all + values.len());
        let row = |(run, value): &(u32, f64)| {
            vec![
                Value::from(name.as_str()),
                Value::from(*run),
                Value::from(status),
                Value::Number(*value),
            ]
        };
        numbers.rows.extend(values.iter().map(row));
        values_of_all.extend(chosen.iter().map(|(_, value)| *value));
        let mark = |(run, value): (u32, f64)| Mark {
            x: f64::from(run),
            y: value,
            title: words(&format!("{name}, run {run}"), &bare(value), metric),
            ..Mark::default()
        };
        let marks = Marks::Points(chosen.into_iter().map(mark).collect());
        let mut trace = Trace::new(&name, traces.len(), marks);
        if status != "used" {
            trace.sign = Sign::Cross;
        }
        traces.push(trace);
    }
    let title = format!("{} in the order of runs.", metric.title);
    let runs = [1.0, execution.summary.runs.len() as f64];
    let x = along(Some(Scale::Linear), &runs, &[]);
    let y = along(None, &values_of_all, &[]);
    Drawn {
        file: format!("order-{}", metric.name),
        chart: plain(&title, (x, "run"), (y, &named(metric)), traces),
        title,
        caption: "A cell whose dots rise or fall from left to right drifted while it was measured."
            .into(),
        numbers,
        sampled: note(drawn, all),
    }
}
