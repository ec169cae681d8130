//! Reading `[[check]]`, with the line of each error.

use std::collections::BTreeSet;

use bitcost_model::study::Label;

use super::levels::levels;
use crate::check::{Along, Check, Claim, Figure, Levels};
use crate::forms::{FactorName, Level};
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
    let named = FIGURES.into_iter().filter_map(|key| node.get(key));
    let [place] = &named.collect::<Vec<_>>()[..] else {
        return node.error(format!("a claim has one of {}", FIGURES.join(", ")));
    };
    let (listed, at) = (claim.levels, claim.at);
    let along = |factor: FactorName| along(node, place, factor.0, listed, at);
    Some(match place.key {
        "value" => Figure::Value(levels(claim.value?)),
        "ratio" => two(place, claim.ratio?).map(|(of, to)| Figure::Ratio(of, to))?,
        "difference" => two(place, claim.difference?).map(|(of, to)| Figure::Difference(of, to))?,
        "over_single" => {
            let Some(rate) = claim.rate else {
                return node.error("`rate` is missing: that of the link, such as \"2.5G\"");
            };
            Figure::OverSingle(levels(claim.over_single?), rate.0)
        }
        "spread_over" => Figure::Spread(along(claim.spread_over?)?),
        "step_over" => Figure::Step(along(claim.step_over?)?),
        _ => {
            let Some(sides) = claim.sides else {
                return node.missing("sides");
            };
            let (of, to) = two(&node.at("sides"), sides)?;
            Figure::Saturation(along(claim.saturation_over?)?, of, to)
        }
    })
}

/// The levels along the factor that is named at this place.
fn along(
    node: &Node,
    named: &Node,
    name: String,
    listed: Option<Vec<Level>>,
    at: Option<Cell>,
) -> Option<Along> {
    let factor = named.factor(&name)?;
    let all = || factor.levels.iter().map(|level| level.label.clone());
    let listed = listed.map(|levels| levels.into_iter().map(|level| level.0).collect());
    let levels: Vec<Label> = listed.unwrap_or_else(|| all().collect());
    let place = node.at("levels");
    levels
        .iter()
        .try_for_each(|label| place.level(factor, label))?;
    if levels.len() < 2 {
        return place.error(format!("`{}` needs two levels or more", named.key));
    }
    Some(Along {
        factor: name,
        levels,
        at: at.map_or(Levels::new(), self::levels),
    })
}

/// Both sides name the same factors, so that every other factor can be matched.
fn two(place: &Node, sides: [Cell; 2]) -> Option<(Levels, Levels)> {
    let [of, to] = sides.map(levels);
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
