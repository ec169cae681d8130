//! What changed from one execution to another, or between the two settings that a study compares.

use bitcost_analysis::compare::{Change, Comparison, Shift, Verdict};
use bitcost_analysis::metrics::Metric;
use bitcost_analysis::statistics::Interval;
use bitcost_model::units::counted;

use super::pictures::{Bars, Picture, Series};
use super::writer::Html;
use crate::block::Block;
use crate::comparison::{
    comparison_headline, comparison_lines, comparison_method, comparison_tally, remarks,
};

pub(crate) fn chapter(page: &mut Html, comparisons: &[Comparison]) {
    if comparisons.is_empty() {
        return;
    }
    page.raw("<article>\n<header>\n")
        .element("h1", "", "What changed")
        .raw("</header>\n");
    for comparison in comparisons {
        page.element("h2", "", &title(comparison));
        page.element("p", "answer", &comparison_headline(comparison));
        found(page, comparison);
    }
    page.raw("</article>\n");
}

/// What a study compares itself, as a folded part of its chapter.
pub(crate) fn folded(page: &mut Html, comparison: &Comparison) {
    page.fold(&title(comparison), &comparison_tally(comparison), |page| {
        found(page, comparison)
    });
}

fn title(comparison: &Comparison) -> String {
    format!("From {} to {}", comparison.old, comparison.new)
}

/// The picture of the first metric, and folded every change and the other pictures.
fn found(page: &mut Html, comparison: &Comparison) {
    let pictures = pictures(comparison);
    let (first, others) = pictures.split_at(pictures.len().min(1));
    first.iter().for_each(|picture| page.figure(picture));
    let lines = comparison_lines(comparison, true);
    let figures = counted(lines.rows.len(), "figure");
    let words = format!("{figures}: {}", comparison_tally(comparison));
    page.fold("Every change", &words, |page| {
        page.blocks(&[Block::words(comparison_method(comparison))])
            .blocks(&remarks(comparison));
        page.raw("<div class=\"changes\">\n")
            .table("Every change", &lines)
            .raw("</div>\n");
        others.iter().for_each(|picture| page.figure(picture));
    });
}

/// A bar for the change in per cent of each cell, in the colour of its verdict: a picture for each metric.
fn pictures(comparison: &Comparison) -> Vec<Picture> {
    let mut metrics: Vec<&'static Metric> = Vec::new();
    for change in comparison.changes().filter(|change| pct(change).is_some()) {
        if metrics.iter().all(|known| known.name != change.metric.name) {
            metrics.push(change.metric);
        }
    }
    let pictures = metrics.into_iter();
    pictures.map(|metric| picture(comparison, metric)).collect()
}

fn pct(change: &Change) -> Option<Interval> {
    let shift = change.shift;
    let shift = shift.filter(|shift| matches!(shift, Shift::Ratio(_)))?;
    Some(shift.change())
}

fn picture(comparison: &Comparison, metric: &Metric) -> Picture {
    let is_shown = |change: &&Change| change.metric.name == metric.name && pct(change).is_some();
    let cells = comparison.cells.iter();
    let changes: Vec<(String, &Change)> = cells
        .filter_map(|cell| Some((cell.name(), cell.changes.iter().find(is_shown)?)))
        .collect();
    let series = |verdict: Verdict| {
        let changes = changes.iter().map(|(_, change)| *change);
        let values = changes.map(|change| pct(change).filter(|_| change.verdict == verdict));
        let mut series = Series::new(verdict.name(), values.collect());
        series.class = Some(match verdict {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            _ => "same",
        });
        series
    };
    let has_marks = |series: &Series| series.values.iter().any(Option::is_some);
    let series = Verdict::ALL.into_iter().map(series).filter(has_marks);
    let verdicts = changes.iter().map(|(_, change)| change.verdict.name());
    let verdicts = verdicts.map(str::to_owned).collect();
    let bars = Bars {
        file: format!("change-{}", metric.name),
        title: format!("{}, change.", metric.title),
        caption: "From old to new, with 95 % intervals; dotted lines show the threshold.".into(),
        unit: "%".to_owned(),
        names: changes.iter().map(|(name, _)| name.clone()).collect(),
        series: series.collect(),
        is_stacked: true,
        rules: vec![-comparison.threshold_pct, comparison.threshold_pct],
        columns: vec![("verdict".to_owned(), verdicts)],
    };
    bars.draw()
}
