//! Runs of one kind: medians with their intervals, as text and as a table.

use std::collections::BTreeMap;
use std::fmt::Write;

use bitcost_analysis::frame::{Table, Value};
use bitcost_analysis::metrics::{METRICS, Metric, RunView, disturbance, disturbance_bounds};
use bitcost_analysis::summary::width_pct;
use bitcost_model::study::UntilInterval;
use bitcost_model::units::counted;
use bitcost_stats::Interval;

use crate::{number, single};

/// Runs of one kind, added one at a time.
#[derive(Default)]
pub struct Repeats {
    shown: Vec<&'static Metric>,
    values: BTreeMap<&'static str, Vec<f64>>,
    runs: usize,
    disturbed: usize,
}

impl Repeats {
    /// Adds a run.
    pub fn add(&mut self, run: &RunView) {
        if self.runs == 0 {
            self.shown = single::shown(run).collect();
        }
        for metric in METRICS {
            if let Some(value) = (metric.compute)(run) {
                self.values.entry(metric.name).or_default().push(value);
            }
        }
        self.disturbed += usize::from(disturbance(run).is_some());
        self.runs += 1;
    }

    /// Whether there is more than one run.
    pub fn are_several(&self) -> bool {
        self.runs > 1
    }

    /// Medians with their 95 % intervals in brackets, and whether the interval that was requested
    /// was reached.
    pub fn text(&self, rule: Option<&UntilInterval>) -> String {
        let mut text = format!(
            "{}; medians, in brackets their {}
",
            counted(self.runs, "run"),
            crate::coverage::of_runs(self.runs)
        );
        for metric in &self.shown {
            if let Some(interval) = self.median(metric) {
                let interval = number::interval(&interval);
                let _ = writeln!(text, "{:<42} {interval:>24} {}", metric.title, metric.unit);
            }
        }
        if self.disturbed > 0 {
            let _ = writeln!(
                text,
                "disturbed: in {} runs {}",
                self.disturbed,
                disturbance_bounds()
            );
        }
        if let Some(rule) = rule {
            text += &self.reached(rule);
        }
        text
    }

    /// Whether the interval of a rule was reached.
    fn reached(&self, rule: &UntilInterval) -> String {
        let width = match self.width_pct(rule) {
            Some(width) if width < rule.width_pct => {
                format!("reached, it is {} %", number::plain(width))
            }
            Some(width) => format!("not reached, it is {} %", number::plain(width)),
            None => "not measured".to_owned(),
        };
        format!(
            "interval of the median of {} narrower than {} %: {width}\n",
            rule.metric, rule.width_pct
        )
    }

    /// The figures that a text shows: the value of one run, or medians with their intervals.
    pub fn table(&self) -> Table {
        let is_one = self.runs == 1;
        let names: &[&str] = if is_one {
            &["metric", "value", "unit"]
        } else {
            &["metric", "median", "low", "high", "unit"]
        };
        let mut table = Table::new(names.iter().copied());
        for metric in &self.shown {
            let Some(Interval { value, low, high }) = self.median(metric) else {
                continue;
            };
            let mut row = vec![Value::from(metric.title), Value::Number(value)];
            if !is_one {
                row.extend([Value::from(low), Value::from(high)]);
            }
            row.push(Value::from(metric.unit));
            table.rows.push(row);
        }
        table
    }

    fn median(&self, metric: &Metric) -> Option<Interval> {
        bitcost_stats::median_interval(self.values.get(metric.name)?, 0)
    }

    fn width_pct(&self, rule: &UntilInterval) -> Option<f64> {
        let values = self.values.get(rule.metric.as_str())?;
        width_pct(&bitcost_stats::median_interval(values, 0)?)
    }
}
