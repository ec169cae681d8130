//! What a study compares, and the metrics of a comparison.

use std::slice::from_ref;

use super::found::Comparison;
use super::pairs::{across, within};
use crate::findings::Findings;
use crate::metrics::Metric;
use crate::summary::{Summary, shown_metrics};

/// The metrics of a comparison for which none are named: those that a table of these executions
/// shows.
pub fn compared_metrics(summaries: &[&Summary]) -> Vec<&'static Metric> {
    // One run a side shows nothing of others.
    let singles = || summaries.iter().flat_map(|summary| &summary.runs);
    let has_error = |name: &str| singles().any(|run| run.singles.contains_key(name));
    let is_single = summaries.iter().all(|summary| summary.runs.len() == 1)
        && singles().any(|run| !run.singles.is_empty());
    let mut found: Vec<&'static Metric> = Vec::new();
    let names = summaries.iter().flat_map(|summary| shown_metrics(summary));
    let names = names.filter(|name| !is_single || has_error(name));
    for metric in names.filter_map(crate::metrics::metric) {
        if found.iter().all(|known| known.name != metric.name) {
            found.push(metric);
        }
    }
    found
}

/// The comparison that a study asks for ([`bitcost_study::Compared`]); absent where it asks for
/// none.
pub fn of_study(execution: &Findings, threshold_pct: f64) -> Option<Comparison> {
    let compared = execution.summary.study.compare.as_ref()?;
    let metrics = compared_metrics(&[&execution.summary]);
    let found = within(execution, compared, &metrics, threshold_pct);
    // The study's tables already say what became of the runs.
    Some(Comparison {
        run_remarks: Vec::new(),
        ..found
    })
}

/// The first execution compared with each other one; those without a cell in common are left out.
pub fn with_first(executions: &[Findings], threshold_pct: f64) -> Vec<Comparison> {
    let Some((old, others)) = executions.split_first() else {
        return Vec::new();
    };
    let metrics = |new: &Findings| compared_metrics(&[&old.summary, &new.summary]);
    let compared = |new| across(from_ref(old), from_ref(new), &metrics(new), threshold_pct);
    let all = others.iter().map(compared);
    all.filter(|one| !one.cells.is_empty()).collect()
}
