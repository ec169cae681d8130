//! The confusion table: scenarios against verdicts, and whether the promises are kept.

use std::collections::BTreeMap;

use bitcost_analysis::explain::Verdict;
use bitcost_render::block::text;
use bitcost_render::explained::evidence_blocks;

use super::recording::{Lines, Trial};

/// Greatest share of unknown verdicts; all others must be right.
const UNKNOWN: f64 = 0.03;

pub struct Row {
    scenario: String,
    right: Vec<String>,
    verdict: Verdict,
}

impl Row {
    pub fn of(trial: &Trial, lines: &Lines) -> Row {
        Row {
            scenario: trial.scenario.clone(),
            right: trial.right.clone(),
            verdict: trial.verdict(lines),
        }
    }

    /// The limiter by construction.
    fn group(&self) -> &str {
        self.scenario.split(':').next().unwrap_or(&self.scenario)
    }

    fn named(&self) -> &'static str {
        self.verdict.limiter().name()
    }

    pub fn is_right(&self) -> bool {
        self.right.iter().any(|right| right == self.named())
    }

    /// Whether nothing is named although something limits.
    fn is_unknown(&self) -> bool {
        !self.is_right() && self.verdict.limiter().is_unknown()
    }

    /// The findings of a trial that is not right: its verdict and its signals.
    pub fn why(&self, trial: &Trial) -> String {
        let (scenario, repeat) = (&trial.scenario, trial.repeat + 1);
        let text = text(&evidence_blocks(&self.verdict), u16::MAX);
        let limiter = self.verdict.limiter();
        let (right, signals) = (&self.right, trial.signals());
        format!(
            "== {scenario} (repeat {repeat})\n{limiter}\n{text}\nright: {right:?}\n{signals:#?}\n"
        )
    }
}

/// Every limiter by construction, then every scenario that was not always right, then the sums and whether all promises are
/// kept.
pub fn table(rows: &[Row]) -> (String, bool) {
    let mut text = "| by construction | right | said else |\n|---|---|---|\n".to_owned();
    for (group, of) in grouped(rows, Row::group) {
        text += &format!("| {group} | {} | {} |\n", count(&of), missed(&of));
    }
    for (name, of) in grouped(rows, |row| row.scenario.as_str()) {
        if of.iter().any(|row| !row.is_right()) {
            text += &format!("{name}: {} right; {}\n", count(&of), missed(&of));
        }
    }
    let share = |is_so: fn(&Row) -> bool| {
        rows.iter().filter(|row| is_so(row)).count() as f64 / rows.len().max(1) as f64
    };
    let (right, unknown) = (share(Row::is_right), share(Row::is_unknown));
    let is_wrong = |row: &&Row| !row.is_right() && !row.is_unknown();
    let wrong = rows.iter().filter(is_wrong).count();
    let is_kept = unknown <= UNKNOWN && wrong == 0;
    let word = if is_kept { "kept" } else { "NOT KEPT" };
    let [right, unknown, most] = [right, unknown, UNKNOWN].map(|of| 100.0 * of);
    text += &format!(
        "{} runs, right {right:.1} %, unknown {unknown:.1} % (at most {most:.0} %), wrong {wrong} (none): {word}\n",
        rows.len()
    );
    (text, is_kept)
}

/// Groups rows of the same key, in the order in which the keys come.
fn grouped(rows: &[Row], key: impl Fn(&Row) -> &str) -> Vec<(&str, Vec<&Row>)> {
    let mut groups: Vec<(&str, Vec<&Row>)> = Vec::new();
    for row in rows {
        match groups.iter_mut().find(|(name, _)| *name == key(row)) {
            Some((_, of)) => of.push(row),
            None => groups.push((key(row), vec![row])),
        }
    }
    groups
}

fn count(rows: &[&Row]) -> String {
    let right = rows.iter().filter(|row| row.is_right()).count();
    format!("{right} of {}", rows.len())
}

/// The verdicts that were not right, and how often each was given.
fn missed(rows: &[&Row]) -> String {
    let mut said: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows.iter().filter(|row| !row.is_right()) {
        *said.entry(row.named()).or_default() += 1;
    }
    let said = said.iter().map(|(said, count)| format!("{count} × {said}"));
    said.collect::<Vec<_>>().join(", ")
}
