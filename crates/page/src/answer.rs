//! The answer in three sentences, computed from the figures.

use metrics::{Better, Metric, metric};
use report::{CellSummary, Summary, number, shown_metrics};

/// Three sentences: where the first metric is best, what makes the most difference, and how sure that is.
pub(crate) fn answer(summary: &Summary) -> Vec<String> {
    let Some(metric) = shown_metrics(summary).into_iter().filter_map(metric).find(|metric| has_values(summary, metric))
    else {
        return vec!["No run has a result that can be used.".to_owned(), trust(summary)];
    };
    let second = improvement(summary).or_else(|| second_metric(summary, metric));
    [Some(best(summary, metric)), second, Some(trust(summary))].into_iter().flatten().collect()
}

fn has_values(summary: &Summary, metric: &Metric) -> bool {
    summary.cells.iter().any(|cell| cell.figure(metric.name).is_some())
}

/// The cells with the metric, best first.
fn ranked<'a>(summary: &'a Summary, metric: &Metric) -> Vec<(&'a CellSummary, f64)> {
    let mut cells: Vec<_> =
        summary.cells.iter().filter_map(|cell| Some((cell, cell.figure(metric.name)?.value))).collect();
    cells.sort_by(|(_, a), (_, b)| if metric.better == Better::Lower { a.total_cmp(b) } else { b.total_cmp(a) });
    cells
}

fn shown(cell: &CellSummary, metric: &Metric) -> String {
    let interval = cell.figure(metric.name).map(number::interval).unwrap_or_default();
    format!("{interval} {}", metric.unit).trim_end().to_owned()
}

fn place(cell: &CellSummary) -> String {
    if cell.levels.is_empty() { "the only cell".to_owned() } else { cell.name() }
}

fn best(summary: &Summary, metric: &Metric) -> String {
    let cells = ranked(summary, metric);
    let (word, other) = if metric.better == Better::Lower { ("lowest", "highest") } else { ("highest", "lowest") };
    let (Some((first, high)), Some((last, low))) = (cells.first(), cells.last()) else { return String::new() };
    if cells.len() == 1 {
        return format!("{} is {} with {}.", metric.title, shown(first, metric), place(first));
    }
    let (more, less) = if high > low { (high, low) } else { (low, high) };
    let factor = if *less > 0.0 { format!(", ×{} between them", number::plain(more / less)) } else { String::new() };
    format!(
        "{} is {word} with {} ({}) and {other} with {} ({}){factor}.",
        metric.title,
        place(first),
        shown(first, metric),
        place(last),
        shown(last, metric)
    )
}

/// What the study's own comparison came to, at each combination of the other levels.
fn improvement(summary: &Summary) -> Option<String> {
    let first = summary.improvements.first()?;
    let names = shown_metrics(summary);
    let name = names.iter().find(|name| first.figures.iter().any(|(known, _)| known == *name))?;
    let found: Vec<String> = summary
        .improvements
        .iter()
        .filter_map(|improvement| {
            let (_, ratio) = improvement.figures.iter().find(|(known, _)| known == name)?;
            let levels: Vec<String> = improvement.levels.iter().map(|(_, label)| label.to_string()).collect();
            let place = if levels.is_empty() { String::new() } else { format!(" ({})", levels.join(" · ")) };
            Some(format!("×{}{place}", number::interval(ratio)))
        })
        .collect();
    let title = metric(name).map_or(*name, |metric| metric.title);
    let (factor, from, to) = (&first.factor, &first.from, &first.to);
    Some(format!("From {from} to {to} {factor}, {title} improves by {}.", found.join(", ")))
}

/// The range of the next metric that has values.
fn second_metric(summary: &Summary, first: &Metric) -> Option<String> {
    let others = shown_metrics(summary).into_iter().filter_map(metric);
    let found = others.filter(|metric| metric.name != first.name).find(|metric| has_values(summary, metric))?;
    Some(best(summary, found))
}

/// How much was measured, how wide the intervals are, and what was left out.
fn trust(summary: &Summary) -> String {
    let used: usize = summary.cells.iter().map(|cell| cell.runs).sum();
    let all = summary.runs.len();
    let left_out = summary.excluded.len();
    let runs = |count: usize| format!("{count} {}", if count == 1 { "run" } else { "runs" });
    let mut sentence = format!("This rests on {} of {all} planned in {} cells", runs(used), summary.cells.len());
    if left_out > 0 {
        sentence += &format!("; {} left out, for reasons given below", runs(left_out));
    }
    if !summary.incomplete.is_empty() {
        sentence += &format!("; {} not made", runs(summary.incomplete.len()));
    }
    if let Some(width) = widest(summary) {
        sentence += &format!("; the widest 95 % interval is {} % of its median", number::plain(width));
    }
    sentence + "."
}

/// The widest interval of the first shown metric, in per cent of the median.
fn widest(summary: &Summary) -> Option<f64> {
    let name = *shown_metrics(summary).first()?;
    let width = |cell: &CellSummary| {
        let figure = cell.figure(name)?;
        Some(100.0 * (figure.high? - figure.low?) / figure.value.abs()).filter(|width| width.is_finite())
    };
    summary.cells.iter().filter_map(width).max_by(f64::total_cmp)
}
