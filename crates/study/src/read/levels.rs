//! Levels of factors as a study's other parts name them.

use bitcost_model::study::Label;

use crate::check::Levels;
use crate::definition::Compared;
use crate::forms::{As, Form, Level};
use crate::tables::Cell;
use crate::toml::Node;

pub fn label(node: &Node) -> Option<Label> {
    Level::read(&node.value()?)
}

/// The level of each factor that a table names.
pub fn levels(node: &Node) -> Option<Levels> {
    let level = |(name, As(label)): (String, As<Level>)| {
        let place = node.at(&name);
        place.level(place.factor(&name)?, &label)?;
        Some((name, label))
    };
    node.read::<Cell>()?.0.into_iter().map(level).collect()
}

/// Two levels that a table names by these keys, with their factor.
pub fn compared(node: &Node, keys: [&str; 2]) -> Option<Compared> {
    let named = node.at("factor");
    let factor = named.factor(named.text()?)?;
    let [old, new] = keys.map(|key| {
        let place = node.at(key);
        let label = label(&place)?;
        place.level(factor, &label).map(|()| label)
    });
    Some(Compared {
        factor: factor.name.clone(),
        old: old?,
        new: new?,
    })
}
