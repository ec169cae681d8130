//! A metric at every percentile of the runs, a line per cell.

use bitcost_analysis::findings::Findings;
use bitcost_analysis::metrics::Metric;
use bitcost_analysis::statistics::{Interval, quantile_of_sorted};
use bitcost_study::Scale;

use super::picture::{Picture, by_cell, named, points, words};
use crate::html::chart::{Axis, Chart, Mark, Marks, Trace};
use crate::number;

/// The fewest runs of a cell of which percentiles say more than the runs themselves.
const RUNS: usize = 20;

/// The number of percentiles of a line if there are more runs than that: the most, and the fewest with very many lines.
const STEPS: (usize, usize) = (200, 11);

pub(super) fn draw(execution: &Findings, metric: &Metric) -> Option<Picture> {
    let cells = by_cell(execution, metric);
    let runs = cells.iter().map(|(_, values)| values.len()).max()?;
    if runs < RUNS {
        return None;
    }
    let steps = points(cells.len(), STEPS.1).min(STEPS.0);
    let (mut traces, mut all) = (Vec::new(), Vec::new());
    for (series, (cell, values)) in cells.into_iter().enumerate() {
        let name = cell.name();
        let values = values.into_iter().map(|(_, value)| value).collect();
        let marks = line(values, steps).into_iter().map(|(percentile, value)| {
            let place = format!("{name}, percentile {}", number::plain(percentile));
            let of = Interval::alone(value);
            Mark::at(percentile, value, &of, words(&place, &of, metric.unit))
        });
        let marks: Vec<Mark> = marks.collect();
        all.extend(marks.iter().map(|mark| mark.y));
        traces.push(Trace::new(&name, series, Marks::Line(marks)));
    }
    let x = Axis::along(Some(Scale::Linear), &[0.0, 100.0], &[]);
    let y = Axis::along(None, &all, &[]);
    Some(Picture {
        title: format!("{} at every percentile.", metric.title),
        caption:
            "A line per cell: the share of runs on the horizontal axis did not exceed the value."
                .into(),
        chart: Chart::plain((x, "percentile of the runs"), (y, named(metric)), traces),
        note: (runs > steps).then(|| format!("Sampled: {steps} percentiles of up to {runs} runs.")),
    })
}

/// Percentile and value: of each run, or of this number of steps.
fn line(mut values: Vec<f64>, steps: usize) -> Vec<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    if let [one] = values[..] {
        return vec![(50.0, one)];
    }
    let steps = values.len().min(steps);
    let fractions = (0..steps).map(|step| step as f64 / (steps - 1) as f64);
    let point = |fraction: f64| Some((100.0 * fraction, quantile_of_sorted(&values, fraction)?));
    fractions.filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn few_runs_are_their_own_percentiles_and_many_are_steps() {
        assert_eq!(line(vec![7.0], 200), [(50.0, 7.0)]);
        let few = [(0.0, 1.0), (50.0, 2.0), (100.0, 4.0)];
        assert_eq!(line(vec![4.0, 1.0, 2.0], 200), few);
        let many = line((0..=1000).map(f64::from).collect(), 200);
        assert_eq!(
            (many.len(), many[0], many[199]),
            (200, (0.0, 0.0), (100.0, 1000.0))
        );
    }
}
