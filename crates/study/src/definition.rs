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
    /// Whether `[workload]` gives the size of a message.
    pub gives_message_size: bool,
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
        let mut base = base.clone();
        let usual = base.message_size_bytes;
        if !self.gives_message_size {
            // No level can give it.
            base.message_size_bytes = 0;
        }
        let mut cells = combine(&base, self.own_factors(), &self.leave_out);
        for of in cells.iter_mut().map(|cell| &mut cell.conditions) {
            of.message_size_bytes = match of.message_size_bytes {
                0 if of.workload.numbers_datagrams() => of.workload.usual_message_bytes(),
                0 => usual,
                given => given,
            };
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
        let of_level = |(factor, label): &(String, Label)| {
            let level = self.factor(factor).and_then(|factor| factor.level(label));
            level.is_some_and(|level| level.settings.iter().any(|(setting, _)| setting == name))
        };
        let document = Document::parse(self.text.as_str()).ok();
        let workload = document.as_ref().and_then(|all| all.get("workload"));
        workload.is_some_and(|table| table.get(name).is_some()) || cell.levels.iter().any(of_level)
    }

    /// Whether the text has a `[lab]`; otherwise the study has the default lab.
    pub fn names_lab(&self) -> bool {
        let document = Document::parse(self.text.as_str());
        document.is_ok_and(|all| all.get("lab").is_some())
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
