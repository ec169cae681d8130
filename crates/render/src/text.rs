//! A summary as plain text: the paper's table, one block per metric, and its caveats and notes.

use crate::comparison_text::comparison_text;
use crate::coverage;
use crate::export::{ExportError, Form, Input, RowSupport, each};
use crate::improve::{ladder_text, ladder_title};
use bitcost_analysis::findings::Findings;
use bitcost_model::harmless_page;
use bitcost_model::study::Label;
use bitcost_model::units::counted;

use crate::layout::{LABEL, TextOptions, folded_text, heading, paragraph};
use crate::lines::Lines;
use crate::mesh::mesh_text;
use crate::mode_search::searches_text;
use crate::notes::notes;
use crate::profile::profile_text;
use crate::several::one_cell;
use crate::statements::statement_lines;
use crate::tables::{MetricTables, tables};
use crate::time_series::time_series_text;
use bitcost_analysis::summary::Summary;

/// The least width of a column of figures, in characters.
const COLUMN: u16 = 9;

/// `--format text`.
pub(crate) const FORM: Form = Form {
    rows: RowSupport::Optional,
    holds_caveats: true,
    ..Form::new("text", "Tables for people", export)
};

fn export(input: &Input) -> Result<String, ExportError> {
    if let Some(rows) = input.rows {
        return Ok(Lines::from(&rows.table(input.executions)).markdown());
    }
    Ok(each(input, |execution| whole(execution, input)))
}

/// The answer of one cell; of several, tables and the study's comparison.
fn whole(execution: &Findings, input: &Input) -> String {
    let ladder = execution.ladder.as_ref();
    let ladder = ladder.map(|of| ladder_text(of, &ladder_title(execution), input.text));
    if let Some(text) = ladder.as_ref().filter(|_| !input.verbose) {
        return text.clone();
    }
    if let Some(mesh) = execution.mesh.as_ref().filter(|_| !input.verbose) {
        let study = &execution.summary.study;
        return mesh_text(
            mesh,
            &format!("{}: {}", study.name, study.title),
            input.text,
        );
    }
    let columns = usize::from(input.text.width / COLUMN);
    let profile = execution.profiled.as_ref();
    let profile = profile.map_or_else(String::new, |profiled| {
        profile_text(profiled, columns, input.text)
    });
    if let Some(single) = execution.single() {
        let text = profile + &one_cell(execution, &single, input.verbose);
        let text = match input.columns {
            Some(width) => folded_text(&text, width, LABEL),
            None => text,
        };
        return ladder.map_or(text.clone(), |ladder| format!("{text}\n{ladder}"));
    }
    let mut all = text(&execution.summary, input.text);
    if !profile.is_empty() {
        all += &format!("\n{profile}");
    }
    let searches = searches_text(&execution.summary);
    if !searches.is_empty() {
        all += &format!("\n{searches}");
    }
    if let Some(comparison) = &execution.comparison {
        all += &format!("\n{}", comparison_text(comparison, input.columns));
    }
    all
}

/// The tables with their footnotes, ending in a line break.
pub fn text(summary: &Summary, options: TextOptions) -> String {
    let mut page = Page {
        options,
        text: String::new(),
    };
    page.heading(&format!("{}: {}", summary.study.name, summary.study.title));
    head(summary)
        .iter()
        .for_each(|line| page.paragraph("", line));
    for MetricTables { title, tables, .. } in tables(summary, usize::from(options.width / COLUMN)) {
        page.blank();
        page.heading(&title);
        tables
            .iter()
            .for_each(|(place, lines)| page.table(place.as_deref(), lines));
    }
    for series in &summary.time_series {
        page.blank();
        page.text
            .push_str(&harmless_page(&time_series_text(series)));
    }
    page.blank();
    for note in notes(summary) {
        page.paragraph(note.mark, &note.words);
    }
    statements(&mut page, summary);
    page.text
}

/// The sentences under the heading.
pub fn head(summary: &Summary) -> Vec<String> {
    let study = &summary.study;
    let spread = if summary.cells.iter().any(|cell| cell.runs > 1) {
        let intervals = coverage::intervals(summary.cells.iter());
        format!("Medians over runs, in brackets their {intervals}.")
    } else if summary.cells.iter().all(|cell| cell.runs == 0) {
        "No run has a result, so there are no figures.".to_owned()
    } else {
        "A single run says nothing about the spread, so there are no intervals.".to_owned()
    };
    let order = format!("{}; seed {}.", runs_per_cell(summary), summary.seed);
    let document = study
        .expect
        .as_ref()
        .map(|expect| format!("document: {}", expect.source));
    [study.question.clone(), order, spread]
        .into_iter()
        .chain(document)
        .chain(meanings(summary))
        .collect()
}

/// `TCP, offloads on: …` for each level whose meaning the study gives and that has cells.
fn meanings(summary: &Summary) -> impl Iterator<Item = String> {
    let factors = summary.study.factors.iter();
    let levels = factors.flat_map(|factor| factor.levels.iter().map(move |level| (factor, level)));
    levels.filter_map(|(factor, level)| {
        let is_this =
            |(name, label): &(String, Label)| *name == factor.name && *label == level.label;
        let is_used = summary
            .cells
            .iter()
            .any(|cell| cell.levels.iter().any(is_this));
        let about = level.about.as_ref().filter(|_| is_used)?;
        Some(format!("{}: {about}.", level.label))
    })
}

/// `5 runs per cell`; the range, where some have fewer.
fn runs_per_cell(summary: &Summary) -> String {
    let counts = || summary.cells.iter().map(|cell| cell.runs);
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    let from = if least < most {
        format!("{least} to ")
    } else {
        String::new()
    };
    format!("{from}{} per cell", counted(most, "run"))
}

/// Statements of the document, and what these runs say about them.
fn statements(page: &mut Page, summary: &Summary) {
    if summary.checks.is_empty() {
        return;
    }
    page.blank();
    page.heading("Statements of the document, tested on these runs");
    for line in statement_lines(&summary.checks) {
        page.paragraph(&line.mark, &line.words);
    }
}

/// The text, to which lines are appended.
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
        if self.text.ends_with("|\n") {
            self.blank();
        }
        place.into_iter().for_each(|place| self.line(place));
        self.text.push_str(&lines.text(self.options.width));
    }

    fn paragraph(&mut self, mark: &str, words: &str) {
        self.text
            .push_str(&paragraph(mark, words, usize::from(self.options.width)));
    }
}
