//! Every run in the order in which they were made, which shows a drift.

use bitcost_analysis::cells::Status;
use bitcost_analysis::execution::Execution;
use bitcost_analysis::explain::Explanation;
use bitcost_analysis::frame::{Table, Value};
use bitcost_analysis::metrics::Metric;
use plotly::common::{Marker, MarkerSymbol, Mode};
use plotly::{Plot, Scatter};

use super::drawing::{
    Drawn, HEIGHT, axis, by_cell, label, layout_of, measured, named, note, points, scaled,
};
use bitcost_analysis::evenly::evenly;
use bitcost_study::Picture as Wanted;

pub(crate) fn draw(execution: &Execution, _: &Wanted, _: &Explanation) -> Vec<Drawn> {
    measured(execution)
        .into_iter()
        .map(|metric| of_metric(execution, metric))
        .collect()
}

/// The fewest dots of each cell, however many cells there are.
const DOTS: usize = 5;

fn of_metric(execution: &Execution, metric: &Metric) -> Drawn {
    let mut plot = Plot::new();
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
        let (x, y) = chosen.into_iter().unzip();
        let trace = Scatter::<u32, f64>::new(x, y)
            .name(label(&name))
            .mode(Mode::Markers);
        plot.add_trace(if status == "used" {
            trace
        } else {
            trace.marker(Marker::new().symbol(MarkerSymbol::X))
        });
    }
    plot.set_layout(
        layout_of(clouds)
            .x_axis(axis("run"))
            .y_axis(scaled(&named(metric), &values_of_all)),
    );
    Drawn {
        file: format!("order-{}", metric.name),
        title: format!("{} in the order of runs.", metric.title),
        caption: "A cell whose dots rise or fall from left to right drifted while it was measured."
            .into(),
        plot,
        numbers,
        sampled: note(drawn, all),
        height: HEIGHT,
    }
}
