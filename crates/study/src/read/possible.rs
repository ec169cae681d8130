//! Whether every cell of a study is possible, and the place at fault where one is not.

use crate::definition::{Factor, Level, Study, size_buffers};
use crate::error::StudyError;
use crate::settings;
use crate::toml::Node;
use bitcost_model::Invalid;
use bitcost_model::conditions::Conditions;
use bitcost_model::study::{Cell, LabSpec};

/// A study's cells: what makes them, and whether one is possible.
pub struct Cells<'a> {
    pub top: &'a Node<'a>,
    pub study: &'a Study,
    /// The reason for which a cell is not possible.
    pub fits: &'a dyn Fn(&Cell) -> Result<(), Invalid>,
}

/// The most cells that are not possible of which the place at fault is sought.
const SOUGHT: usize = 64;

impl Cells<'_> {
    /// An error for each place without which cells would be possible: a level, or a setting of all
    /// cells.
    pub fn check(&self) -> Vec<StudyError> {
        let cells = self.study.combined(&self.study.base);
        if cells.is_empty() {
            let message = "every combination of levels is left out; allowed: one at least";
            return vec![self.top.source.error_at(0, message)];
        }
        let wrong = |cell| Some((cell, (self.fits)(cell).err()?));
        let wrong: Vec<(&Cell, Invalid)> = cells.iter().filter_map(wrong).take(SOUGHT).collect();
        if wrong.is_empty() {
            return Vec::new();
        }
        let fits = |cell: &&Cell| (self.fits)(cell).is_ok();
        let possible: Vec<&Cell> = cells.iter().filter(fits).collect();
        let mut places: Vec<usize> = Vec::new();
        let mut found = Vec::new();
        for (cell, message) in wrong {
            let of_workload = || match possible.is_empty() {
                true => self.blamed_setting(),
                false => None,
            };
            let offset = blamed(self.study.own_factors(), cell, &possible)
                .or_else(of_workload)
                .unwrap_or_else(|| blamed_size(self.study.own_factors(), cell));
            if !places.contains(&offset) {
                places.push(offset);
                let message = format!("cell {}: {message}", cell.name());
                found.push(self.top.source.error_at(offset, message));
            }
        }
        found
    }

    /// Where no cell is possible: where the first setting of `[workload]` is without which some are.
    fn blamed_setting(&self) -> Option<usize> {
        let section = self.top.get("workload")?;
        let helps = |entry: &Node| {
            let base = workload(self.top, Some(entry.key));
            let cells = self.study.combined(&base);
            cells.iter().any(|cell| (self.fits)(cell).is_ok())
        };
        Some(section.entries().into_iter().find(helps)?.offset)
    }
}

/// The settings that all cells share, except for the setting `without` and for those that are wrong, which are mistakes.
pub fn workload(top: &Node, without: Option<&str>) -> Conditions {
    let mut conditions = Conditions::default();
    let entries = top
        .get("workload")
        .iter()
        .flat_map(Node::entries)
        .collect::<Vec<_>>();
    for entry in entries.iter().filter(|entry| Some(entry.key) != without) {
        match entry.value() {
            Some(value) => {
                if let Err(Invalid(why)) = settings::set(&mut conditions, entry.key, value) {
                    entry.error::<()>(why);
                }
            }
            None => drop(entry.not_allowed::<()>("a value")),
        }
    }
    conditions
}

/// Whether a cell is possible in the lab: its sizes, and its request for TCP buffers.
pub fn fits(cell: &Cell, lab: &LabSpec) -> Result<(), Invalid> {
    size_buffers(&mut cell.clone(), lab)?;
    cell.conditions.check(lab.mtu_bytes)
}

/// Where the first of the cell's levels is whose replacement by another makes the cell one
/// of the `possible`.
fn blamed(factors: &[Factor], cell: &Cell, possible: &[&Cell]) -> Option<usize> {
    let differs_in = |index: usize, other: &Cell| {
        let mut pairs = cell.levels.iter().zip(&other.levels).enumerate();
        pairs.all(|(at, (own, other))| (own == other) == (at != index))
    };
    let index =
        (0..factors.len()).find(|index| possible.iter().any(|other| differs_in(*index, other)))?;
    let (_, label) = &cell.levels[index];
    factors[index].level(label).map(|level| level.offset)
}

/// Where the first of the cell's levels is that sets a size; 0 where none does.
fn blamed_size(factors: &[Factor], cell: &Cell) -> usize {
    const SIZES: [&str; 3] = ["message_size_bytes", "mss", "receive_size_bytes"];
    let chosen = factors.iter().zip(&cell.levels);
    let mut chosen = chosen.filter_map(|(factor, (_, label))| factor.level(label));
    let sets_size = |level: &&Level| {
        let mut names = level.settings.iter().map(|(name, _)| name.as_str());
        names.any(|name| SIZES.contains(&name))
    };
    chosen.find(sets_size).map_or(0, |level| level.offset)
}
