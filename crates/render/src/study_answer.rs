//! The answer of a study on the last screen of a terminal: one table, one sentence, the
//! bottlenecks, caveats, and the commands for more.

use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::execution::Execution;
use bitcost_analysis::explain::{ExplainedCell, Explanation};
use bitcost_analysis::metrics::{Metric, metric};
use bitcost_analysis::summary::{Summary, measured};
use bitcost_model::harmless;
use bitcost_model::units::counted;
use bitcost_study::check::Levels;

use crate::answer::{opening, stacked};
use crate::decisive::decisive;
use crate::figure::{figure, figure_alone};
use crate::layout::paragraph;
use crate::noise::undetected_text;

/// Columns and lines of a terminal that nobody has widened, less the line of the next prompt.
const WIDTH: usize = 80;
const LINES: usize = 23;

/// Columns of the labels at the left.
const LABEL: usize = 13;

/// The fewest and the most columns of a cell's name.
const NAME: std::ops::RangeInclusive<usize> = 8..=32;

/// The most figures of a cell.
const FIGURES: usize = 3;

/// The lines next to the table, which give way step by step until every cell has its row.
struct Around<'a> {
    question: &'a str,
    said: String,
    bottlenecks: String,
    caveats: Vec<String>,
    folder: &'a str,
}

/// What gives way, the least important first; each step includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Giving {
    Nothing,
    /// Caveats and bottlenecks have one line each; `show` and `explain` have the rest.
    LongCaveats,
    /// The commands for more are in one line.
    Commands,
    /// The first of the caveats has a line, with their number.
    Caveats,
    /// No line is empty, and the question, which was asked before the runs, is not repeated.
    Question,
    /// Units are next to the titles of their columns.
    Units,
}

impl Giving {
    const ALL: [Giving; 6] = [
        Giving::Nothing,
        Giving::LongCaveats,
        Giving::Commands,
        Giving::Caveats,
        Giving::Question,
        Giving::Units,
    ];
}

/// The answer in at most as many lines as a terminal has; `folder` is where the log is.
pub fn study_answer(execution: &Execution, explanation: &Explanation, folder: &str) -> String {
    let summary = &execution.summary;
    let said = opening(summary).0;
    let around = Around {
        question: &summary.study.question,
        bottlenecks: bottlenecks(explanation),
        caveats: caveats(summary, explanation, &said),
        said,
        folder,
    };
    // A run that is missing is a line of the error after it.
    let is_whole = summary.excluded.is_empty() && summary.incomplete.is_empty();
    let room = |giving: Giving| {
        let others = [around.head(giving), around.tail(giving)].concat();
        let used = others.lines().count() + usize::from(!is_whole) + blank(giving).len();
        LINES.saturating_sub(used)
    };
    let fits = |giving: &Giving| room(*giving) >= titles(*giving) + summary.cells.len();
    // Cells that no terminal has room for leave the caveats their lines.
    let last = match summary.cells.len() < LINES - ROWS {
        true => Giving::Units,
        false => Giving::LongCaveats,
    };
    let giving = Giving::ALL.into_iter().find(fits).unwrap_or(last);
    let table = table(summary, giving, room(giving).max(titles(giving) + ROWS + 1));
    format!("{}{table}{}", around.head(giving), around.tail(giving))
}

impl Around<'_> {
    fn head(&self, giving: Giving) -> String {
        match giving < Giving::Question {
            true => format!("{}\n", paragraph("", self.question, WIDTH)),
            false => String::new(),
        }
    }

    fn tail(&self, giving: Giving) -> String {
        let line = |label: &str, words: &str| match giving {
            Giving::Nothing => labelled(label, words),
            _ => first_line(&labelled(label, words)),
        };
        let mut text = format!("{}{}", blank(giving), paragraph("", &self.said, WIDTH));
        text += &line("bottleneck", &self.bottlenecks);
        let count = self.caveats.len();
        if giving >= Giving::Caveats && count > 1 {
            text += &line(&format!("caveat 1/{count}"), &self.caveats[0]);
        } else {
            let lines = self.caveats.iter().map(|caveat| line("caveat", caveat));
            text.extend(lines);
        }
        text + &self.commands(giving)
    }

    fn commands(&self, giving: Giving) -> String {
        let folder = self.folder;
        if giving >= Giving::Commands {
            let all = format!("bitcost show, explain or report {folder}");
            return paragraph("", &all, WIDTH);
        }
        let verbs = [
            ("pictures", "report"),
            ("why", "explain"),
            ("all tables", "show"),
        ];
        let line = |(label, verb)| labelled(label, &format!("bitcost {verb} {folder}"));
        verbs.map(line).concat()
    }
}

/// An empty line, where there is room for any.
fn blank(giving: Giving) -> &'static str {
    if giving < Giving::Question { "\n" } else { "" }
}

/// The first line of a paragraph; what it leaves out shows as `…`.
fn first_line(paragraph: &str) -> String {
    let mut lines = paragraph.lines();
    let (Some(first), more) = (lines.next(), lines.next()) else {
        return String::new();
    };
    if more.is_none() {
        return format!("{first}\n");
    }
    let whole = match first.chars().count() + 2 > WIDTH {
        true => first.rsplit_once(' ').map_or(first, |(before, _)| before),
        false => first,
    };
    format!("{} …\n", whole.trim_end_matches([',', ';', ':']))
}

fn labelled(label: &str, words: &str) -> String {
    paragraph(&format!("{label:<LABEL$}"), words, WIDTH)
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

/// A row per cell, in at most this many lines: the first figure with its interval, the others
/// without.
fn table(summary: &Summary, giving: Giving, most: usize) -> String {
    let metrics = columns(summary);
    let titles = titles(giving);
    let shown = match summary.cells.len() {
        all if all + titles <= most => all,
        _ => most.saturating_sub(titles + 1),
    };
    let mut rows = head(&metrics, titles);
    let row = |cell: &CellSummary| {
        let figures = metrics.iter().enumerate().map(|(place, metric)| {
            let shown = match place {
                0 => figure(cell, metric.name),
                _ => figure_alone(cell, metric.name),
            };
            shown.unwrap_or("-".to_owned())
        });
        std::iter::once(harmless(&cell.name()))
            .chain(figures)
            .collect()
    };
    rows.extend(first_cells(summary, shown).into_iter().map(row));
    let mut text = aligned(&rows);
    let more = summary.cells.len() - shown;
    if more > 0 {
        text += &format!("… and {}\n", counted(more, "more cell"));
    }
    text
}

/// This many cells in their order: those that the study's sentences are about before all others.
fn first_cells(summary: &Summary, count: usize) -> Vec<&CellSummary> {
    let sentences = summary.study.sentences.iter();
    let named: Vec<&Levels> = sentences
        .flat_map(|sentence| std::iter::once(&sentence.of).chain(&sentence.to))
        .collect();
    let is_other = |cell: &&CellSummary| {
        let has = |levels: &&Levels| levels.iter().all(|level| cell.levels.contains(level));
        !named.iter().any(has)
    };
    let mut cells: Vec<&CellSummary> = summary.cells.iter().collect();
    cells.sort_by_key(is_other);
    cells.truncate(count);
    let place = |cell: &&CellSummary| {
        summary
            .cells
            .iter()
            .position(|known| known.levels == cell.levels)
    };
    cells.sort_by_key(place);
    cells
}

/// Cells that have a row also where the other lines leave no room.
const ROWS: usize = 3;

/// Lines of the table's head.
fn titles(giving: Giving) -> usize {
    if giving < Giving::Units { 2 } else { 1 }
}

/// What the columns are: their titles, and the units in a line below them or next to them.
fn head(metrics: &[&Metric], lines: usize) -> Vec<Vec<String>> {
    let title = |metric: &&Metric| match metric.name {
        name if name.starts_with("send_service_demand") => "send cost".to_owned(),
        name if name.starts_with("receive_service_demand") => "receive cost".to_owned(),
        _ => metric.title.to_lowercase(),
    };
    let named = |words: &mut dyn Iterator<Item = String>| {
        std::iter::once(String::new()).chain(words).collect()
    };
    if lines == 1 {
        let both = |metric: &&Metric| format!("{} ({})", title(metric), metric.unit);
        return vec![named(&mut metrics.iter().map(both))];
    }
    vec![
        named(&mut metrics.iter().map(title)),
        named(&mut metrics.iter().map(|metric| metric.unit.to_owned())),
    ]
}

/// The rows with their columns aligned, without those for which there is no room.
fn aligned(rows: &[Vec<String>]) -> String {
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

/// `receiver's CPU in 4 cells, unknown in 2 cells`, the most frequent first.
fn bottlenecks(explanation: &Explanation) -> String {
    let mut found: Vec<(String, usize)> = Vec::new();
    let verdicts = || explanation.cells.iter().filter_map(|cell| cell.verdict());
    let words = explanation.cells.iter();
    for limiter in words.filter_map(ExplainedCell::limiter_words) {
        match found.iter_mut().find(|(known, _)| *known == limiter) {
            Some((_, count)) => *count += 1,
            None => found.push((limiter, 1)),
        }
    }
    found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let parts: Vec<String> = match &found[..] {
        [] => vec!["no run that can be explained".to_owned()],
        // What one cell lacks is what all lack: a window that is too short, probes that are off.
        [(limiter, _)] if verdicts().all(|verdict| verdict.limiter().is_unknown()) => {
            let why = verdicts().map(|verdict| verdict.chosen.detail);
            let why = why
                .filter(|why| !why.is_empty())
                .map(|why| format!(": {why}"));
            vec![format!("{limiter}{}", why.take(1).collect::<String>())]
        }
        [(limiter, _)] => vec![limiter.clone()],
        _ => found
            .iter()
            .map(|(limiter, count)| format!("{limiter} in {}", counted(*count, "cell")))
            .collect(),
    };
    let has_comma = found.iter().any(|(limiter, _)| limiter.contains(", "));
    parts.join(if has_comma { "; " } else { ", " })
}

/// What changes the answer: runs that are not in it, noise, costs that are not known, warnings, and
/// how many other warnings there are.
fn caveats(summary: &Summary, explanation: &Explanation, said: &str) -> Vec<String> {
    let mut found = Vec::new();
    let planned = summary.blocks as usize * summary.cells.len();
    if !summary.excluded.is_empty() {
        found.push(format!(
            "{} of {planned} left out",
            counted(summary.excluded.len(), "run")
        ));
    }
    if !summary.incomplete.is_empty() {
        found.push(format!(
            "{} of {planned} not made",
            counted(summary.incomplete.len(), "run")
        ));
    }
    let noise = summary.noise.as_ref();
    found.extend(noise.and_then(|noise| noise.detectable.as_ref().map(undetected_text)));
    let decisive = decisive(summary, explanation, said);
    let more = match decisive.lines.is_empty() {
        true => "warning",
        false => "more warning",
    };
    found.extend(decisive.lines);
    if decisive.others > 0 {
        found.push(format!(
            "{}; see `bitcost explain`",
            counted(decisive.others, more)
        ));
    }
    found
}
