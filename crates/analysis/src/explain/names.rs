//! Names of cells, and lists of them, shortened.

use bitcost_model::study::{Cell, Label};

/// The most names of a list that are all given.
const NAMES: usize = 6;

/// The cell's name, preceded by the factor's name where the cell's name is only a number; the
/// cell's conditions where a study has no factors.
pub(crate) fn cell_name(cell: &Cell) -> String {
    match cell.levels.as_slice() {
        [] => cell.conditions.phrase(),
        [(factor, Label::Number(number))] => format!("{factor} {number}"),
        _ => cell.name(),
    }
}

/// Names of cells; a long list is shortened to the first names, the last, and their number.
pub fn list(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [first, second, third, .., last] if names.len() > NAMES => {
            format!(
                "{first}; {second}; {third}; … {last} ({} cells)",
                names.len()
            )
        }
        all => all.join("; "),
    }
}
