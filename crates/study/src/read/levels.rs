//! Levels of factors as a study's other parts name them.

use bitcost_model::study::Label;

use crate::check::Levels;
use crate::definition::Compared;
use crate::forms::{self, FactorName, Level};
use crate::tables::Cell;
use crate::toml::Node;

pub fn label(node: &Node) -> Option<Label> {
    forms::label(node.value()?)
}

/// The level of each factor that a table names.
pub fn levels(cell: Cell) -> Levels {
    cell.map(|level| level.0)
}

/// Two levels that a table names by these keys, with their factor.
pub fn compared(node: &Node, name: FactorName, two: [(&str, Level); 2]) -> Option<Compared> {
    let factor = node.at("factor").factor(&name.0)?;
    let [old, new] = two.map(|(key, Level(label))| {
        let known = node.at(key).level(factor, &label);
        known.map(|()| label)
    });
    Some(Compared {
        factor: name.0,
        old: old?,
        new: new?,
    })
}
