//! What a chapter opens with: one sentence, three figures and one picture.

use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::execution::Execution;
use bitcost_analysis::metrics::{Better, Metric, metric};
use bitcost_analysis::summary::{Summary, measured};
use bitcost_stats::Interval;

use crate::html::answer::answer;
use crate::html::pictures::{Picture, stacked, total};
use crate::html::section::figure;
use crate::html::writer::Html;
use crate::number;

/// The length in bytes up to which a sentence is set in large letters.
const SHORT: usize = 180;

/// The sentence, the figures and the picture. The rest of the answer is for a fold.
pub(crate) fn opening(
    page: &mut Html,
    execution: &Execution,
    hero: Option<&Picture>,
) -> Vec<String> {
    let mut sentences = answer(&execution.summary);
    let sentence = match costs(execution) {
        Some(words) => words,
        None => sentences.remove(0),
    };
    let class = if sentence.len() > SHORT {
        "answer long"
    } else {
        "answer"
    };
    page.element("p", class, &sentence);
    let figures = figures(execution);
    if !figures.is_empty() {
        page.raw("<div class=\"tiles\">\n");
        for (value, words) in figures {
            page.raw("<div class=\"tile\"><b>")
                .text(&value)
                .raw("</b><span>")
                .text(&words)
                .raw("</span></div>\n");
        }
        page.raw("</div>\n");
    }
    if let Some(hero) = hero {
        figure(page, hero);
    }
    sentences
}

/// The cells with a sum of these metrics, least first.
fn ranked<'a>(
    summary: &'a Summary,
    metrics: &[&'static Metric],
) -> Vec<(&'a CellSummary, Interval)> {
    let cells = summary.cells.iter();
    let mut found: Vec<_> = cells
        .filter_map(|cell| Some((cell, total(cell, metrics)?)))
        .collect();
    found.sort_by(|(_, a), (_, b)| a.value.total_cmp(&b.value));
    found
}

/// The dearest and the cheapest cell, where the study asks what a unit costs and its cells differ
/// by more than their intervals.
fn costs(execution: &Execution) -> Option<String> {
    let (summary, metrics) = (&execution.summary, stacked(execution));
    let asked = &summary.study.answer;
    let is_asked = asked.is_empty() || asked.iter().any(|name| *name == metrics[0].name);
    if metrics.len() < 2 || !is_asked {
        return None;
    }
    let cells = ranked(summary, &metrics);
    let ((cheap, low), (dear, high)) = (cells.first()?, cells.last()?);
    let of = |bound: Option<f64>, value: f64| bound.unwrap_or(value);
    if of(low.high, low.value) >= of(high.low, high.value) || low.value <= 0.0 {
        return None;
    }
    let what = metrics[0].unit.rsplit('/').next().unwrap_or("KiB");
    let [most, least] = [high.value, low.value].map(number::plain);
    Some(format!(
        "To send and to receive one {what} costs {most} µs of CPU time with {} and {least} µs with {}: ×{} between them.",
        joined(dear),
        joined(cheap),
        number::plain(high.value / low.value)
    ))
}

/// A cell's name, which no line ends within.
fn joined(cell: &CellSummary) -> String {
    cell.name().replace(' ', "\u{a0}")
}

/// Three figures, each with what it is.
fn figures(execution: &Execution) -> Vec<(String, String)> {
    let summary = &execution.summary;
    let bars = stacked(execution);
    let of = |metric: &Metric, value: f64| {
        let words = format!("{} {}", number::plain(value), metric.unit);
        words.trim_end().to_owned()
    };
    let used: Vec<&CellSummary> = summary.cells.iter().filter(|cell| cell.runs > 0).collect();
    if let [cell] = used[..] {
        let shown = measured(summary).into_iter().take(3);
        let tile = |metric: &'static Metric| {
            Some((
                of(metric, cell.figure(metric.name)?.value),
                metric.title.to_owned(),
            ))
        };
        return shown.filter_map(tile).collect();
    }
    let Some(first) = bars.first() else {
        return Vec::new();
    };
    let tile = |word: &str, metric: &Metric, (cell, sum): &(&CellSummary, Interval)| {
        (of(metric, sum.value), format!("{word}: {}", cell.name()))
    };
    let cells = ranked(summary, &bars);
    let (Some(least), Some(most)) = (cells.first(), cells.last()) else {
        return Vec::new();
    };
    if bars.len() > 1 {
        let throughput =
            metric("throughput_mbps").map(|metric| (metric, ranked(summary, &[metric])));
        let fastest = throughput
            .as_ref()
            .and_then(|(metric, cells)| Some(tile("fastest", metric, cells.last()?)));
        let costs = [tile("cheapest", first, least), tile("dearest", first, most)];
        return costs.into_iter().chain(fastest).collect();
    }
    let words = match first.better {
        Better::Higher => ["least", "best"],
        Better::Lower => ["best", "most"],
        Better::Neither => ["least", "most"],
    };
    let mut found = vec![tile(words[1], first, most), tile(words[0], first, least)];
    if first.better == Better::Lower {
        found.reverse();
    }
    if least.1.value > 0.0 && cells.len() > 1 {
        let ratio = number::plain(most.1.value / least.1.value);
        found.push((
            format!("×{ratio}"),
            format!("between them: {}", first.title),
        ));
    }
    found
}
