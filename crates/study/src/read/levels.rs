//! Levels of factors as a study's other parts name them.

use bitcost_model::study::Label;

use crate::check::Levels;
use crate::forms::{As, FactorName, Form, Level};
use crate::tables::Cell;
use crate::toml::Node;

pub fn label(node: &Node) -> Option<Label> {
    Level::read(&node.value()?)
}

/// The level of each factor that a table names.
pub fn levels(node: &Node, cell: Cell) -> Option<Levels> {
    let level = |(name, As(label)): (String, As<Level>)| {
        let place = node.at(&name);
        place.level(place.factor(&name)?, &label)?;
        Some((name, label))
    };
    cell.0.into_iter().map(level).collect()
}

pub fn two_levels(
    node: &Node,
    As(name): As<FactorName>,
    levels: [(&str, As<Level>); 2],
) -> Option<(String, [Label; 2])> {
    let factor = node.at("factor").factor(&name)?;
    for (key, label) in &levels {
        node.at(key).level(factor, &label.0)?;
    }
    Some((name, levels.map(|(_, label)| label.0)))
}
