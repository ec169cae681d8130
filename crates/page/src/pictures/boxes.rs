//! A box per cell with every run as a dot.

use explain::Explanation;
use plotly::box_plot::BoxPoints;
use plotly::{BoxPlot, Plot};
use report::frame::{Execution, Table, Value};

use super::{Drawn, HEIGHT, Wanted, by_cell, label, layout, measured, named, note, points, scaled};
use crate::evenly;

/// Dots that a box keeps of its runs at least, however many boxes there are.
const DOTS: usize = 5;

pub(crate) fn draw(execution: &Execution, _: &Wanted, _: &Explanation) -> Vec<Drawn> {
    measured(execution)
        .into_iter()
        .map(|metric| {
            let mut plot = Plot::new();
            let mut numbers = Table::new(["cell", "run", metric.name]);
            let (mut drawn, mut all, mut values_of_all) = (0, 0, Vec::new());
            let cells = by_cell(execution, metric);
            let most = points(cells.len(), DOTS);
            for (cell, values) in cells {
                let dots: Vec<f64> = evenly(values.len(), most).map(|place| values[place].1).collect();
                (drawn, all) = (drawn + dots.len(), all + values.len());
                numbers.rows.extend(values.iter().map(|(run, value)| {
                    vec![Value::from(cell.name().as_str()), Value::from(*run), Value::Number(*value)]
                }));
                let y: Vec<f64> = values.into_iter().map(|(_, value)| value).collect();
                values_of_all.extend(y.iter().copied());
                plot.add_trace(of_cell(y, dots).name(label(&cell.name())).show_legend(false));
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

/// The box of all values, with the dots that are drawn of them.
fn of_cell(mut values: Vec<f64>, dots: Vec<f64>) -> Box<BoxPlot<f64, Vec<f64>>> {
    values.sort_by(f64::total_cmp);
    let at = |fraction: f64| stats::quantile_of_sorted(&values, fraction).unwrap_or(f64::NAN);
    let [low, middle, high] = [0.25, 0.5, 0.75].map(at);
    // Whiskers reach to the last values within one and a half boxes (Tukey).
    let reach = 1.5 * (high - low);
    let least = values.iter().copied().find(|value| *value >= low - reach).unwrap_or(low);
    let most = values.iter().copied().rfind(|value| *value <= high + reach).unwrap_or(high);
    let plot = BoxPlot::new(vec![dots]).q1(vec![low]).median(vec![middle]).q3(vec![high]);
    let plot = plot.lower_fence(vec![least]).upper_fence(vec![most]);
    plot.box_points(BoxPoints::All).jitter(0.4).point_pos(0.0)
}
