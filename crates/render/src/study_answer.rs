//! The answer of a study on the last screen of a terminal: one table, one sentence, the
//! bottlenecks, caveats, and the commands for more.

use bitcost_analysis::caveat::Caveat;
use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::metrics::{Metric, metric};
use bitcost_analysis::summary::{Summary, measured};
use bitcost_model::harmless;
use bitcost_model::units::counted;

use crate::answer::{Answer, stacked};
use crate::figure::{figure, figure_marked};
use crate::layout::{WIDTH, labelled, paragraph};

/// The fewest and the most columns of a cell's name.
const NAME: std::ops::RangeInclusive<usize> = 8..=32;

/// The most figures of a cell.
const FIGURES: usize = 3;

/// The answer; `folder` is where the log is.
pub fn study_answer(execution: &Findings, folder: &str) -> String {
    let summary = &execution.summary;
    let answer = Answer::of(execution);
    let mut text = paragraph("", &summary.study.question, WIDTH);
    text += &format!("\n{}\n", table(summary));
    text += &paragraph("", &answer.sentence, WIDTH);
    text += &labelled("bottleneck", &answer.bottleneck);
    let caveats = caveats(summary, &answer);
    text.extend(caveats.iter().map(|caveat| labelled("caveat", caveat)));
    let verbs = [
        ("pictures", "report"),
        ("why", "explain"),
        ("all tables", "show"),
    ];
    text.extend(verbs.map(|(label, verb)| labelled(label, &format!("bitcost {verb} {folder}"))));
    text
}

/// The metrics of the table: throughput, those of the study's sentences, and the cost at both
/// endpoints; without these, the first that the study shows.
fn columns(summary: &Summary) -> Vec<&'static Metric> {
    let mut found: Vec<&'static Metric> = Vec::new();
    let throughput = metric("throughput_mbps").filter(|metric| has(summary, metric));
    let sentences = summary.study.sentences.iter();
    let said = sentences.flat_map(|sentence| &sentence.metrics);
    let said = said.filter_map(|name| metric(name));
    let all = throughput.into_iter().chain(said);
    let all = all.filter(|metric| has(summary, metric));
    for metric in all.chain(stacked(summary)).chain(measured(summary)) {
        if found.len() < FIGURES && !found.iter().any(|known| known.name == metric.name) {
            found.push(metric);
        }
    }
    found
}

fn has(summary: &Summary, metric: &Metric) -> bool {
    let mut cells = summary.cells.iter();
    cells.any(|cell| cell.figure(metric.name).is_some())
}

/// A row per cell, the first figure with its interval, the others without.
fn table(summary: &Summary) -> String {
    let metrics = columns(summary);
    let row = |cell: &CellSummary| {
        let figures = metrics.iter().enumerate().map(|(place, metric)| {
            let shown = match place {
                0 => figure(cell, metric.name),
                _ => figure_marked(cell, metric.name),
            };
            shown.unwrap_or("-".to_owned())
        });
        std::iter::once(harmless(&cell.name()))
            .chain(figures)
            .collect()
    };
    let title = |metric: &&Metric| match metric.name {
        name if name.starts_with("send_service_demand") => "send cost".to_owned(),
        name if name.starts_with("receive_service_demand") => "receive cost".to_owned(),
        _ => metric.title.to_lowercase(),
    };
    let named = |words: &mut dyn Iterator<Item = String>| {
        std::iter::once(String::new()).chain(words).collect()
    };
    let mut rows = vec![
        named(&mut metrics.iter().map(title)),
        named(&mut metrics.iter().map(|metric| metric.unit.to_owned())),
    ];
    rows.extend(summary.cells.iter().map(row));
    let mut text = aligned(&rows);
    if rows.iter().flatten().any(|text| text.ends_with('*')) {
        text += FEWER_RUNS;
    }
    text
}

/// The line below a table with asterisks.
const FEWER_RUNS: &str = "* from fewer runs than the cell has; `bitcost show` prints how many\n";

/// The columns of names, and of the figures for which there is room.
fn widths(rows: &[Vec<String>]) -> (usize, Vec<usize>) {
    let width = |column: usize| {
        let lengths = rows.iter().map(|row| row[column].chars().count());
        lengths.max().unwrap_or(0)
    };
    let name = width(0).clamp(*NAME.start(), *NAME.end());
    let mut widths = Vec::new();
    let mut used = name;
    for column in 1..rows.first().map_or(1, Vec::len) {
        used += 2 + width(column);
        if used <= WIDTH {
            widths.push(width(column));
        }
    }
    (name, widths)
}

/// The rows with their columns aligned, without those for which there is no room.
fn aligned(rows: &[Vec<String>]) -> String {
    let (name, widths) = widths(rows);
    let line = |row: &Vec<String>| {
        let mut line = format!("{:<name$}", cut(&row[0], name));
        for (text, width) in row[1..].iter().zip(&widths) {
            line += &format!("  {text:<width$}");
        }
        format!("{}\n", line.trim_end())
    };
    rows.iter().map(line).collect()
}

/// A name of at most this many letters.
fn cut(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.to_owned();
    }
    let kept: String = name.chars().take(most - 1).collect();
    format!("{kept}…")
}

/// What changes the answer, the most first: runs that are not in it, costs that are not known,
/// warnings; and how many other warnings there are.
fn caveats(summary: &Summary, answer: &Answer) -> Vec<String> {
    let mut found = answer.caveats.clone();
    let planned = summary.blocks as usize * summary.cells.len();
    let mut missing = |count: usize, how: &str| {
        if count > 0 {
            let words = format!("{} of {planned} {how}", counted(count, "run"));
            found.push(Caveat::new(count as f64 / planned.max(1) as f64, words));
        }
    };
    missing(summary.excluded.len(), "left out");
    missing(summary.incomplete.len(), "not made");
    let more = match answer.caveats.is_empty() {
        true => "warning",
        false => "more warning",
    };
    let mut found = Caveat::by_weight(found);
    if answer.other_warnings > 0 {
        found.push(format!(
            "{}; see `bitcost explain`",
            counted(answer.other_warnings, more)
        ));
    }
    found
}
