//! Reading `[[check]]` and `[[leave_out]]`, with the line of each error.

use toml_edit::Value;

use super::mistakes::Mistakes;
use super::names::{known_factor, known_level, label};
use crate::check::{Along, Check, Claim, Figure, Levels};
use crate::definition::{Factor, LeaveOut, NamedMetric};
use crate::error::StudyError;
use crate::keys::{CHECK, CLAIM, Form};
use crate::section::{Section, shown};
use bitcost_model::study::Label;
use bitcost_model::units::parse_rate;

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
pub fn checks(found: &mut Mistakes, top: &Section, factors: &[Factor]) -> Vec<Check> {
    let mut checks = Vec::new();
    for section in found.take(top.sections("check")).unwrap_or_default() {
        checks.extend(found.take(check(&section, factors)));
        for one in found.take(section.sections("claim")).unwrap_or_default() {
            found.take(claim(&one, factors));
        }
    }
    checks
}

/// One `[[check]]`.
fn check(section: &Section, factors: &[Factor]) -> Result<Check, StudyError> {
    section.only(&CHECK.names())?;
    let claims = section.sections("claim")?;
    let claims = claims
        .iter()
        .map(|section| claim(section, factors))
        .collect::<Result<Vec<_>, _>>()?;
    if claims.is_empty() {
        return Err(section.error("a [[check]] needs at least one [[check.claim]]"));
    }
    Ok(Check {
        statement: section.required_text("statement")?,
        claims,
    })
}

/// Every metric that a claim names.
pub fn named(top: &Section) -> Result<Vec<NamedMetric>, StudyError> {
    let mut found = Vec::new();
    for check in top.sections("check")? {
        for section in check.sections("claim")? {
            let name = section.required_text("metric")?;
            let offset = section.offset("metric").unwrap_or_default();
            found.push(NamedMetric { name, offset });
        }
    }
    Ok(found)
}

fn claim(section: &Section, factors: &[Factor]) -> Result<Claim, StudyError> {
    section.only(&CLAIM.names())?;
    let (at_least, at_most) = bounds(section)?;
    Ok(Claim {
        metric: section.required_text("metric")?,
        figure: figure(section, factors)?,
        at_least,
        at_most,
    })
}

fn bounds(section: &Section) -> Result<(Option<f64>, Option<f64>), StudyError> {
    let bound = |key| CLAIM.number(section, key);
    let pair = |value: &Value| match value
        .as_array()?
        .iter()
        .map(|value| Form::Number.number(value))
        .collect::<Option<Vec<f64>>>()?[..]
    {
        [low, high] if low < high => Some((low, high)),
        _ => None,
    };
    let (at_least, at_most) = (bound("at_least")?, bound("at_most")?);
    match (
        section.typed("between", "two numbers, the smaller first", pair)?,
        at_least,
        at_most,
    ) {
        (Some((low, high)), None, None) => Ok((Some(low), Some(high))),
        (None, Some(_), None) | (None, None, Some(_)) => Ok((at_least, at_most)),
        _ => Err(section.error("a claim has one of `between`, `at_least` and `at_most`")),
    }
}

fn figure(section: &Section, factors: &[Factor]) -> Result<Figure, StudyError> {
    let named: Vec<&str> = FIGURES
        .into_iter()
        .filter(|key| section.table.get(key).is_some())
        .collect();
    let [key] = named[..] else {
        return Err(section.error(format!("a claim has one of {}", FIGURES.join(", "))));
    };
    match key {
        "value" => Ok(Figure::Value(one(section, key, factors)?)),
        "ratio" => two(section, key, factors).map(|(of, to)| Figure::Ratio(of, to)),
        "difference" => two(section, key, factors).map(|(of, to)| Figure::Difference(of, to)),
        "over_single" => {
            let rate = section.typed("rate", "a rate such as \"2.5G\"", |value| {
                parse_rate(value.as_str()?).ok()
            })?;
            let rate = rate.ok_or_else(|| {
                section.error("`rate` is missing: that of the link, such as \"2.5G\"")
            })?;
            Ok(Figure::OverSingle(one(section, key, factors)?, rate))
        }
        "spread_over" => Ok(Figure::Spread(along(section, key, factors)?)),
        "step_over" => Ok(Figure::Step(along(section, key, factors)?)),
        _ => {
            let (of, to) = two(section, "sides", factors)?;
            Ok(Figure::Saturation(along(section, key, factors)?, of, to))
        }
    }
}

fn one(section: &Section, key: &str, factors: &[Factor]) -> Result<Levels, StudyError> {
    match section.value(key)? {
        Some(value) => levels(section, key, value, factors),
        None => Ok(Levels::new()),
    }
}

/// Both sides name the same factors, so that every other factor can be matched.
fn two(section: &Section, key: &str, factors: &[Factor]) -> Result<(Levels, Levels), StudyError> {
    let allowed = "two tables that name the same factors, such as [{ size = 1 }, { size = 2 }]";
    let pair = section.typed(key, allowed, |value| {
        let array = value.as_array()?;
        (array.len() == 2).then(|| (array.get(0).cloned(), array.get(1).cloned()))
    })?;
    let Some((Some(of), Some(to))) = pair else {
        return Err(section.error(format!("`{key}` is missing; allowed: {allowed}")));
    };
    let (of, to) = (
        levels(section, key, &of, factors)?,
        levels(section, key, &to, factors)?,
    );
    let names = |levels: &Levels| {
        let mut names: Vec<String> = levels.iter().map(|(factor, _)| factor.clone()).collect();
        names.sort();
        names
    };
    if names(&of) != names(&to) || of == to {
        return Err(section.error_at(
            key,
            format!("the sides of `{key}` differ in other things than levels; allowed: {allowed}"),
        ));
    }
    Ok((of, to))
}

/// A list of levels.
fn labels(value: &Value) -> Option<Vec<Label>> {
    value.as_array()?.iter().map(label).collect()
}

fn along(section: &Section, key: &str, factors: &[Factor]) -> Result<Along, StudyError> {
    let name = section.required_text(key)?;
    let factor = known_factor(section, key, &name, factors)?;
    let levels = match section.typed("levels", "a list of levels", labels)? {
        Some(levels) => levels,
        None => factor
            .levels
            .iter()
            .map(|level| level.label.clone())
            .collect(),
    };
    levels
        .iter()
        .try_for_each(|label| known_level(section, "levels", factor, label))?;
    if levels.len() < 2 {
        return Err(section.error_at("levels", format!("`{key}` needs two levels or more")));
    }
    Ok(Along {
        factor: name,
        levels,
        at: one(section, "at", factors)?,
    })
}

/// `{ factor = level, … }`.
pub fn levels(
    section: &Section,
    key: &str,
    value: &Value,
    factors: &[Factor],
) -> Result<Levels, StudyError> {
    let Some(table) = value.as_inline_table() else {
        let message = format!(
            "`{key}` has {}; allowed: a table such as {{ factor = level }}",
            shown(value)
        );
        return Err(section.error_at(key, message));
    };
    let pair = |(name, value): (&str, &Value)| {
        let factor = known_factor(section, key, name, factors)?;
        let label = label(value).unwrap_or_else(|| Label::Text(shown(value)));
        known_level(section, key, factor, &label)?;
        Ok((name.to_owned(), label))
    };
    table.iter().map(pair).collect()
}

/// Combinations of levels that a study does not run.
pub fn leave_out(top: &Section, factors: &[Factor]) -> Result<Vec<LeaveOut>, StudyError> {
    let read = |section: &Section| -> Result<LeaveOut, StudyError> {
        let mut lists = Vec::new();
        for (name, _) in section.table.iter() {
            let factor = known_factor(section, name, name, factors)?;
            let listed = section.typed(name, "a list of levels", labels)?;
            let listed = listed.unwrap_or_default();
            listed
                .iter()
                .try_for_each(|label| known_level(section, name, factor, label))?;
            lists.push((name.to_owned(), listed));
        }
        if lists.len() < 2 {
            return Err(section.error("a [[leave_out]] names levels of two factors or more"));
        }
        Ok(LeaveOut(lists))
    };
    top.sections("leave_out")?.iter().map(read).collect()
}
