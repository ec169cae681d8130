//! A summary as plain text: the paper's table, one block per metric, and what must be known to read it.

use metrics::{Better, Metric, metric};
use model::harmless_page;
use model::units::counted;

use crate::checks;
use crate::grid::{Lines, MetricTables, tables};
use crate::notes::notes;
use crate::summary::{CellSummary, RECEIVE_DEMAND, RECEIVE_DEMAND_BY_SENT, Summary};

/// How the text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Bold headings by ANSI escapes.
    pub colour: bool,
    /// Widest line in columns, where words allow.
    pub width: u16,
}

impl Default for TextOptions {
    fn default() -> Self {
        TextOptions { colour: false, width: 100 }
    }
}

/// Letters that a column of figures needs at least.
const COLUMN: u16 = 9;

/// What a study without a list of metrics shows.
const DEFAULT_METRICS: [&str; 3] = ["throughput_mbps", "send_service_demand_us_per_kib", RECEIVE_DEMAND];

/// The two receive definitions are both shown from this relative difference on.
const DEFINITIONS_DIFFER: f64 = 0.01;

/// The tables with their footnotes, ending in a line break.
pub fn text(summary: &Summary, options: TextOptions) -> String {
    let mut page = Page { options, text: String::new() };
    page.heading(&format!("{}: {}", summary.study.name, summary.study.title));
    head(summary).iter().for_each(|line| page.paragraph("", line));
    for MetricTables { title, tables, .. } in tables(summary, usize::from(options.width / COLUMN)) {
        page.blank();
        page.heading(&title);
        tables.iter().for_each(|(place, lines)| page.table(place.as_deref(), lines));
    }
    for course in &summary.courses {
        page.blank();
        page.text.push_str(&harmless_page(&course.text()));
    }
    let why = summary.why.paragraphs();
    if !why.is_empty() {
        page.blank();
        page.heading("Why");
        why.iter().for_each(|paragraph| page.paragraph("- ", paragraph));
    }
    page.blank();
    for note in notes(summary) {
        page.paragraph(note.mark, &note.words);
    }
    statements(&mut page, summary);
    page.text
}

/// The metrics whose tables are shown, by name.
pub fn shown_metrics(summary: &Summary) -> Vec<&str> {
    let asked: Vec<&str> = summary.study.table.metrics.iter().map(String::as_str).collect();
    let mut shown = if asked.is_empty() { DEFAULT_METRICS.to_vec() } else { asked };
    if shown.contains(&RECEIVE_DEMAND) && summary.cells.iter().any(definitions_differ) {
        for extra in [RECEIVE_DEMAND_BY_SENT, "loss_pct"] {
            let has_values = summary.cells.iter().any(|cell| cell.figure(extra).is_some());
            if has_values && !shown.contains(&extra) {
                shown.push(extra);
            }
        }
    }
    shown
}

/// The shown metrics that a used run has.
pub fn measured(summary: &Summary) -> Vec<&'static Metric> {
    let has = |metric: &&'static Metric| summary.cells.iter().any(|cell| cell.figure(metric.name).is_some());
    shown_metrics(summary).into_iter().filter_map(metric).filter(has).collect()
}

fn definitions_differ(cell: &CellSummary) -> bool {
    let (Some(received), Some(sent)) = (cell.figure(RECEIVE_DEMAND), cell.figure(RECEIVE_DEMAND_BY_SENT)) else {
        return false;
    };
    (received.value - sent.value).abs() > DEFINITIONS_DIFFER * received.value.abs()
}

/// `Throughput (Mbit/s, higher is better)`.
pub fn title(name: &str) -> String {
    let Some(Metric { title, unit, better, .. }) = metric(name) else { return name.to_owned() };
    let direction = match better {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better",
        Better::Neither => "",
    };
    let remarks: Vec<&str> = [*unit, direction].into_iter().filter(|remark| !remark.is_empty()).collect();
    if remarks.is_empty() { (*title).to_owned() } else { format!("{title} ({})", remarks.join(", ")) }
}

/// `Throughput (Mbit/s)`.
pub fn named(metric: &Metric) -> String {
    if metric.unit.is_empty() { metric.title.to_owned() } else { format!("{} ({})", metric.title, metric.unit) }
}

/// The sentences under the heading.
pub fn head(summary: &Summary) -> Vec<String> {
    let study = &summary.study;
    let spread = if summary.cells.iter().any(|cell| cell.runs > 1) {
        "Medians over runs, in brackets their 95 % bootstrap intervals."
    } else if summary.cells.iter().all(|cell| cell.runs == 0) {
        "No run has a result, so there are no figures."
    } else {
        "One run says nothing about the spread, so there are no intervals."
    };
    let order = format!("{}; seed {}.", runs_per_cell(summary), summary.seed);
    let paper = study.expect.as_ref().map(|expect| format!("paper: {}", expect.source));
    [study.question.clone(), order, spread.to_owned()].into_iter().chain(paper).collect()
}

/// Cells with fewer runs than others that are named.
const NAMED: usize = 6;

/// `5 runs per cell`, with the cells that have less; or the range where these are many.
fn runs_per_cell(summary: &Summary) -> String {
    let counts = || summary.cells.iter().map(|cell| cell.runs);
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    let less: Vec<String> = summary
        .cells
        .iter()
        .filter(|cell| cell.runs < most)
        .map(|cell| format!("{}: {}", cell.name(), cell.runs))
        .collect();
    match less.len() {
        0 => format!("{} per cell", counted(most, "run")),
        count if count <= NAMED => format!("{} per cell, but {}", counted(most, "run"), less.join("; ")),
        _ => format!("{least} to {} per cell", counted(most, "run")),
    }
}

/// What the document states, and what these runs say to it.
fn statements(page: &mut Page, summary: &Summary) {
    if summary.checks.is_empty() {
        return;
    }
    page.blank();
    page.heading("What the document states, on these runs");
    for line in checks::lines(&summary.checks) {
        page.paragraph(&line.mark, &line.words);
    }
}

/// Bold words where there are colours, broken at the width.
pub(crate) fn heading(words: &str, options: TextOptions) -> String {
    let text = paragraph("", words, usize::from(options.width));
    let bold = |line: &str| if options.colour { format!("\u{1b}[1m{line}\u{1b}[0m\n") } else { format!("{line}\n") };
    text.lines().map(bold).collect()
}

/// Words after a mark, broken at the width; further lines stand in under the words.
pub(crate) fn paragraph(mark: &str, words: &str, width: usize) -> String {
    let indent = mark.chars().count();
    let (mut text, mut line, mut used) = (String::new(), mark.to_owned(), indent);
    for word in harmless_page(words).split_whitespace() {
        let length = word.chars().count();
        if used > indent && used + 1 + length > width {
            text += &format!("{}\n", line.trim_end());
            line = " ".repeat(indent);
            used = indent;
        }
        if used > indent {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += length;
    }
    text + &format!("{}\n", line.trim_end())
}

/// The text as it grows.
struct Page {
    options: TextOptions,
    text: String,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text.push_str(&harmless_page(line.trim_end()));
        self.text.push('\n');
    }

    fn blank(&mut self) {
        if !self.text.ends_with("\n\n") {
            self.line("");
        }
    }

    fn heading(&mut self, line: &str) {
        self.text.push_str(&heading(line, self.options));
    }

    fn table(&mut self, place: Option<&str>, lines: &Lines) {
        place.into_iter().for_each(|place| self.line(place));
        for line in lines.table(self.options.width).lines() {
            self.line(&line);
        }
    }

    fn paragraph(&mut self, mark: &str, words: &str) {
        self.text.push_str(&paragraph(mark, words, usize::from(self.options.width)));
    }
}
