//! What a stage of experiments is for: to find which perturbations have an effect, or to decide about them.

use super::choose::Chosen;
use super::ordinary::Ordinary;
use crate::explain::Tried;

/// The most perturbations that are tried without a screening block.
const FEW: usize = 3;

/// The most blocks of a stage that decides, of which the budget allows fewer.
const BLOCKS_PLANNED: u32 = 60;

/// What a stage is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// One block of shorter runs, in which the perturbations with an effect stand out.
    Screen,
    /// Blocks until the intervals decide.
    Decide,
}

impl Purpose {
    /// The purpose of the first stage of a test: where nothing is suspected, many perturbations are screened.
    pub fn first(ordinary: &Ordinary, chosen: &Chosen) -> Purpose {
        match ordinary.named.is_none() && chosen.tried.len() > FEW {
            true => Purpose::Screen,
            false => Purpose::Decide,
        }
    }

    /// The most blocks of the stage.
    pub fn blocks(self) -> u32 {
        match self {
            Purpose::Screen => 1,
            Purpose::Decide => BLOCKS_PLANNED,
        }
    }

    /// The settings of its runs, by name.
    pub fn runs(self, ordinary: &Ordinary) -> [(&'static str, String); 3] {
        match self {
            Purpose::Screen => ordinary.shorter_runs(),
            Purpose::Decide => ordinary.short_runs(),
        }
    }
}

impl Chosen {
    /// Those of the perturbations with which the throughput went when they were screened; all where it went with none.
    pub fn standing_out(mut self, tried: &[Tried]) -> Chosen {
        let of = |name: &str| {
            let mut tried = tried.iter();
            tried.any(|one| one.name == name && one.stands_out())
        };
        if self.tried.iter().any(|(row, _)| of(row.name)) {
            self.tried.retain(|(row, _)| of(row.name));
        }
        self
    }
}
