//! A study: a question, the place, the factors with their levels, and the results that its author
//! expects.

use bitcost_model::Invalid;
use bitcost_model::conditions::{Conditions, size_tcp_buffers};
use bitcost_model::plan::Lengths;
use bitcost_model::study::{Cell, LabSpec, Label, UntilInterval};
use toml_edit::Document;

use crate::answer::Sentence;
use crate::check::Check;
use crate::mesh::{Mesh, RECEIVER, SENDER};
use crate::picture::Picture;
use crate::settings;

/// Two levels of a factor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    pub factor: String,
    pub old: Label,
    /// The level whose change from the reference is reported.
    pub new: Label,
}

/// One value of a factor: its label and the settings that it sets.
#[derive(Clone, Debug)]
pub struct Level {
    pub label: Label,
    /// What it means, in a sentence; absent where its name says it.
    pub about: Option<String>,
    pub(crate) settings: Vec<(String, toml_edit::Value)>,
    /// Where it begins in the study's text, in bytes.
    pub(crate) offset: usize,
}

impl Level {
    /// A level that sets nothing.
    pub(crate) fn named(label: Label) -> Level {
        Level {
            label,
            about: None,
            settings: Vec::new(),
            offset: 0,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Factor {
    pub name: String,
    pub levels: Vec<Level>,
}

impl Factor {
    pub(crate) fn level(&self, label: &Label) -> Option<&Level> {
        self.levels.iter().find(|level| level.label == *label)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableSpec {
    /// The factor whose levels are the rows.
    pub rows: String,
    /// The factor whose levels are the columns.
    pub columns: Option<String>,
    pub metrics: Vec<String>,
    /// A row with the change from one level to another.
    pub improvement: Option<Compared>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedCell {
    pub levels: Vec<(String, Label)>,
    pub figures: Vec<(String, f64)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expect {
    pub source: String,
    pub cells: Vec<ExpectedCell>,
    /// The improvement row as the author printed it: the levels of the other factors, and the
    /// ratios.
    pub improvements: Vec<ExpectedCell>,
}

/// Combinations that a study does not run: each factor with the levels that are left out together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaveOut(pub(crate) Vec<(String, Vec<Label>)>);

impl LeaveOut {
    pub(crate) fn has(&self, cell: &Cell) -> bool {
        self.0.iter().all(|(factor, labels)| {
            cell.level(factor)
                .is_some_and(|label| labels.contains(label))
        })
    }
}

/// A study as its file describes it.
#[derive(Clone, Debug, Default)]
pub struct Study {
    /// Its name: the file's name without folder and ending.
    pub name: String,
    pub file: String,
    pub text: String,
    pub lab_text: Option<String>,
    pub title: String,
    pub question: String,
    pub lab: LabSpec,
    pub base: Conditions,
    pub factors: Vec<Factor>,
    /// Randomised complete blocks to run.
    pub blocks: u32,
    /// The rule until which blocks are added to these; absent: the number of blocks is fixed.
    pub until: Option<UntilInterval>,
    /// Whether each run is made once more to be profiled.
    pub is_profiled: bool,
    pub like_the_document: Option<Lengths>,
    /// The shortest lengths that give a result, for a check on every change.
    pub ci: Option<Lengths>,
    /// The pairs of hosts that are measured, where there are more than two.
    pub mesh: Option<Mesh>,
    /// Combinations that are not run.
    pub leave_out: Vec<LeaveOut>,
    pub table: TableSpec,
    /// The levels whose runs are interleaved within blocks: the report describes the change from one
    /// to the other.
    pub compare: Option<Compared>,
    /// The sentences that answer its question; empty: one about the first metric of the table.
    pub sentences: Vec<Sentence>,
    /// The pictures of its report, in order; absent: those that fit the measured data.
    pub pictures: Option<Vec<Picture>>,
    pub expect: Option<Expect>,
    /// The statements of the question's author.
    pub checks: Vec<Check>,
}

impl Study {
    /// The factors without those of a mesh.
    pub(crate) fn own_factors(&self) -> &[Factor] {
        let is_of_mesh = |factor: &&Factor| [SENDER, RECEIVER].contains(&factor.name.as_str());
        let first = self.factors.iter().take_while(is_of_mesh).count();
        &self.factors[if self.mesh.is_some() { first } else { 0 }..]
    }

    /// Every combination of levels that is run, without the pairs of a mesh; the first factor varies slowest.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = self.combined(&self.base);
        // Reading the study has already checked that they can be sized.
        cells
            .iter_mut()
            .for_each(|cell| drop(size_buffers(cell, &self.lab)));
        cells
    }

    /// As [`Study::cells`], with these settings of all cells and before the TCP buffers are sized. Datagrams have their
    /// usual size where neither `[workload]` nor a level gives one.
    pub(crate) fn combined(&self, base: &Conditions) -> Vec<Cell> {
        const SIZE: &str = "message_size_bytes";
        let is_given = self.names(&["workload", SIZE]);
        let mut cells = combine(base, self.own_factors(), &self.leave_out);
        for cell in &mut cells {
            let workload = cell.conditions.workload;
            if workload.numbers_datagrams() && !is_given && !self.names_at_level(cell, SIZE) {
                cell.conditions.message_size_bytes = workload.usual_message_bytes();
            }
        }
        cells
    }

    /// The number of [`Study::cells`], of which none is made where every combination of levels is run.
    pub fn cell_count(&self) -> usize {
        let factors = self.own_factors();
        if !self.leave_out.is_empty() {
            return self.combined(&self.base).len();
        }
        let levels = factors.iter().map(|factor| factor.levels.len());
        levels.fold(1, usize::saturating_mul)
    }

    /// Whether the study sets a setting of a cell, in `[workload]` or by a level.
    pub fn names_setting(&self, cell: &Cell, name: &str) -> bool {
        self.names(&["workload", name]) || self.names_at_level(cell, name)
    }

    fn names_at_level(&self, cell: &Cell, name: &str) -> bool {
        cell.levels.iter().any(|(factor, label)| {
            let level = self.factor(factor).and_then(|factor| factor.level(label));
            level.is_some_and(|level| level.settings.iter().any(|(setting, _)| setting == name))
        })
    }

    /// Whether the text has a `[lab]`; otherwise the study has the default lab.
    pub fn names_lab(&self) -> bool {
        self.names(&["lab"])
    }

    /// Whether the text has this key, by the tables in which it is.
    fn names(&self, path: &[&str]) -> bool {
        let Ok(all) = Document::parse(self.text.as_str()) else {
            return false;
        };
        let mut keys = path.iter();
        let found = keys.try_fold(all.as_item(), |table, key| table.get(key));
        found.is_some()
    }

    pub fn factor(&self, name: &str) -> Option<&Factor> {
        self.factors.iter().find(|factor| factor.name == name)
    }
}

/// Sets the TCP buffers that a cell asks for on the path of the lab.
pub(crate) fn size_buffers(cell: &mut Cell, lab: &LabSpec) -> Result<(), Invalid> {
    if cell.conditions.tcp_buffers.is_none() {
        return Ok(());
    }
    let bdp_bytes = lab.path().and_then(|path| path.bdp_bytes());
    size_tcp_buffers(&mut cell.conditions, bdp_bytes)
}

fn combine(base: &Conditions, factors: &[Factor], leave_out: &[LeaveOut]) -> Vec<Cell> {
    let start = Cell {
        levels: Vec::new(),
        conditions: base.clone(),
    };
    let mut cells = factors.iter().fold(vec![start], |cells, factor| {
        cells
            .iter()
            .flat_map(|cell| {
                factor
                    .levels
                    .iter()
                    .map(|level| level.extend(&factor.name, cell))
            })
            .collect()
    });
    cells.retain(|cell| !leave_out.iter().any(|combination| combination.has(cell)));
    cells
}

impl Level {
    fn extend(&self, factor: &str, cell: &Cell) -> Cell {
        let mut cell = cell.clone();
        cell.levels.push((factor.to_owned(), self.label.clone()));
        for (name, value) in &self.settings {
            // Reading the study has already checked each setting.
            let _ = settings::set(&mut cell.conditions, name, value);
        }
        cell
    }
}
