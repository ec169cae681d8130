//! The runs of a study of one factor whose first level changes nothing, each next to the unchanged run of its block.

use crate::cells::RunRow;
use crate::findings::Findings;

/// The level that changes nothing.
pub const UNCHANGED: &str = "none";

/// Such a study.
#[derive(Clone, Copy)]
pub(crate) struct Trials<'a> {
    /// What was measured.
    pub findings: &'a Findings,
    /// The cell that is not changed.
    pub unchanged: usize,
    factor: &'static str,
}

impl<'a> Trials<'a> {
    /// The study, where it has this factor and its level that changes nothing.
    pub fn of(findings: &'a Findings, factor: &'static str) -> Option<Trials<'a>> {
        Some(Trials {
            findings,
            unchanged: cell_of(findings, factor, UNCHANGED)?,
            factor,
        })
    }

    /// The levels, each with its cell; the unchanged one is left out.
    pub fn levels(self) -> impl Iterator<Item = (usize, String)> {
        let cells = self.findings.summary.planned.iter().enumerate();
        cells
            .filter(move |(cell, _)| *cell != self.unchanged)
            .filter_map(move |(cell, planned)| {
                Some((cell, planned.level(self.factor)?.to_string()))
            })
    }

    /// The cell of this level.
    pub fn cell(self, label: &str) -> Option<usize> {
        cell_of(self.findings, self.factor, label)
    }

    /// The runs of a cell.
    pub fn runs(self, cell: usize) -> impl Iterator<Item = &'a RunRow> {
        let runs = self.findings.summary.runs.iter();
        runs.filter(move |row| row.cell == cell)
    }

    /// The runs of a cell, each after the unchanged one of its block.
    pub fn pairs(self, cell: usize) -> impl Iterator<Item = (&'a RunRow, &'a RunRow)> {
        self.runs(cell).filter_map(move |run| {
            let mut unchanged = self.runs(self.unchanged);
            Some((unchanged.find(|one| one.block == run.block)?, run))
        })
    }

    /// Why a run of a cell has no result.
    pub fn failed(self, cell: usize) -> Option<String> {
        self.runs(cell).find_map(|run| run.reason.clone())
    }
}

/// The cell of this level of a factor.
fn cell_of(findings: &Findings, factor: &str, label: &str) -> Option<usize> {
    let mut planned = findings.summary.planned.iter();
    planned.position(|cell| {
        let level = cell.level(factor);
        level.is_some_and(|level| level.to_string() == label)
    })
}
