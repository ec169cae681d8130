//! Reading `[[check]]`, with the line of each error.

use bitcost_model::study::Label;

use super::levels::levels;
use crate::check::{Along, Check, Claim, Figure, Levels};
use crate::forms::{As, FactorName, Pair};
use crate::tables::{Cell, CheckTable, ClaimTable};
use crate::toml::Node;

/// The keys that choose the figure; a claim has exactly one of them.
const FIGURES: [&str; 7] = [
    "value",
    "ratio",
    "difference",
    "over_single",
    "spread_over",
    "step_over",
    "saturation_over",
];

/// Every `[[check]]` and every claim that can be read.
pub fn checks(top: &Node) -> Vec<Check> {
    let check = |node: &Node| {
        let check: Option<CheckTable> = node.read();
        let claims = node.each("claim").iter().filter_map(claim).collect();
        Some(Check {
            statement: check?.statement.0,
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
    let bound = |bound: &Option<As<_>>| {
        bound
            .as_ref()
            .map(|bound: &As<crate::forms::Number>| bound.0)
    };
    let (at_least, at_most) = (bound(&claim.at_least), bound(&claim.at_most));
    match (&claim.between, at_least, at_most) {
        (Some(Pair(low, high)), None, None) if low.0 < high.0 => Some((Some(low.0), Some(high.0))),
        (Some(_), None, None) => node
            .at("between")
            .not_allowed("two numbers, the smaller first"),
        (None, Some(_), None) | (None, None, Some(_)) => Some((at_least, at_most)),
        _ => node.error("a claim has one of `between`, `at_least` and `at_most`"),
    }
}

fn figure(node: &Node, claim: ClaimTable) -> Option<Figure> {
    let named = FIGURES.iter().filter(|key| node.get(key).is_some());
    if named.count() != 1 {
        return node.error(format!("a claim has one of {}", FIGURES.join(", ")));
    }
    let (named, at) = (claim.levels, claim.at);
    let along = |key: &str, name: As<FactorName>| {
        let place = node.at(key);
        let factor = place.factor(&name.0)?;
        let levels: Vec<Label> = match named {
            Some(levels) => levels.into_iter().map(|level| level.0).collect(),
            None => factor
                .levels
                .iter()
                .map(|level| level.label.clone())
                .collect(),
        };
        let place = node.at("levels");
        levels
            .iter()
            .try_for_each(|label| place.level(factor, label))?;
        if levels.len() < 2 {
            return place.error(format!("`{key}` needs two levels or more"));
        }
        let at = match at {
            Some(at) => self::levels(&node.at("at"), at)?,
            None => Levels::new(),
        };
        Some(Along {
            factor: name.0,
            levels,
            at,
        })
    };
    if let Some(cell) = claim.value {
        return levels(&node.at("value"), cell).map(Figure::Value);
    }
    if let Some(sides) = claim.ratio {
        return two(node, "ratio", sides).map(|(of, to)| Figure::Ratio(of, to));
    }
    if let Some(sides) = claim.difference {
        return two(node, "difference", sides).map(|(of, to)| Figure::Difference(of, to));
    }
    if let Some(cell) = claim.over_single {
        let Some(rate) = claim.rate else {
            return node.error("`rate` is missing: that of the link, such as \"2.5G\"");
        };
        let cell = levels(&node.at("over_single"), cell)?;
        return Some(Figure::OverSingle(cell, rate.0));
    }
    if let Some(factor) = claim.spread_over {
        return along("spread_over", factor).map(Figure::Spread);
    }
    if let Some(factor) = claim.step_over {
        return along("step_over", factor).map(Figure::Step);
    }
    let Some(sides) = claim.sides else {
        return node.missing("sides");
    };
    let (of, to) = two(node, "sides", sides)?;
    let along = along("saturation_over", claim.saturation_over?)?;
    Some(Figure::Saturation(along, of, to))
}

/// Both sides name the same factors, so that every other factor can be matched.
fn two(node: &Node, key: &str, Pair(of, to): Pair<Cell>) -> Option<(Levels, Levels)> {
    let place = node.at(key);
    let sides = place.elements();
    let (of, to) = (levels(&sides[0], of)?, levels(&sides[1], to)?);
    let names = |levels: &Levels| {
        let mut names: Vec<String> = levels.iter().map(|(factor, _)| factor.clone()).collect();
        names.sort();
        names
    };
    if names(&of) != names(&to) || of == to {
        return place.error(format!(
            "the sides of `{key}` differ in other things than levels; allowed: two tables that name the same factors, such as [{{ size = 1 }}, {{ size = 2 }}]"
        ));
    }
    Some((of, to))
}
