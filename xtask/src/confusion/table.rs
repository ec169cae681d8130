//! The confusion table: scenarios against verdicts, and whether the promises are kept.

use std::collections::BTreeMap;
use std::fmt::Write;

use explain::{Confidence, CostModel, Limiter, Verdict, verdict_text};

use super::scenarios::Scenario;
use super::trial::Trial;

/// Least share of right verdicts, of scenarios that bounds were set on and of variants.
const RIGHT: [f64; 2] = [0.97, 0.95];

/// Most unknown ones.
const UNKNOWN: f64 = 0.03;

/// A trial with what was said of it.
pub struct Row {
    scenario: &'static str,
    is_variant: bool,
    is_divided: bool,
    right: &'static [&'static str],
    verdicts: Vec<Verdict>,
}

impl Row {
    /// Judges a trial.
    pub fn of(scenario: &'static Scenario, trial: &Trial, models: &[(String, CostModel)]) -> Row {
        let Scenario { name, is_variant, is_divided, right, .. } = *scenario;
        Row { scenario: name, is_variant, is_divided, right, verdicts: trial.verdicts(models) }
    }

    fn said(&self) -> Vec<&'static str> {
        self.verdicts.iter().map(|verdict| verdict.limiter().name()).collect()
    }

    /// True where what was said is so; of two limiters both must be named, and nothing else.
    pub fn is_right(&self) -> bool {
        let said = self.said();
        let named = |right: &&str| said.contains(right);
        let all = said.iter().all(|name| self.right.contains(name));
        if self.is_divided { all && self.right.iter().all(named) } else { all && said.len() == 1 }
    }

    /// True where nothing was said that is not so.
    fn is_unknown(&self) -> bool {
        let said = self.said();
        let silent = Limiter::Unknown.name();
        said.contains(&silent) && said.iter().all(|name| *name == silent || self.right.contains(name))
    }

    fn is_sure(&self) -> bool {
        let wrong = |verdict: &&Verdict| !self.right.contains(&verdict.limiter().name());
        self.verdicts.iter().filter(wrong).any(|verdict| verdict.confidence == Confidence::High)
    }
}

/// What was found of a trial that is not right: its verdicts and its signals.
pub fn why(row: &Row, trial: &Trial, models: &[(String, CostModel)]) -> String {
    let mut text = format!("== {} (repeat {})\n", trial.scenario, trial.repeat + 1);
    for verdict in trial.verdicts(models) {
        let _ = writeln!(text, "{} ({})\n{}", verdict.limiter(), verdict.confidence.name(), verdict_text(&verdict));
    }
    let _ = write!(text, "right: {:?}\n{:#?}\n", row.right, trial.signals());
    text
}

/// The table, and whether all promises are kept.
pub fn table(rows: &[Row]) -> (String, bool) {
    let mut scenarios: Vec<(&str, Vec<&Row>)> = Vec::new();
    for row in rows {
        match scenarios.iter_mut().find(|(name, _)| *name == row.scenario) {
            Some((_, of)) => of.push(row),
            None => scenarios.push((row.scenario, vec![row])),
        }
    }
    let width = scenarios.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut text = format!(
        "| {:<width$} | set | runs | right | unknown | wrong | said |\n|{:-<w$}|---|---|---|---|---|---|\n",
        "scenario",
        "",
        w = width + 2
    );
    for (name, of) in &scenarios {
        let right = of.iter().filter(|row| row.is_right()).count();
        let unknown = of.iter().filter(|row| !row.is_right() && row.is_unknown()).count();
        let mut said: BTreeMap<String, usize> = BTreeMap::new();
        of.iter().for_each(|row| *said.entry(phrase(row)).or_default() += 1);
        let said: Vec<String> = said.iter().map(|(said, count)| format!("{count} × {said}")).collect();
        let set = if of[0].is_variant { "variant" } else { "tuned" };
        let wrong = of.len() - right - unknown;
        let _ = writeln!(
            text,
            "| {name:<width$} | {set} | {} | {right} | {unknown} | {wrong} | {} |",
            of.len(),
            said.join(", ")
        );
    }
    let mut kept = true;
    for (variant, least) in [(false, RIGHT[0]), (true, RIGHT[1])] {
        let of: Vec<&Row> = rows.iter().filter(|row| row.is_variant == variant).collect();
        if !of.is_empty() {
            kept &= sum(&mut text, if variant { "variants" } else { "tuned" }, &of, least);
        }
    }
    (text, kept)
}

fn sum(text: &mut String, set: &str, rows: &[&Row], least: f64) -> bool {
    let count = rows.len() as f64;
    let share = |is_so: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| is_so(row)).count() as f64 / count;
    let (right, unknown) = (share(&Row::is_right), share(&|row| !row.is_right() && row.is_unknown()));
    let sure = rows.iter().filter(|row| !row.is_right() && row.is_sure()).count();
    let high =
        share(&|row| row.is_right() && row.verdicts.iter().all(|verdict| verdict.confidence == Confidence::High));
    let kept = right >= least && unknown <= UNKNOWN && sure == 0;
    let word = if kept { "kept" } else { "NOT KEPT" };
    let _ = writeln!(
        text,
        "{set}: {} runs, right {:.1} % (at least {:.0} %), unknown {:.1} % (at most {:.0} %), wrong with high confidence {sure}; right with high confidence {:.1} %: {word}",
        rows.len(),
        100.0 * right,
        100.0 * least,
        100.0 * unknown,
        100.0 * UNKNOWN,
        100.0 * high
    );
    kept
}

fn phrase(row: &Row) -> String {
    let part = |verdict: &Verdict| {
        let share = if verdict.share < 0.995 { format!(" {:.0} %", 100.0 * verdict.share) } else { String::new() };
        format!("{}{share} ({})", verdict.limiter().name(), verdict.confidence.name())
    };
    // Shares differ from run to run; the table counts what is said.
    let whole: Vec<String> = row.verdicts.iter().map(part).collect();
    if whole.len() == 1 { whole.concat() } else { row.said().join(" + ") }
}
