//! A box per cell with every run as a dot.

use bitcost_analysis::execution::Execution;
use bitcost_analysis::explain::Explanation;
use bitcost_analysis::frame::{Table, Value};
use bitcost_analysis::metrics::Metric;
use plotly::box_plot::BoxPoints;
use plotly::{BoxPlot, Plot};

use super::drawing::{
    Drawn, HEIGHT, by_cell, is_spread, label, layout, measured, named, note, of_names, points,
    scaled,
};
use bitcost_analysis::evenly::evenly;
use bitcost_study::Picture as Wanted;

/// The fewest dots that a box keeps of its runs, however many boxes there are.
const DOTS: usize = 5;

pub(crate) fn draw(execution: &Execution, _: &Wanted, _: &Explanation) -> Vec<Drawn> {
    let metrics = measured(execution).into_iter();
    metrics
        .filter(|metric| is_spread(&by_cell(execution, metric)))
        .map(|metric| of_metric(execution, metric))
        .collect()
}

fn of_metric(execution: &Execution, metric: &Metric) -> Drawn {
    let mut plot = Plot::new();
    let mut numbers = Table::new(["cell", "run", metric.name]);
    let (mut drawn, mut all, mut values_of_all) = (0, 0, Vec::new());
    let cells = by_cell(execution, metric);
    let most = points(cells.len(), DOTS);
    for (cell, values) in cells {
        let dots: Vec<f64> = evenly(values.len(), most)
            .map(|place| values[place].1)
            .collect();
        (drawn, all) = (drawn + dots.len(), all + values.len());
        numbers.rows.extend(values.iter().map(|(run, value)| {
            vec![
                Value::from(cell.name().as_str()),
                Value::from(*run),
                Value::Number(*value),
            ]
        }));
        let y: Vec<f64> = values.into_iter().map(|(_, value)| value).collect();
        values_of_all.extend(y.iter().copied());
        plot.add_trace(of_cell(label(&cell.name()), y, dots).show_legend(false));
    }
    plot.set_layout(
        layout()
            .x_axis(of_names())
            .y_axis(scaled(&named(metric), &values_of_all)),
    );
    Drawn {
        file: format!("spread-{}", metric.name),
        title: format!("{}, every run.", metric.title),
        caption:
            "A dot per run; the box next to them holds the middle half of the runs, and its line is the median."
                .into(),
        plot,
        numbers,
        sampled: note(drawn, all),
        height: HEIGHT,
    }
}

/// The box of all values, with the dots that are drawn for them.
fn of_cell(name: String, mut values: Vec<f64>, dots: Vec<f64>) -> Box<BoxPlot<String, Vec<f64>>> {
    values.sort_by(f64::total_cmp);
    let at =
        |fraction: f64| bitcost_stats::quantile_of_sorted(&values, fraction).unwrap_or(f64::NAN);
    let [low, middle, high] = [0.25, 0.5, 0.75].map(at);
    // Whiskers reach to the last values within one and a half box heights (Tukey).
    let reach = 1.5 * (high - low);
    let least = values
        .iter()
        .copied()
        .find(|value| *value >= low - reach)
        .unwrap_or(low);
    let most = values
        .iter()
        .copied()
        .rfind(|value| *value <= high + reach)
        .unwrap_or(high);
    // plotly draws a box with given quartiles at 0 unless it is given a position.
    let plot = BoxPlot::new_xy(vec![name.clone()], vec![dots])
        .name(name)
        .q1(vec![low])
        .median(vec![middle])
        .q3(vec![high]);
    let plot = plot.lower_fence(vec![least]).upper_fence(vec![most]);
    // The dots are at the side of the box, where a flat box does not hide them.
    plot.box_points(BoxPoints::All).jitter(0.4).point_pos(-1.5)
}
