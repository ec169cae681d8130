//! Reading `[[check]]`, with the line of each error.

use std::collections::BTreeSet;

use bitcost_model::study::Label;

use super::levels::levels;
use crate::check::{Along, Check, Claim, Figure, Levels};
use crate::tables::{CheckTable, ClaimTable};
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
        figure: figure(node, &claim)?,
        metric: claim.metric.0,
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

fn figure(node: &Node, claim: &ClaimTable) -> Option<Figure> {
    let named = FIGURES.into_iter().filter_map(|key| node.get(key));
    let [place] = &named.collect::<Vec<_>>()[..] else {
        return node.error(format!("a claim has one of {}", FIGURES.join(", ")));
    };
    Some(match place.key {
        "value" => Figure::Value(levels(place)?),
        "ratio" => two(place).map(|(of, to)| Figure::Ratio(of, to))?,
        "difference" => two(place).map(|(of, to)| Figure::Difference(of, to))?,
        "over_single" => {
            let Some(rate) = &claim.rate else {
                return node.error("`rate` is missing: that of the link, such as \"2.5G\"");
            };
            Figure::OverSingle(levels(place)?, rate.0)
        }
        "spread_over" => Figure::Spread(along(node, place, claim)?),
        "step_over" => Figure::Step(along(node, place, claim)?),
        _ => {
            let Some(sides) = node.get("sides") else {
                return node.missing("sides");
            };
            let (of, to) = two(&sides)?;
            Figure::Saturation(along(node, place, claim)?, of, to)
        }
    })
}

/// The levels along the factor that is named at this place.
fn along(node: &Node, named: &Node, claim: &ClaimTable) -> Option<Along> {
    let factor = named.factor(named.text()?)?;
    let levels: Vec<Label> = match &claim.levels {
        Some(levels) => levels.iter().map(|level| level.0.clone()).collect(),
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
        return place.error(format!("`{}` needs two levels or more", named.key));
    }
    Some(Along {
        factor: factor.name.clone(),
        levels,
        at: match node.get("at") {
            Some(at) => self::levels(&at)?,
            None => Levels::new(),
        },
    })
}

/// Both sides name the same factors, so that every other factor can be matched.
fn two(place: &Node) -> Option<(Levels, Levels)> {
    let [of, to] = &place.elements()[..] else {
        return None;
    };
    let (of, to) = (levels(of)?, levels(to)?);
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
    Some((of, to))
}
