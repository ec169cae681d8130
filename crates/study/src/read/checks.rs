//! Reading `[[check]]`, with the line of each error.

use std::collections::BTreeSet;

use crate::check::{Check, Claim, Figure, FigureKind, Levels};
use crate::tables::{Cell, CheckTable, ClaimTable};
use crate::toml::Node;

/// Every `[[check]]` and every claim that can be read.
pub fn checks(top: &Node) -> Vec<Check> {
    let check = |node: &Node| {
        let check: Option<CheckTable> = node.read();
        let claims = node.each("claim").iter().filter_map(claim).collect();
        Some(Check {
            statement: check?.statement,
            claims,
        })
    };
    top.each("check").iter().filter_map(check).collect()
}

fn claim(node: &Node) -> Option<Claim> {
    let claim: ClaimTable = node.read_right()?;
    let (at_least, at_most) = bounds(node, &claim)?;
    Some(Claim {
        metric: claim.metric.0.clone(),
        figure: figure(node, claim)?,
        at_least,
        at_most,
    })
}

fn bounds(node: &Node, claim: &ClaimTable) -> Option<(Option<f64>, Option<f64>)> {
    let [at_least, at_most] =
        [&claim.at_least, &claim.at_most].map(|bound| bound.as_ref().map(|bound| bound.0));
    match (&claim.between, at_least, at_most) {
        (Some([low, high]), None, None) if low.0 < high.0 => Some((Some(low.0), Some(high.0))),
        (Some(_), None, None) => node
            .at("between")
            .not_allowed("two numbers, the smaller first"),
        (None, Some(_), None) | (None, None, Some(_)) => Some((at_least, at_most)),
        _ => node.error("a claim has one of `between`, `at_least` and `at_most`"),
    }
}

fn figure(node: &Node, claim: ClaimTable) -> Option<Figure> {
    let (kind, sides) = match (claim.value, claim.ratio, claim.difference) {
        (Some(of), None, None) => (FigureKind::Value, vec![of.levels()]),
        (None, Some(sides), None) => (FigureKind::Ratio, two(&node.at("ratio"), sides)?),
        (None, None, Some(sides)) => (FigureKind::Difference, two(&node.at("difference"), sides)?),
        _ => return node.error("a claim has one of `value`, `ratio` and `difference`"),
    };
    Some(Figure { kind, sides })
}

/// Both sides name the same factors, so that every other factor can be matched.
fn two(place: &Node, sides: [Cell; 2]) -> Option<Vec<Levels>> {
    let [of, to] = sides.map(Cell::levels);
    let names = |levels: &Levels| {
        let names = levels.iter().map(|(factor, _)| factor.clone());
        names.collect::<BTreeSet<_>>()
    };
    if names(&of) != names(&to) || of == to {
        return place.error(format!(
            "the sides of `{}` differ in other things than levels; allowed: two tables that name the same factors, such as [{{ size = 1 }}, {{ size = 2 }}]",
            place.key
        ));
    }
    Some(vec![of, to])
}
