//! The answer of an execution in words: for its first screen and the top of its page.

pub(crate) mod bottleneck;
mod change;
mod cost;
mod decisive;
mod own;
mod words;

use crate::number;
use bitcost_analysis::caveat::Caveat;
use bitcost_analysis::cells::{COVERED_FROM, CellSummary};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::metrics::{Better, Metric, metric};
use bitcost_analysis::summary::{Summary, shown_metrics};

pub(crate) use cost::{ranked, stacked, total};
pub(crate) use words::lowered;
use words::{is_plural, named_levels, varied};

/// What a reader sees first of an execution.
pub(crate) struct Answer {
    /// The study's own sentences, or one that is made of the figures.
    pub sentence: String,
    /// The other sentences that say something else.
    pub rest: Vec<String>,
    /// What limited its cells.
    pub bottleneck: String,
    /// What changes the answer, the worst first.
    pub caveats: Vec<Caveat>,
    /// Warnings of which no caveat says anything.
    pub other_warnings: usize,
}

impl Answer {
    pub fn of(findings: &Findings) -> Answer {
        let summary = &findings.summary;
        let mut rest = answer(summary);
        let own = own::own(summary);
        let said = own.or_else(|| Some((cost::costs(summary)?, Vec::new())));
        let (sentence, reasons) = match said {
            Some(said) => {
                // Only the last one, how certain it is, has other figures.
                rest.drain(..rest.len() - 1);
                said
            }
            None => (rest.remove(0), Vec::new()),
        };
        let (caveats, other_warnings) = decisive::decisive(findings, &reasons);
        Answer {
            sentence,
            rest,
            bottleneck: bottleneck::of_cells(&findings.explanation),
            caveats,
            other_warnings,
        }
    }
}

/// Three sentences: the result for the first metric of the question, the results for the others,
/// and how certain they are.
fn answer(summary: &Summary) -> Vec<String> {
    let metrics = asked(summary);
    let Some((first, others)) = metrics.split_first() else {
        return vec![
            "No run has a result that can be used.".to_owned(),
            trust(summary, None),
        ];
    };
    let others: Vec<String> = others.iter().map(|metric| told(summary, metric)).collect();
    let second = (!others.is_empty()).then(|| others.join("; "));
    // The compared levels are named only once.
    let opening = change::change(summary, first)
        .and_then(|change| Some(format!("{}, {change}", change::between(summary)?)));
    let opening = opening.unwrap_or_else(|| apart(summary, first));
    let sentences = [Some(opening), second]
        .into_iter()
        .flatten()
        .map(|words| sentence(&words));
    sentences.chain([trust(summary, Some(first))]).collect()
}

/// The metrics with values that the study's answer is about; if it names none, the first metric
/// that is shown, and the first of another unit.
fn asked(summary: &Summary) -> Vec<&'static Metric> {
    let has = |metric: &&'static Metric| {
        summary
            .cells
            .iter()
            .any(|cell| cell.figure(metric.name).is_some())
    };
    let named: Vec<_> = summary
        .study
        .answer
        .iter()
        .filter_map(|name| metric(name))
        .filter(has)
        .collect();
    if !named.is_empty() {
        return named;
    }
    let shown: Vec<_> = shown_metrics(summary)
        .into_iter()
        .filter_map(metric)
        .filter(has)
        .collect();
    let Some(first) = shown.first().copied() else {
        return Vec::new();
    };
    let second = shown.into_iter().find(|other| other.unit != first.unit);
    std::iter::once(first).chain(second).collect()
}

/// The study's comparison if it has a result for the metric; if not, the cells that differ most.
fn told(summary: &Summary, metric: &Metric) -> String {
    change::change(summary, metric).unwrap_or_else(|| apart(summary, metric))
}

/// The cells with the metric, best first.
fn by_value<'a>(summary: &'a Summary, metric: &Metric) -> Vec<(&'a CellSummary, f64)> {
    let mut cells: Vec<_> = summary
        .cells
        .iter()
        .filter_map(|cell| Some((cell, cell.figure(metric.name)?.value)))
        .collect();
    cells.sort_by(|(_, a), (_, b)| {
        if metric.better == Better::Lower {
            a.total_cmp(b)
        } else {
            b.total_cmp(a)
        }
    });
    cells
}

/// Where the metric is best and where it is worst, or that no difference between the cells is
/// measurable.
fn apart(summary: &Summary, metric: &Metric) -> String {
    let cells = by_value(summary, metric);
    let title = lowered(metric.title);
    let (Some((first, best)), Some((last, worst))) = (cells.first(), cells.last()) else {
        return String::new();
    };
    if cells.len() == 1 {
        let with = place(summary, first).map_or_else(String::new, |place| format!(" with {place}"));
        return format!("{title} {} {}{with}", is(metric), shown(first, metric));
    }
    let [at_first, at_last] = [first, last].map(|cell| {
        let place = place(summary, cell).map_or_else(String::new, |place| format!(" with {place}"));
        (place, shown(cell, metric))
    });
    if overlap(first, last, metric) {
        let ((one, best), (other, worst)) = (at_first, at_last);
        return format!(
            "{title} {} {best}{one} and {worst}{other}: no difference is measurable",
            is(metric)
        );
    }
    let (word, other) = if metric.better == Better::Lower {
        ("lowest", "highest")
    } else {
        ("highest", "lowest")
    };
    let (more, less) = if best > worst {
        (best, worst)
    } else {
        (worst, best)
    };
    let factor = if *less > 0.0 {
        format!(", a factor of {}", number::plain(more / less))
    } else {
        String::new()
    };
    let ((one, best), (end, worst)) = (at_first, at_last);
    format!(
        "{title} {} {word}{one} ({best}) and {other}{end} ({worst}){factor}",
        is(metric)
    )
}

/// Whether two cells' intervals overlap. The value of a single run counts as its interval, so
/// single runs overlap only if they are equal.
fn overlap(one: &CellSummary, other: &CellSummary, metric: &Metric) -> bool {
    let bounds = |cell: &CellSummary| {
        let figure = cell.figure(metric.name)?;
        Some((
            figure.low.unwrap_or(figure.value),
            figure.high.unwrap_or(figure.value),
        ))
    };
    let (Some((a_low, a_high)), Some((b_low, b_high))) = (bounds(one), bounds(other)) else {
        return false;
    };
    a_low <= b_high && b_low <= a_high
}

fn shown(cell: &CellSummary, metric: &Metric) -> String {
    let interval = cell
        .figure(metric.name)
        .map(number::interval)
        .unwrap_or_default();
    format!("{interval} {}", metric.unit).trim_end().to_owned()
}

/// The levels that distinguish the cell from the others; absent where there are none.
fn place(summary: &Summary, cell: &CellSummary) -> Option<String> {
    let levels: Vec<_> = cell
        .levels
        .iter()
        .filter(|(factor, _)| varied(summary, factor))
        .cloned()
        .collect();
    (!levels.is_empty()).then(|| named_levels(&levels))
}

fn is(metric: &Metric) -> &'static str {
    if is_plural(metric) { "are" } else { "is" }
}

fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).chain(['.']).collect()
}

/// How much was measured, how wide the intervals of a metric are, and what was left out.
fn trust(summary: &Summary, metric: Option<&'static Metric>) -> String {
    let used: usize = summary.cells.iter().map(|cell| cell.runs).sum();
    let all = summary.runs.len();
    let left_out = summary
        .excluded
        .iter()
        .filter(|run| !summary.incomplete.contains(&run.run))
        .count();
    let some =
        |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let cells = some(summary.cells.len(), "cell");
    let mut sentence = format!(
        "This is based on {} of {all} planned in {cells}",
        some(used, "run")
    );
    if left_out > 0 {
        sentence += &format!(
            "; {} left out, for reasons given below",
            some(left_out, "run")
        );
    }
    if !summary.incomplete.is_empty() {
        sentence += &format!("; {} not made", some(summary.incomplete.len(), "run"));
    }
    if let Some((metric, cell, width)) = metric.and_then(|metric| widest(summary, metric)) {
        let title = lowered(metric.title);
        let place = place(summary, cell).map_or_else(String::new, |place| format!(" ({place})"));
        let width = number::plain(width);
        let kind = match cell.runs < COVERED_FROM {
            true => format!("interval (minimum to maximum of {} runs)", cell.runs),
            false => "95 % interval".to_owned(),
        };
        sentence += &format!("; the widest {kind} of {title} is {width} % of its median{place}");
    } else if summary.cells.iter().map(|cell| cell.runs).max() == Some(1) && used > 1 {
        sentence += "; one run per cell says nothing about the spread";
    }
    sentence + "."
}

/// The cell with the widest interval of a metric, in per cent of the median.
fn widest<'a>(
    summary: &'a Summary,
    metric: &'static Metric,
) -> Option<(&'static Metric, &'a CellSummary, f64)> {
    let width = |cell: &'a CellSummary| {
        let figure = cell.figure(metric.name)?;
        let width = 100.0 * (figure.high? - figure.low?) / figure.value.abs();
        width.is_finite().then_some((metric, cell, width))
    };
    summary
        .cells
        .iter()
        .filter_map(width)
        .max_by(|(.., a), (.., b)| a.total_cmp(b))
}
