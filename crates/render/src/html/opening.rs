//! What a chapter opens with: one sentence, three figures and one picture.

use bitcost_analysis::caveat::Caveat;
use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::metrics::{Better, Metric, metric};
use bitcost_analysis::statistics::Interval;
use bitcost_analysis::summary::measured;

use crate::answer::{Answer, lowered, ranked, stacked};
use crate::html::pictures::Picture;
use crate::html::section::figure;
use crate::html::writer::Html;
use crate::number;

/// The length in bytes up to which a sentence is set in large letters.
const SHORT: usize = 180;

/// The sentence, what changes it, the figures and the picture. Returns the rest of the answer, which is for the fold
/// of the tables.
pub(crate) fn opening(
    page: &mut Html,
    execution: &Findings,
    hero: Option<&Picture>,
) -> Vec<String> {
    let answer = Answer::of(execution);
    let class = if answer.sentence.len() > SHORT {
        "answer long"
    } else {
        "answer"
    };
    page.element("p", class, &answer.sentence);
    for words in Caveat::by_weight(answer.caveats.clone()) {
        page.element("p", "caveat", &format!("Caveat: {words}."));
    }
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
    answer.rest
}

/// Three figures, each with what it is.
fn figures(execution: &Findings) -> Vec<(String, String)> {
    let summary = &execution.summary;
    let bars = stacked(summary);
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
        let costs = [
            tile("cheapest", first, least),
            tile("most expensive", first, most),
        ];
        return costs.into_iter().chain(fastest).collect();
    }
    let title = lowered(first.title);
    let [highest, lowest] = ["highest", "lowest"].map(|word| format!("{word} {title}"));
    let mut found = vec![tile(&highest, first, most), tile(&lowest, first, least)];
    if first.better == Better::Lower {
        found.reverse();
    }
    if least.1.value > 0.0 && cells.len() > 1 {
        let ratio = number::plain(most.1.value / least.1.value);
        found.push((format!("×{ratio}"), "between highest and lowest".to_owned()));
    }
    found
}
