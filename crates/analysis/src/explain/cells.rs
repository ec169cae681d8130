//! The verdicts of a cell's runs, combined into one.

use std::collections::BTreeMap;

use crate::explain::figures::RunFigures;
use crate::explain::in_effect::InEffect;
use crate::explain::limiter::{Confidence, Limiter, Verdict};
use crate::explain::proof::Proof;

/// Shares that differ by less are the same.
const TIE: f64 = 1e-6;

fn mixed(words: impl Iterator<Item = String>) -> String {
    format!("mixed: {}", words.collect::<Vec<_>>().join(", "))
}

/// A run with what limited it.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedRun {
    /// Its figures.
    pub figures: RunFigures,
    /// One verdict, or two with their shares of its time.
    pub verdicts: Vec<Verdict>,
    /// What it had set already; absent where only figures are known.
    pub in_effect: Option<InEffect>,
}

/// A cell with what limited its runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedCell {
    /// The cell's name.
    pub name: String,
    /// Its runs, in order.
    pub runs: Vec<ExplainedRun>,
    /// What experiments say of it, where there were any.
    pub proof: Option<Proof>,
}

impl ExplainedCell {
    /// A cell of these runs.
    pub fn new(name: String, runs: Vec<ExplainedRun>) -> ExplainedCell {
        ExplainedCell {
            name,
            runs,
            proof: None,
        }
    }

    /// Each limiter with its share of the time of these cells' runs, the greatest first; every cell
    /// with a run counts alike.
    pub fn shares_of(cells: &[ExplainedCell]) -> Vec<(Limiter, f64)> {
        let used = || cells.iter().filter(|cell| !cell.runs.is_empty());
        let mut shares: BTreeMap<Limiter, f64> = BTreeMap::new();
        for cell in used() {
            for verdict in cell.runs.iter().flat_map(|run| &run.verdicts) {
                *shares.entry(verdict.limiter().clone()).or_default() +=
                    verdict.share / (cell.runs.len() * used().count()) as f64;
            }
        }
        let mut shares: Vec<(Limiter, f64)> = shares.into_iter().collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        shares
    }

    /// Each limiter with its share of the cell's time, the greatest first.
    pub fn shares(&self) -> Vec<(Limiter, f64)> {
        ExplainedCell::shares_of(std::slice::from_ref(self))
    }

    /// The limiters with the greatest share, those that are named first; several where it is a tie.
    pub fn leading(&self) -> Vec<(Limiter, f64)> {
        let mut found = self.shares();
        let most = found.first().map_or(0.0, |(_, share)| *share);
        found.retain(|(_, share)| most - share < TIE);
        found.sort_by_key(|(limiter, _)| limiter.is_unknown());
        found
    }

    /// What limited the cell, in words; `mixed: A, B` where limiters have the same share.
    pub fn limiter_words(&self) -> Option<String> {
        let leading = self.leading();
        let named = leading.iter().filter(|(limiter, _)| !limiter.is_unknown());
        let words = |(limiter, _): &(Limiter, f64)| limiter.to_string();
        match (&leading[..], named.clone().count()) {
            ([], _) => None,
            ([one], _) => Some(words(one)),
            (all, 0 | 1) => Some(mixed(all.iter().map(words))),
            _ => Some(mixed(named.map(words))),
        }
    }

    /// The verdict that represents the cell: of the first of the leading limiters.
    pub fn verdict(&self) -> Option<Verdict> {
        self.verdict_of(self.leading().into_iter().next()?)
    }

    /// Of a limiter with this share the verdict of the run whose evidence is in the middle.
    pub fn verdict_of(&self, (limiter, share): (Limiter, f64)) -> Option<Verdict> {
        let of_limiter = self
            .runs
            .iter()
            .flat_map(|run| &run.verdicts)
            .filter(|verdict| *verdict.limiter() == limiter);
        let mut found: Vec<&Verdict> = of_limiter.collect();
        found.sort_by(|a, b| a.chosen.strength().total_cmp(&b.chosen.strength()));
        let middle = (*found.get((found.len() - 1) / 2)?).clone();
        let mut levels: Vec<Confidence> = found.iter().map(|verdict| verdict.confidence).collect();
        levels.sort_unstable();
        let confidence = if share > 0.8 {
            levels[(levels.len() - 1) / 2]
        } else {
            Confidence::Low
        };
        Some(Verdict {
            share,
            confidence,
            ..middle
        })
    }
}
