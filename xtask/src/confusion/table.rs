//! The confusion table: scenarios against verdicts, and whether the promises are kept.

use std::collections::BTreeMap;
use std::fmt::Write;

use bitcost_analysis::explain::{Confidence, Verdict};
use bitcost_render::explained::verdict_text;

use super::scenarios::Scenario;
use super::trial::{Models, Trial};

/// Least share of right verdicts: of scenarios by means of which bounds were chosen, and of
/// variants.
const RIGHT: [f64; 2] = [0.97, 0.97];

/// Greatest share of unknown verdicts.
const UNKNOWN: f64 = 0.03;

/// A trial with its verdicts.
pub struct Row {
    scenario: &'static Scenario,
    source: usize,
    right: Vec<String>,
    verdicts: Vec<Verdict>,
}

impl Row {
    /// Judges a trial.
    pub fn of(scenario: &'static Scenario, trial: &Trial, models: &Models) -> Row {
        Row {
            scenario,
            source: trial.source,
            right: trial.right.clone(),
            verdicts: trial.verdicts(models),
        }
    }

    fn said(&self) -> Vec<&'static str> {
        self.verdicts
            .iter()
            .map(|verdict| verdict.limiter().name())
            .collect()
    }

    /// Whether a limiter is a right one.
    fn names(&self, limiter: &str) -> bool {
        self.right.iter().any(|right| right == limiter)
    }

    /// Whether the verdicts are right; of two limiters both must be named, and nothing else.
    pub fn is_right(&self) -> bool {
        let said = self.said();
        let all = said.iter().all(|name| self.names(name));
        if self.scenario.is_divided {
            all && self
                .right
                .iter()
                .all(|right| said.contains(&right.as_str()))
        } else {
            all && said.len() == 1
        }
    }

    /// Whether no verdict is wrong.
    fn is_unknown(&self) -> bool {
        let said = self.said();
        let silent = "unknown";
        said.contains(&silent) && said.iter().all(|name| *name == silent || self.names(name))
    }

    /// Whether a verdict with high confidence is wrong: it names another limiter, or of two limiters
    /// one for the whole time.
    fn is_sure(&self) -> bool {
        let is_whole = self.scenario.is_divided && self.verdicts.len() == 1;
        let wrong = |verdict: &&Verdict| is_whole || !self.names(verdict.limiter().name());
        self.verdicts
            .iter()
            .filter(wrong)
            .any(|verdict| verdict.confidence == Confidence::High)
    }
}

/// The sums of a recording.
pub fn of_source(rows: &[Row], source: usize) -> String {
    let of = || rows.iter().filter(|row| row.source == source);
    let right = of().filter(|row| row.is_right()).count();
    let unknown = of().filter(|row| !row.is_right() && row.is_unknown());
    let unknown = unknown.count();
    let wrong = of().count() - right - unknown;
    format!("{right} right, {unknown} unknown, {wrong} wrong")
}

/// The findings of a trial that is not right: its verdicts and its signals.
pub fn why(row: &Row, trial: &Trial, models: &Models) -> String {
    let mut text = format!("== {} (repeat {})\n", trial.scenario, trial.repeat + 1);
    for verdict in trial.verdicts(models) {
        let _ = writeln!(
            text,
            "{} ({})\n{}",
            verdict.limiter(),
            verdict.confidence.name(),
            verdict_text(&verdict)
        );
    }
    let _ = write!(text, "right: {:?}\n{:#?}\n", row.right, trial.signals());
    text
}

/// Every limiter by construction with its scenarios, then every scenario that was not always right,
/// then the sums and whether all promises are kept.
pub fn table(rows: &[Row]) -> (String, bool) {
    let mut text = "| by construction | bounds were set on | right | kept apart | right | said else |\n|---|---|---|---|---|---|\n".to_owned();
    for (group, of) in grouped(rows, |row| row.scenario.group()) {
        let (variants, tuned): (Vec<&Row>, Vec<&Row>) =
            of.iter().partition(|row| row.scenario.is_variant);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            group.replace('_', " "),
            names(&tuned),
            count(&tuned),
            names(&variants),
            count(&variants),
            missed(&of)
        );
    }
    for (name, of) in grouped(rows, |row| row.scenario.name) {
        if of.iter().any(|row| !row.is_right()) {
            let _ = writeln!(text, "{name}: {} right; {}", count(&of), missed(&of));
        }
    }
    let mut kept = true;
    for (variant, least) in [(false, RIGHT[0]), (true, RIGHT[1])] {
        let of: Vec<&Row> = rows
            .iter()
            .filter(|row| row.scenario.is_variant == variant)
            .collect();
        if !of.is_empty() {
            kept &= sum(
                &mut text,
                if variant {
                    "kept apart"
                } else {
                    "bounds set on"
                },
                &of,
                least,
            );
        }
    }
    (text, kept)
}

/// Groups rows of the same key, in the order in which the keys come.
fn grouped(rows: &[Row], key: impl Fn(&Row) -> &'static str) -> Vec<(&'static str, Vec<&Row>)> {
    let mut groups: Vec<(&str, Vec<&Row>)> = Vec::new();
    for row in rows {
        match groups.iter_mut().find(|(name, _)| *name == key(row)) {
            Some((_, of)) => of.push(row),
            None => groups.push((key(row), vec![row])),
        }
    }
    groups
}

/// The scenarios of these rows, by the parts of their names after the colon, each once.
fn names(rows: &[&Row]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        if !names.contains(&row.scenario.what()) {
            names.push(row.scenario.what());
        }
    }
    names.join("; ")
}

/// `20 of 20`.
fn count(rows: &[&Row]) -> String {
    format!(
        "{} of {}",
        rows.iter().filter(|row| row.is_right()).count(),
        rows.len()
    )
}

/// The verdicts that were not right, and how often each was given.
fn missed(rows: &[&Row]) -> String {
    let mut said: BTreeMap<String, usize> = BTreeMap::new();
    rows.iter()
        .filter(|row| !row.is_right())
        .for_each(|row| *said.entry(phrase(row)).or_default() += 1);
    let said: Vec<String> = said
        .iter()
        .map(|(said, count)| format!("{count} × {said}"))
        .collect();
    if said.is_empty() {
        "–".to_owned()
    } else {
        said.join(", ")
    }
}

fn sum(text: &mut String, set: &str, rows: &[&Row], least: f64) -> bool {
    let count = rows.len() as f64;
    let share =
        |is_so: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| is_so(row)).count() as f64 / count;
    let (right, unknown) = (
        share(&Row::is_right),
        share(&|row| !row.is_right() && row.is_unknown()),
    );
    let sure = rows
        .iter()
        .filter(|row| !row.is_right() && row.is_sure())
        .count();
    let high = share(&|row| {
        row.is_right()
            && row
                .verdicts
                .iter()
                .all(|verdict| verdict.confidence == Confidence::High)
    });
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
        let share = if verdict.share < 0.995 {
            format!(" {:.0} %", 100.0 * verdict.share)
        } else {
            String::new()
        };
        format!(
            "{}{share} ({})",
            verdict.limiter().name(),
            verdict.confidence.name()
        )
    };
    // Shares differ from run to run: with several verdicts, only their names are counted.
    let whole: Vec<String> = row.verdicts.iter().map(part).collect();
    if whole.len() == 1 {
        whole.concat()
    } else {
        row.said().join(" + ")
    }
}
