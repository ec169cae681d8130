//! Levels of factors as a study's other parts name them.

use bitcost_model::study::Label;

use crate::check::Levels;
use crate::forms;
use crate::tables::Cell;
use crate::toml::Node;

pub fn label(node: &Node) -> Option<Label> {
    forms::label(node.value()?)
}

/// The level of each factor that a table names.
pub fn levels(cell: Cell) -> Levels {
    cell.map(|level| level.0)
}
