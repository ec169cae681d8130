//! `[compare]`: two levels of a factor; the report describes the change from one to the other.

use super::names::{known_factor, known_level, label};
use crate::definition::{Compared, Factor};
use crate::error::StudyError;
use crate::keys::COMPARE;
use crate::section::Section;
use bitcost_model::study::Label;

pub fn compared(top: &Section, factors: &[Factor]) -> Result<Option<Compared>, StudyError> {
    let Some(section) = top.section("compare")? else {
        return Ok(None);
    };
    section.only(&COMPARE.names())?;
    let name = section.required_text("factor")?;
    let factor = known_factor(&section, "factor", &name, factors)?;
    let level = |key: &str| -> Result<Label, StudyError> {
        let found = section.value(key)?.and_then(label);
        let found =
            found.ok_or_else(|| section.error(format!("`{key}` is missing{}", section.place())))?;
        known_level(&section, key, factor, &found).map(|()| found)
    };
    let (old, new) = (level("old")?, level("new")?);
    if old == new {
        return Err(section.error_at(
            "new",
            format!("`old` and `new` are both {new}; allowed: two levels that differ"),
        ));
    }
    Ok(Some(Compared {
        factor: name,
        old,
        new,
    }))
}
