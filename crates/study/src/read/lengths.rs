//! The number and length of a study's runs: the default, those of its document, and the short ones.

use crate::definition::Length;
use crate::error::StudyError;
use crate::keys::{LENGTHS, RUN};
use crate::section::Section;
use crate::settings;
use bitcost_model::conditions::bounds::DURATION_S;

/// The blocks of a study that does not say how many; an interval of fewer covers too little where
/// every block is looked at (docs/method/statistics.md, Stop rule).
const BLOCKS: u32 = 5;

/// The keys that belong to a stop rule.
pub const RULE: [&str; 3] = ["until_metric", "max_blocks", "budget_s"];

/// The blocks of a study: the default, those of its document, and the fewest that give a result.
pub struct Lengths {
    /// The fewest blocks where `is_auto`.
    pub blocks: u32,
    /// Whether the study's question decides how many blocks there are.
    pub is_auto: bool,
    /// Whether each run is made once more to be profiled.
    pub is_profiled: bool,
    pub document: Option<Length>,
    pub short: Option<Length>,
}

pub fn lengths(top: &Section) -> Result<Lengths, StudyError> {
    let Some(section) = top.section("run")? else {
        return Ok(Lengths {
            blocks: BLOCKS,
            is_auto: false,
            is_profiled: false,
            document: None,
            short: None,
        });
    };
    section.only(&RUN.names())?;
    let form = RUN.form("blocks");
    let blocks = section.typed("blocks", &form.allowed(), |value| match value.as_str() {
        Some(text) => (text == "auto").then_some(None),
        None => Some(Some(form.number(value)? as u32)),
    })?;
    Ok(Lengths {
        blocks: blocks.flatten().unwrap_or(BLOCKS),
        is_auto: blocks == Some(None),
        is_profiled: section.switch("profile")? == Some(true),
        document: section
            .section("like_the_document")?
            .as_ref()
            .map(length)
            .transpose()?,
        short: section.section("ci")?.as_ref().map(length).transpose()?,
    })
}

fn length(section: &Section) -> Result<Length, StudyError> {
    section.only(&LENGTHS.names())?;
    let missing = |key: &str| section.error(format!("`{key}` is missing in [{}]", section.name));
    let duration_ms = section.typed("duration_s", &DURATION_S.allowed(), |value| {
        u32::try_from(settings::number(&DURATION_S, value)?).ok()
    })?;
    let counts_pct = LENGTHS.whole(section, "counts_pct")?;
    if duration_ms.is_none() && counts_pct.is_none() {
        return Err(missing("duration_s"));
    }
    Ok(Length {
        blocks: LENGTHS
            .whole(section, "blocks")?
            .ok_or_else(|| missing("blocks"))?,
        duration_ms,
        counts_pct,
    })
}
