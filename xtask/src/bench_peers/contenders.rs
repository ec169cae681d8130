//! The contenders of a case: ours and the rivals.

use std::path::Path;

use anyhow::Result;

use super::cases::Case;
use super::field::{Field, Setup};
use super::figure::Figure;
use super::flavours::{FLAVOURS, Flavour};
use super::peers::Rival;
use super::{ours, peers};

/// One contender.
pub enum Contender<'a> {
    /// bitcost, in one of its ways.
    Ours(&'static Flavour),
    /// A peer.
    Rival(&'a Rival),
}

/// All contenders of a case, ours first; only those with these names if there are any.
pub fn of<'a>(
    case: &Case,
    setup: Setup,
    rivals: &'a [Rival],
    with: &[String],
) -> Vec<Contender<'a>> {
    let ours = FLAVOURS
        .iter()
        .filter(|flavour| flavour.can(case, setup))
        .map(Contender::Ours);
    let all = ours.chain(
        rivals
            .iter()
            .filter(|rival| rival.can(case))
            .map(Contender::Rival),
    );
    all.filter(|contender| with.is_empty() || with.iter().any(|name| name == contender.name()))
        .collect()
}

impl Contender<'_> {
    /// Its name in the table.
    pub fn name(&self) -> &'static str {
        match self {
            Contender::Ours(flavour) => flavour.name,
            Contender::Rival(rival) => rival.name,
        }
    }

    /// One run.
    pub fn measure(
        &self,
        case: &Case,
        field: &Field,
        bitcost: &Path,
        seconds: f64,
    ) -> Result<Figure> {
        match self {
            Contender::Ours(flavour) => {
                ours::measure(case, field, bitcost, seconds, flavour.change)
            }
            Contender::Rival(rival) => peers::measure(rival, case, field, seconds),
        }
    }
}
