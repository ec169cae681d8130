//! `[compare]`: two levels of a factor; the report describes the change from one to the other.

use super::names::two_levels;
use crate::definition::{Compared, Factor};
use crate::error::StudyError;
use crate::keys::COMPARE;
use crate::section::Section;

pub fn compared(top: &Section, factors: &[Factor]) -> Result<Option<Compared>, StudyError> {
    let Some(section) = top.section("compare")? else {
        return Ok(None);
    };
    section.only(&COMPARE.names())?;
    let (factor, old, new) = two_levels(&section, ["old", "new"], factors)?;
    if old == new {
        return Err(section.error_at(
            "new",
            format!("`old` and `new` are both {new}; allowed: two levels that differ"),
        ));
    }
    Ok(Some(Compared { factor, old, new }))
}
