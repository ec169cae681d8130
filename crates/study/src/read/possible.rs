//! Whether every cell of a study is possible, and the line at fault where one is not.

use super::workload::workload;
use crate::definition::{Factor, LeaveOut, Level, combine, size_buffers};
use crate::error::StudyError;
use crate::section::Section;
use bitcost_model::conditions::Conditions;
use bitcost_model::study::{Cell, LabSpec};

/// Checks that each cell is possible on the lab's link.
///
/// # Errors
/// The error points at the level, or the setting of all cells, without which the cell would be
/// possible.
pub fn check(
    top: &Section,
    lab: &LabSpec,
    base: &Conditions,
    factors: &[Factor],
    leave_out: &[LeaveOut],
) -> Result<(), StudyError> {
    let cells = combine(base, factors, leave_out);
    if cells.is_empty() {
        let message = "every combination of levels is left out; allowed: one at least".to_owned();
        return Err(StudyError {
            file: top.source.file.to_owned(),
            line: 1,
            message,
        });
    }
    let check = |cell: &Cell| fits(cell, lab);
    let Some((cell, message)) = cells
        .iter()
        .find_map(|cell| Some((cell, check(cell).err()?)))
    else {
        return Ok(());
    };
    let possible: Vec<&Cell> = cells.iter().filter(|cell| check(cell).is_ok()).collect();
    let of_workload = || {
        if possible.is_empty() {
            workload_line(top, lab, factors, leave_out)
        } else {
            None
        }
    };
    let line = blamed_line(factors, cell, &possible)
        .or_else(of_workload)
        .unwrap_or_else(|| size_line(factors, cell));
    let message = format!("cell {}: {message}", cell.name());
    Err(StudyError {
        file: top.source.file.to_owned(),
        line,
        message,
    })
}

/// The line of the first of the cell's levels whose replacement by another makes the cell one of
/// the `possible`.
fn blamed_line(factors: &[Factor], cell: &Cell, possible: &[&Cell]) -> Option<usize> {
    let differs_in = |index: usize, other: &Cell| {
        let mut pairs = cell.levels.iter().zip(&other.levels).enumerate();
        pairs.all(|(at, (own, other))| (own == other) == (at != index))
    };
    let index =
        (0..factors.len()).find(|index| possible.iter().any(|other| differs_in(*index, other)))?;
    let (_, label) = &cell.levels[index];
    factors[index]
        .levels
        .iter()
        .find(|level| level.label == *label)
        .map(|level| level.line)
}

fn size_line(factors: &[Factor], cell: &Cell) -> usize {
    const SIZES: [&str; 3] = ["message_size_bytes", "mss", "receive_size_bytes"];
    let chosen = factors
        .iter()
        .zip(&cell.levels)
        .filter_map(|(factor, (_, label))| {
            factor.levels.iter().find(|level| level.label == *label)
        });
    let sets_size = |level: &&Level| {
        level
            .settings
            .iter()
            .any(|(name, _)| SIZES.contains(&name.as_str()))
    };
    chosen
        .filter(sets_size)
        .map(|level| level.line)
        .next()
        .unwrap_or(1)
}

/// Where no cell is possible: the line of the first setting of `[workload]` without which some are.
fn workload_line(
    top: &Section,
    lab: &LabSpec,
    factors: &[Factor],
    leave_out: &[LeaveOut],
) -> Option<usize> {
    let section = top.section("workload").ok()??;
    let helps = |key: &str| {
        let base = workload(top, Some(key));
        base.is_ok_and(|base| {
            combine(&base, factors, leave_out)
                .iter()
                .any(|cell| fits(cell, lab).is_ok())
        })
    };
    let key = section
        .table
        .iter()
        .map(|(key, _)| key)
        .find(|key| helps(key))?;
    Some(section.error_at(key, "").line)
}

/// Whether a cell is possible in the lab: its sizes, and its request for TCP buffers.
fn fits(cell: &Cell, lab: &LabSpec) -> Result<(), String> {
    size_buffers(&mut cell.clone(), lab).and_then(|()| cell.conditions.check(lab.mtu_bytes))
}
