//! The number and length of a study's runs: the default, those of its document, and the short ones.

use crate::definition::Length;
use crate::error::StudyError;
use crate::section::Section;
use crate::settings;
use bitcost_model::conditions::bounds::DURATION_S;

/// The blocks of a study: the default, those of its document, and the fewest that give a result.
pub struct Lengths {
    pub blocks: u32,
    pub document: Option<Length>,
    pub short: Option<Length>,
}

pub fn lengths(top: &Section) -> Result<Lengths, StudyError> {
    let Some(section) = top.section("run")? else {
        return Ok(Lengths {
            blocks: 5,
            document: None,
            short: None,
        });
    };
    section.only(&[
        "blocks",
        "like_the_document",
        "ci",
        "until_interval_pct",
        "until_metric",
        "max_blocks",
    ])?;
    Ok(Lengths {
        blocks: section.whole("blocks", 1..100_001)?.unwrap_or(5),
        document: section
            .section("like_the_document")?
            .as_ref()
            .map(length)
            .transpose()?,
        short: section.section("ci")?.as_ref().map(length).transpose()?,
    })
}

fn length(section: &Section) -> Result<Length, StudyError> {
    section.only(&["blocks", "duration_s", "counts_pct"])?;
    let missing = |key: &str| section.error(format!("`{key}` is missing in [{}]", section.name));
    let duration_ms = section.typed("duration_s", &DURATION_S.allowed(), |value| {
        u32::try_from(settings::number(&DURATION_S, value)?).ok()
    })?;
    let counts_pct = section.whole("counts_pct", 1..10_001)?;
    if duration_ms.is_none() && counts_pct.is_none() {
        return Err(missing("duration_s"));
    }
    Ok(Length {
        blocks: section
            .whole("blocks", 1..100_001)?
            .ok_or_else(|| missing("blocks"))?,
        duration_ms,
        counts_pct,
    })
}
