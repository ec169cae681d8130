//! A metric at every percentile of the runs, a line per cell.

use bitcost_analysis::explain::Explanation;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::{Table, Value};
use bitcost_analysis::metrics::Metric;
use bitcost_analysis::statistics::Interval;

use super::drawing::{Drawn, along, by_cell, measured, named, plain, points, words};
use crate::html::svg::{Mark, Marks, Trace};
use crate::number;
use bitcost_study::{Picture as Wanted, Scale};

/// The fewest runs of a cell of which percentiles say more than the runs themselves.
const RUNS: usize = 20;

/// The number of percentiles of a line if there are more runs than that: the most, and the fewest
/// with very many lines.
const STEPS: (usize, usize) = (200, 11);

pub(crate) fn draw(execution: &Findings, _: &Wanted, _: &Explanation) -> Vec<Drawn> {
    let metrics = measured(execution).into_iter();
    metrics
        .filter(|metric| {
            let cells = by_cell(execution, metric);
            cells.iter().any(|(_, values)| values.len() >= RUNS)
        })
        .map(|metric| of_metric(execution, metric))
        .collect()
}

fn of_metric(execution: &Findings, metric: &Metric) -> Drawn {
    let mut traces: Vec<Trace> = Vec::new();
    let mut numbers = Table::new(["cell", "percentile", metric.name]);
    let (mut all, mut values_of_all) = (0, Vec::new());
    let cells = by_cell(execution, metric);
    let lines = cells.len();
    let steps = points(lines, STEPS.1).min(STEPS.0);
    for (cell, values) in cells {
        let mut values: Vec<f64> = values.into_iter().map(|(_, value)| value).collect();
        values.sort_by(f64::total_cmp);
        all = all.max(values.len());
        let line = line(&values, steps);
        values_of_all.extend(line.iter().map(|(_, value)| *value));
        numbers.rows.extend(line.iter().map(|(percentile, value)| {
            vec![
                Value::from(cell.name().as_str()),
                Value::Number(*percentile),
                Value::Number(*value),
            ]
        }));
        let mark = |(percentile, value): (f64, f64)| {
            let name = format!("{}, percentile {}", cell.name(), number::plain(percentile));
            let title = words(&name, &Interval::alone(value), metric);
            Mark::at(percentile, value, None, title)
        };
        let marks = if values.len() > steps {
            Marks::Curve(line)
        } else {
            Marks::Line(line.into_iter().map(mark).collect())
        };
        traces.push(Trace::new(&cell.name(), traces.len(), marks));
    }
    let title = format!("{} at every percentile.", metric.title);
    let x = along(Some(Scale::Linear), &[0.0, 100.0], &[]);
    let y = along(None, &values_of_all, &[]);
    Drawn {
        file: format!("percentiles-{}", metric.name),
        chart: plain(&title, (x, "percentile of the runs"), (y, &named(metric)), traces),
        title,
        caption: "A line per cell: the share of runs on the horizontal axis did not exceed the value. A flat line is a steady cell.".into(),
        numbers,
        sampled: (all > steps).then(|| format!("Sampled: {steps} percentiles of up to {all} runs.")),
    }
}

/// Percentile and value: of each run, or of this number of steps.
fn line(sorted: &[f64], steps: usize) -> Vec<(f64, f64)> {
    if let [one] = sorted {
        return vec![(50.0, *one)];
    }
    let steps = sorted.len().min(steps);
    let fractions = (0..steps).map(|step| step as f64 / (steps - 1) as f64);
    fractions
        .filter_map(|fraction| {
            Some((
                100.0 * fraction,
                bitcost_analysis::statistics::quantile_of_sorted(sorted, fraction)?,
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn few_runs_are_their_own_percentiles_and_many_are_steps() {
        assert_eq!(line(&[7.0], 200), [(50.0, 7.0)]);
        assert_eq!(
            line(&[1.0, 2.0, 4.0], 200),
            [(0.0, 1.0), (50.0, 2.0), (100.0, 4.0)]
        );
        let many: Vec<f64> = (0..=1000).map(f64::from).collect();
        let found = line(&many, 200);
        assert_eq!(
            (found.len(), found[0], found[199]),
            (200, (0.0, 0.0), (100.0, 1000.0))
        );
    }
}
