//! What changed from one execution to another, or between the two settings that a study compares.

use std::collections::BTreeMap;

use bitcost_analysis::compare::{Change, Comparison, Shift};
use bitcost_model::units::counted;

use super::chart::{Axis, Chart, Mark, Marks, Trace};
use super::pictures::{Picture, ROWS, note_rows};
use super::writer::Html;
use crate::block::Block;
use crate::comparison::{
    comparison_headline, comparison_lines, comparison_method, comparison_tally, in_order, remarks,
    shown,
};

/// Intervals are drawn up to this many times the largest change; further ones end at the picture's edge.
const REACH: f64 = 2.0;

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

/// Every change as a picture, and folded as a table; the table alone where there is no picture.
fn found(page: &mut Html, comparison: &Comparison) {
    let lines = comparison_lines(comparison, true);
    match forest(comparison) {
        Some(picture) => page.figure(&picture),
        None => {
            page.table("Changes", &lines);
        }
    }
    let figures = counted(lines.rows.len(), "figure");
    let words = format!("{figures}: {}", comparison_tally(comparison));
    page.fold("Every change", &words, |page| {
        page.blocks(&[Block::words(comparison_method(comparison))])
            .blocks(&remarks(comparison));
        page.raw("<div class=\"changes\">\n")
            .table("Every change", &lines)
            .raw("</div>\n");
    });
}

/// The changes in per cent with their intervals, each in the colour of its verdict, in the order of the table, and a line
/// at no change; absent where fewer than two are ratios.
fn forest(comparison: &Comparison) -> Option<Picture> {
    let is_ratio = |change: &Change| matches!(change.shift, Some(Shift::Ratio(_)));
    let mut changes = in_order(comparison);
    changes.retain(|(_, change)| is_ratio(change));
    let all = changes.len();
    changes.truncate(ROWS);
    let (mut names, mut words, mut reach) = (Vec::new(), Vec::new(), Vec::new());
    let mut of_verdict: BTreeMap<&str, Vec<Mark>> = BTreeMap::new();
    for (place, (cell, change)) in changes.into_iter().enumerate() {
        let interval = change.shift?.change();
        let name = format!("{}, {}", cell.name(), change.metric.title);
        let shown = format!("{}, {}", shown(change), change.verdict.name());
        reach.push((interval.value, [interval.low, interval.high]));
        let title = format!("{name}: {shown}");
        let marks = of_verdict.entry(change.verdict.name()).or_default();
        marks.push(Mark::at(interval.value, place as f64, &interval, title));
        names.push(name);
        words.push(shown);
    }
    let trace = |(verdict, marks): (&str, Vec<Mark>)| {
        let mut trace = Trace::new(verdict, 0, Marks::Dots(marks));
        let is_coloured = ["better", "worse"].contains(&verdict);
        trace.class = if is_coloured { verdict } else { "same" }.to_owned();
        trace
    };
    let traces = of_verdict.into_iter().map(trace).collect();
    let threshold = comparison.threshold_pct;
    let largest = reach.iter().map(|(value, _)| value.abs());
    let most = REACH * largest.fold(threshold, f64::max);
    let bounds = reach.iter().flat_map(|(_, bounds)| bounds).flatten();
    let bounds = bounds.map(|bound| bound.clamp(-most, most));
    let values = reach.iter().map(|(value, _)| *value);
    let reach: Vec<f64> = values.chain(bounds).collect();
    let mut chart = Chart::rows((Axis::from_zero(&reach), "%"), names, traces);
    chart.panels[0].rules = vec![-threshold, 0.0, threshold];
    chart.panels[0].columns = vec![("change".to_owned(), words)];
    (all > 1).then(|| Picture {
        title: "Changes.".to_owned(),
        caption: "From old to new, with 95 % intervals, which may go on beyond the edge; the line is no change, the dotted ones are the threshold.".to_owned(),
        chart,
        note: note_rows(all),
    })
}
