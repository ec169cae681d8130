//! A study: a question, the place, the factors with their levels, and what its author expects.

mod against;
mod answer;
pub mod check;
mod compared;
mod lab;
mod lengths;
mod picture;
mod possible;
mod read;
mod read_check;
mod read_picture;
pub(crate) mod section;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::conditions::Conditions;
use crate::near::did_you_mean;

pub use against::Against;
pub use check::Check;
pub use compared::Compared;
pub use lab::LabSpec;
pub use lengths::Length;
pub use picture::{Bars, Picture, PictureKind, Scale};

/// What is wrong with a study, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct StudyError {
    /// The file as the user named it.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What was found and what is allowed.
    pub message: String,
}

/// A level as it is named in tables and JSON: a number or a word, which is displayed as [`crate::harmless()`] shows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Label {
    /// A whole number, in the unit that the factor's name ends in.
    Number(i64),
    /// A word.
    Text(String),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Number(number) => f.pad(&number.to_string()),
            Label::Text(text) => f.pad(&crate::harmless(text)),
        }
    }
}

/// One value of a factor: its label and what it sets.
#[derive(Clone, Debug)]
pub struct Level {
    /// Its name in tables.
    pub label: Label,
    settings: Vec<(String, toml_edit::Value)>,
    line: usize,
}

/// What is varied.
#[derive(Clone, Debug)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// Its levels, in the order of the study.
    pub levels: Vec<Level>,
}

/// The cell of a table that compares two levels of a factor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Improvement {
    /// The factor.
    pub factor: String,
    /// The level that is improved upon.
    pub from: Label,
    /// The level that improves.
    pub to: Label,
}

/// How the result is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSpec {
    /// The factor whose levels are the rows.
    pub rows: String,
    /// The factor whose levels are the columns.
    pub columns: Option<String>,
    /// The metrics, one table each, by name.
    pub metrics: Vec<String>,
    /// The improvement row.
    pub improvement: Option<Improvement>,
    /// Whether each cell's middle run is shown second by second.
    pub each_second: bool,
}

/// One cell's figures as the question's author printed them.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedCell {
    /// Factor and level.
    pub levels: Vec<(String, Label)>,
    /// Metric name and value.
    pub figures: Vec<(String, f64)>,
}

/// What the question's author saw.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expect {
    /// Where the figures come from.
    pub source: String,
    /// Cell by cell.
    pub cells: Vec<ExpectedCell>,
    /// The improvement row as the author printed it: the levels of the other factors, and the ratios.
    pub improvements: Vec<ExpectedCell>,
}

/// Combinations that a study does not run: each factor with the levels that are left out together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaveOut(Vec<(String, Vec<Label>)>);

impl LeaveOut {
    fn has(&self, cell: &Cell) -> bool {
        self.0.iter().all(|(factor, labels)| cell.level(factor).is_some_and(|label| labels.contains(label)))
    }
}

/// A metric that a study names, and where. What metrics there are is not the model's to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedMetric {
    /// The name.
    pub name: String,
    /// The line, counted from 1.
    pub line: usize,
}

/// A study as its file says it.
#[derive(Clone, Debug)]
pub struct Study {
    /// Its name: the file's name without folder and ending.
    pub name: String,
    /// The file's text.
    pub text: String,
    /// One line for lists.
    pub title: String,
    /// What it answers.
    pub question: String,
    /// The default place.
    pub lab: LabSpec,
    /// Settings that every cell shares.
    pub base: Conditions,
    /// What is varied.
    pub factors: Vec<Factor>,
    /// Randomised complete blocks to run.
    pub blocks: u32,
    /// Blocks are added to these until it is kept; absent: the number of blocks is fixed.
    pub until: Option<UntilInterval>,
    /// The document's own lengths.
    pub like_the_document: Option<Length>,
    /// The shortest lengths that show something, for a check on every change.
    pub ci: Option<Length>,
    /// Combinations that are not run.
    pub leave_out: Vec<LeaveOut>,
    /// How the result is laid out.
    pub table: TableSpec,
    /// The levels of which it is told what the one changes from the other.
    pub compare: Option<Compared>,
    /// The metrics that the answer of its report is about, the first one first; none: the first that the table shows.
    pub answer: Vec<String>,
    /// The pictures of its report, in order; absent: those that suit what was measured.
    pub pictures: Option<Vec<Picture>>,
    /// What the question's author saw.
    pub expect: Option<Expect>,
    /// What the question's author states.
    pub checks: Vec<Check>,
    /// Every metric that the table, the answer, the pictures, the author's figures and the statements name.
    pub named_metrics: Vec<NamedMetric>,
}

/// Go on until the 95 % interval of the median of a metric is narrow enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UntilInterval {
    /// The metric.
    pub metric: String,
    /// The interval's width, upper less lower bound, in per cent of the median.
    pub width_pct: f64,
    /// Most blocks.
    pub max_blocks: u32,
}

/// One combination of levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Factor and level, in the study's order of factors.
    pub levels: Vec<(String, Label)>,
    /// What its runs do.
    pub conditions: Conditions,
}

impl Cell {
    /// The level of a factor.
    pub fn level(&self, factor: &str) -> Option<&Label> {
        self.levels.iter().find(|(name, _)| name == factor).map(|(_, label)| label)
    }

    /// The levels in one short phrase: `1024 · UDP`.
    pub fn name(&self) -> String {
        phrase(&self.levels)
    }
}

/// Levels in one short phrase: `1024 · UDP`.
pub fn phrase(levels: &[(String, Label)]) -> String {
    levels.iter().map(|(_, label)| label.to_string()).collect::<Vec<_>>().join(" · ")
}

impl Study {
    /// Reads a study. `file` is how errors name it.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line.
    pub fn parse(file: &str, text: &str) -> Result<Study, StudyError> {
        read::study(file, text)
    }

    /// Checks that every metric that the study names is one of `known`. `file` is how errors name it.
    ///
    /// # Errors
    /// The first that is not, with its line and its near matches.
    pub fn check_metrics(&self, file: &str, known: &[&str]) -> Result<(), StudyError> {
        let Some(NamedMetric { name, line }) =
            self.named_metrics.iter().find(|metric| !known.contains(&metric.name.as_str()))
        else {
            return Ok(());
        };
        let hint = did_you_mean(name, known.iter().copied());
        let message = format!("unknown metric `{name}`{hint}; allowed: {}", known.join(", "));
        Err(StudyError { file: file.to_owned(), line: *line, message })
    }

    /// Every combination of levels that is run; the first factor varies slowest.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = combine(&self.base, &self.factors, &self.leave_out);
        // That they can be sized was found when the study was read.
        cells.iter_mut().for_each(|cell| drop(size_buffers(cell, &self.lab)));
        cells
    }

    /// The factor of this name.
    pub fn factor(&self, name: &str) -> Option<&Factor> {
        self.factors.iter().find(|factor| factor.name == name)
    }
}

/// Gives a cell's TCP the room that it asks for on the path of the lab.
fn size_buffers(cell: &mut Cell, lab: &LabSpec) -> Result<(), String> {
    cell.conditions.size_buffers(lab.path().and_then(|path| path.bdp_bytes()))
}

fn combine(base: &Conditions, factors: &[Factor], leave_out: &[LeaveOut]) -> Vec<Cell> {
    let start = Cell { levels: Vec::new(), conditions: base.clone() };
    let mut cells = factors.iter().fold(vec![start], |cells, factor| {
        cells.iter().flat_map(|cell| factor.levels.iter().map(|level| level.extend(&factor.name, cell))).collect()
    });
    cells.retain(|cell| !leave_out.iter().any(|combination| combination.has(cell)));
    cells
}

impl Level {
    fn extend(&self, factor: &str, cell: &Cell) -> Cell {
        let mut cell = cell.clone();
        cell.levels.push((factor.to_owned(), self.label.clone()));
        for (name, value) in &self.settings {
            // Each setting was tried when the study was read.
            let _ = crate::settings::set(&mut cell.conditions, name, value);
        }
        cell
    }
}
