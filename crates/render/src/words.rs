//! Words that several forms have: titles of metrics, what intervals are, sentences about several cells.

use bitcost_analysis::cells::{COVERED_FROM, CellSummary, coverage_pct};
use bitcost_analysis::metrics::{Better, METRICS, Metric, SoftirqMeans, metric};
use bitcost_analysis::summary::Summary;
use bitcost_model::near::did_you_mean;
use bitcost_model::units::counted;
use indexmap::{IndexMap, IndexSet};

use crate::number;

/// The words between these marks; nothing where there are no words.
pub(crate) fn around(before: &str, words: &str, after: &str) -> String {
    match words.is_empty() {
        true => String::new(),
        false => format!("{before}{words}{after}"),
    }
}

/// `Throughput (Mbit/s, higher is better)`.
pub(crate) fn title(name: &str) -> String {
    let Some(metric) = metric(name) else {
        return name.to_owned();
    };
    let better = match metric.better {
        Better::Higher => ", higher is better",
        Better::Lower => ", lower is better",
        Better::Neither => "",
    };
    let remarks = format!("{}{better}", metric.unit);
    metric.title.to_owned() + &around(" (", remarks.trim_start_matches(", "), ")")
}

/// `Throughput (Mbit/s)`.
pub(crate) fn named(metric: &Metric) -> String {
    metric.title.to_owned() + &around(" (", metric.unit, ")")
}

/// Units at the end of keys, and how they are written.
const UNITS: [(&str, &str); 6] = [
    ("_bytes", "bytes"),
    ("_us", "\u{b5}s"),
    ("_ms", "ms"),
    ("_s", "s"),
    ("_bps", "bit/s"),
    ("_pct", "%"),
];

/// A factor that is a setting, in words: `receive buffer (bytes)` of `receive_buffer_bytes`.
pub(crate) fn factor_words(factor: &str) -> String {
    let mut units = UNITS.iter();
    let known = units.find_map(|(ending, unit)| Some((factor.strip_suffix(ending)?, *unit)));
    let (name, unit) = known.unwrap_or((factor, ""));
    name.replace('_', " ") + &around(" (", unit, ")")
}

/// A title within a sentence: `throughput`, but `CPU time` unchanged.
pub(crate) fn lowered(title: &str) -> String {
    match title.chars().nth(1).is_some_and(char::is_lowercase) {
        true => title[..1].to_lowercase() + &title[1..],
        false => title.to_owned(),
    }
}

/// `95 % intervals`; where cells have fewer runs than that takes, what theirs are.
pub(crate) fn intervals_of<'a>(cells: impl Iterator<Item = &'a CellSummary>) -> String {
    let several = cells.map(|cell| cell.runs).filter(|runs| *runs > 1);
    intervals_of_runs(several.min().unwrap_or(COVERED_FROM))
}

pub(crate) fn intervals_of_runs(runs: usize) -> String {
    match runs {
        runs if runs >= COVERED_FROM => "95 % intervals".to_owned(),
        runs => format!(
            "intervals (minimum and maximum of {runs} runs: {:.0} % instead of 95 %)",
            coverage_pct(runs)
        ),
    }
}

/// A median with its bounds: `0.394 [0.380, 0.410]`, or `0.394 [0.380, 0.410] (2 of 5 runs)`; absent where no run has
/// the metric.
pub(crate) fn figure(cell: &CellSummary, name: &str) -> Option<String> {
    let fewer = match cell.figures.get(name)?.runs {
        runs if runs < cell.runs => format!(" ({runs} of {} runs)", cell.runs),
        _ => String::new(),
    };
    Some(number::interval(&cell.figure(name)?) + &fewer)
}

/// `0.394`, with an asterisk where it comes from fewer runs than the cell has.
pub(crate) fn figure_marked(cell: &CellSummary, name: &str) -> Option<String> {
    let figure = cell.figures.get(name)?;
    let mark = if figure.runs < cell.runs { "*" } else { "" };
    Some(number::plain(figure.median) + mark)
}

/// Why a cell has no value of a metric.
pub(crate) fn why_missing(cell: &CellSummary, name: &str) -> String {
    let Some(metric) = metric(name) else {
        let near = did_you_mean(name, METRICS.iter().map(|metric| metric.name));
        return format!("`{name}` is not a metric{near}");
    };
    match cell.unattributed.first() {
        _ if cell.runs == 0 => "no run that can be used".into(),
        Some((reason, _)) if metric.attributed => {
            format!("CPU time cannot be attributed to an endpoint: {reason}")
        }
        _ => format!("{}: not measured in these runs", metric.title),
    }
}

/// What follows the description of a method that uses the time of soft interrupts.
pub(crate) fn softirqs_words(means: SoftirqMeans) -> &'static str {
    match means {
        SoftirqMeans::Timed => "; soft interrupts timed",
        SoftirqMeans::Ticks => "; soft interrupts by ticks",
    }
}

/// The most cells that a sentence names; with more, it gives their number.
const CELLS: usize = 3;

/// A sentence about a number of runs, and the cell of which it is true; absent where it is about no
/// single one.
pub(crate) type Fact = (String, usize, Option<String>);

/// Each sentence once, after the cells of which it is true, and before the number of runs where that
/// is not 0.
pub(crate) fn by_cell(summary: &Summary, facts: impl IntoIterator<Item = Fact>) -> Vec<String> {
    let mut groups: IndexMap<String, (usize, IndexSet<String>)> = IndexMap::new();
    for (words, runs, cell) in facts {
        let (count, cells) = groups.entry(words).or_default();
        *count += runs;
        cells.extend(cell);
    }
    let all = summary.cells.len();
    let sentence = |(words, (runs, cells)): (String, (usize, IndexSet<String>))| {
        let cells = match cells.len() {
            count if count == all => "all cells".to_owned(),
            count if count <= CELLS => Vec::from_iter(cells).join("; "),
            count => format!("{count} of {all} cells"),
        };
        let count = match runs {
            0 => String::new(),
            runs => format!(" ({})", counted(runs, "run")),
        };
        format!("{}{words}{count}", around("", &cells, ": "))
    };
    groups.into_iter().map(sentence).collect()
}
