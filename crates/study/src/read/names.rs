//! Names of factors and levels as a study's other parts use them.

use bitcost_model::near::did_you_mean;
use bitcost_model::study::Label;
use toml_edit::Value;

use crate::definition::Factor;
use crate::error::StudyError;
use crate::section::Section;

pub fn label(value: &Value) -> Option<Label> {
    value
        .as_integer()
        .map(Label::Number)
        .or_else(|| value.as_str().map(|text| Label::Text(text.to_owned())))
        .or_else(|| value.as_bool().map(|on| Label::Text(on.to_string())))
}

pub fn known_factor<'a>(
    section: &Section,
    key: &str,
    name: &str,
    factors: &'a [Factor],
) -> Result<&'a Factor, StudyError> {
    factors
        .iter()
        .find(|factor| factor.name == name)
        .ok_or_else(|| {
            let names: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
            let hint = did_you_mean(name, names.iter().copied());
            section.error_at(
                key,
                format!(
                    "unknown factor `{name}`{hint}; allowed: {}",
                    names.join(", ")
                ),
            )
        })
}

pub fn known_level(
    section: &Section,
    key: &str,
    factor: &Factor,
    label: &Label,
) -> Result<(), StudyError> {
    if factor.levels.iter().any(|level| level.label == *label) {
        return Ok(());
    }
    let labels: Vec<String> = factor
        .levels
        .iter()
        .map(|level| level.label.to_string())
        .collect();
    let hint = did_you_mean(&label.to_string(), labels.iter().map(String::as_str));
    let message = format!(
        "unknown level `{label}` of factor `{}`{hint}; allowed: {}",
        factor.name,
        labels.join(", ")
    );
    Err(section.error_at(key, message))
}

/// The factor that a section names, and two levels of it by these keys.
pub fn two_levels(
    section: &Section,
    keys: [&str; 2],
    factors: &[Factor],
) -> Result<(String, Label, Label), StudyError> {
    let name = section.required_text("factor")?;
    let factor = known_factor(section, "factor", &name, factors)?;
    let level = |key: &str| -> Result<Label, StudyError> {
        let found = section.value(key)?.and_then(label);
        let found =
            found.ok_or_else(|| section.error(format!("`{key}` is missing{}", section.place())))?;
        known_level(section, key, factor, &found).map(|()| found)
    };
    Ok((name, level(keys[0])?, level(keys[1])?))
}
