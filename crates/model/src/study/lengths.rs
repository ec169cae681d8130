//! How long a study's runs are and how many: by default, as in its document, and in short.

use super::StudyError;
use super::section::Section;
use crate::settings::{self, Kind};

/// Lengths that a study has beside its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Length {
    /// Blocks.
    pub blocks: u32,
    /// Measured window of each run, in milliseconds; absent: the study's own.
    pub duration_ms: Option<u32>,
    /// Counts after which bounded runs end, in per cent of the study's own; absent: these.
    pub counts_pct: Option<u32>,
}

/// The blocks of a study, by default; those of its document; and the shortest ones that show something.
pub struct Lengths {
    pub blocks: u32,
    pub document: Option<Length>,
    pub short: Option<Length>,
}

pub fn lengths(top: &Section) -> Result<Lengths, StudyError> {
    let Some(section) = top.section("run")? else { return Ok(Lengths { blocks: 5, document: None, short: None }) };
    section.only(&["blocks", "like_the_document", "ci", "until_interval_pct", "until_metric", "max_blocks"])?;
    Ok(Lengths {
        blocks: section.whole("blocks", 1..100_001)?.unwrap_or(5),
        document: section.section("like_the_document")?.as_ref().map(length).transpose()?,
        short: section.section("ci")?.as_ref().map(length).transpose()?,
    })
}

fn length(section: &Section) -> Result<Length, StudyError> {
    section.only(&["blocks", "duration_s", "counts_pct"])?;
    let missing = |key: &str| section.error(format!("`{key}` is missing in [{}]", section.name));
    let kind = Kind::Time(100, 3_600_000);
    let duration_ms = section.typed("duration_s", &kind.allowed(), |value| settings::milliseconds(kind, value))?;
    let counts_pct = section.whole("counts_pct", 1..10_001)?;
    if duration_ms.is_none() && counts_pct.is_none() {
        return Err(missing("duration_s"));
    }
    Ok(Length {
        blocks: section.whole("blocks", 1..100_001)?.ok_or_else(|| missing("blocks"))?,
        duration_ms,
        counts_pct,
    })
}
