//! The verdicts of a cell's runs, combined into one.

use std::collections::BTreeMap;

use crate::explain::limiter::{Limiter, Verdict};
use crate::explain::others::Others;
use crate::explain::proof::{Proof, Remedy};

/// Shares that differ by less are the same.
const TIE: f64 = 1e-6;

#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedRun {
    /// Its place in the order, from 0.
    pub run: u32,
    pub verdict: Verdict,
    /// What other programs took from it.
    pub others: Others,
}

/// A cell with what limited its runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedCell {
    pub name: String,
    pub runs: Vec<ExplainedRun>,
    /// What experiments say of it, where there were any.
    pub proof: Option<Proof>,
    /// What to do about it, the best first; none where its records are not known.
    pub remedies: Vec<Remedy>,
}

impl ExplainedCell {
    pub fn new(name: String, runs: Vec<ExplainedRun>) -> ExplainedCell {
        ExplainedCell {
            name,
            runs,
            proof: None,
            remedies: Vec::new(),
        }
    }

    /// Each limiter with its share of these cells' runs, the greatest first; every cell
    /// with a run counts alike.
    pub fn shares_of(cells: &[ExplainedCell]) -> Vec<(Limiter, f64)> {
        let used = || cells.iter().filter(|cell| !cell.runs.is_empty());
        let mut shares: BTreeMap<Limiter, f64> = BTreeMap::new();
        for cell in used() {
            for run in &cell.runs {
                *shares.entry(run.verdict.limiter().clone()).or_default() +=
                    1.0 / (cell.runs.len() * used().count()) as f64;
            }
        }
        let mut shares: Vec<(Limiter, f64)> = shares.into_iter().collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        shares
    }

    /// Each limiter with its share of the cell's runs, the greatest first.
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
        let mut leading = self.leading();
        let named = leading.iter().filter(|(limiter, _)| !limiter.is_unknown());
        if named.count() > 1 {
            leading.retain(|(limiter, _)| !limiter.is_unknown());
        }
        let words: Vec<String> = leading.iter().map(|(one, _)| one.to_string()).collect();
        match &words[..] {
            [] => None,
            [one] => Some(one.clone()),
            several => Some(format!("mixed: {}", several.join(", "))),
        }
    }

    /// The verdict that represents the cell: of the first of the leading limiters, that of the run whose evidence is in
    /// the middle.
    pub fn verdict(&self) -> Option<Verdict> {
        let (limiter, share) = self.leading().into_iter().next()?;
        let verdicts = self.runs.iter().map(|run| &run.verdict);
        let mut found: Vec<&Verdict> = verdicts.filter(|one| *one.limiter() == limiter).collect();
        found.sort_by(|a, b| a.chosen.strength().total_cmp(&b.chosen.strength()));
        let middle = (*found.get((found.len() - 1) / 2)?).clone();
        Some(Verdict { share, ..middle })
    }
}
