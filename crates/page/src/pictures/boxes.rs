//! A box per cell with every run as a dot.

use plotly::box_plot::BoxPoints;
use plotly::{BoxPlot, Plot};
use report::frame::{Execution, Table, Value};

use super::{Drawn, HEIGHT, POINTS, Wanted, by_cell, label, layout, measured, named, note, scaled};
use crate::evenly;

pub(crate) fn draw(execution: &Execution, _: &Wanted) -> Vec<Drawn> {
    measured(execution)
        .into_iter()
        .map(|metric| {
            let mut plot = Plot::new();
            let mut numbers = Table::new(["cell", "run", metric.name]);
            let (mut drawn, mut all, mut values_of_all) = (0, 0, Vec::new());
            for (cell, values) in by_cell(execution, metric) {
                let chosen: Vec<(u32, f64)> = evenly(values.len(), POINTS).map(|place| values[place]).collect();
                (drawn, all) = (drawn + chosen.len(), all + values.len());
                numbers.rows.extend(chosen.iter().map(|(run, value)| {
                    vec![Value::from(cell.name().as_str()), Value::from(*run), Value::Number(*value)]
                }));
                let y: Vec<f64> = chosen.into_iter().map(|(_, value)| value).collect();
                values_of_all.extend(y.iter().copied());
                let trace =
                    BoxPlot::new(y).name(label(&cell.name())).box_points(BoxPoints::All).jitter(0.4).point_pos(0.0);
                plot.add_trace(trace.show_legend(false));
            }
            let x = plotly::layout::Axis::new().auto_margin(true);
            plot.set_layout(layout().x_axis(x).y_axis(scaled(&named(metric), &values_of_all)));
            Drawn {
                file: format!("spread-{}", metric.name),
                title: format!("{}, every run.", metric.title),
                caption: "A dot per run; the box holds the middle half of the runs, its line is the median.".into(),
                plot,
                numbers,
                sampled: note(drawn, all),
                height: HEIGHT,
            }
        })
        .collect()
}
