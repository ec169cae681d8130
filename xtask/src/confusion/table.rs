//! The confusion table: scenarios against verdicts, and whether the promises are kept.

use std::collections::BTreeMap;

use bitcost_analysis::explain::{Confidence, Verdict};
use bitcost_render::explained::verdict_text;

use super::scenarios::Scenario;
use super::trial::{Models, Trial};

/// Least share of right verdicts, of scenarios by means of which bounds were chosen as of variants.
const RIGHT: f64 = 0.97;

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

    /// Whether it is not right, but no verdict is wrong.
    fn is_unknown(&self) -> bool {
        let said = self.said();
        let silent = "unknown";
        !self.is_right()
            && said.contains(&silent)
            && said.iter().all(|name| *name == silent || self.names(name))
    }

    /// Whether a verdict with high confidence is wrong: it names another limiter, or of two limiters
    /// one for the whole time.
    fn is_sure(&self) -> bool {
        let is_whole = self.scenario.is_divided && self.verdicts.len() == 1;
        let wrong = |verdict: &&Verdict| is_whole || !self.names(verdict.limiter().name());
        !self.is_right()
            && self
                .verdicts
                .iter()
                .filter(wrong)
                .any(|verdict| verdict.confidence == Confidence::High)
    }
}

/// The sums of a recording.
pub fn of_source(rows: &[Row], source: usize) -> String {
    let of: Vec<&Row> = rows.iter().filter(|row| row.source == source).collect();
    let right = of.iter().filter(|row| row.is_right()).count();
    let unknown = of.iter().filter(|row| row.is_unknown()).count();
    let wrong = of.len() - right - unknown;
    format!("{right} right, {unknown} unknown, {wrong} wrong")
}

/// The findings of a trial that is not right: its verdicts and its signals.
pub fn why(row: &Row, trial: &Trial, models: &Models) -> String {
    let mut text = format!("== {} (repeat {})\n", trial.scenario, trial.repeat + 1);
    for verdict in trial.verdicts(models) {
        text += &format!("{}\n{}\n", phrase(&verdict), verdict_text(&verdict));
    }
    text + &format!("right: {:?}\n{:#?}\n", row.right, trial.signals())
}

/// Every limiter by construction, then every scenario that was not always right, then the sums and whether all promises are
/// kept.
pub fn table(rows: &[Row]) -> (String, bool) {
    let mut text = "| by construction | right | said else |\n|---|---|---|\n".to_owned();
    for (group, of) in grouped(rows, |row| row.scenario.group()) {
        text += &format!("| {group} | {} | {} |\n", count(&of), missed(&of));
    }
    for (name, of) in grouped(rows, |row| row.scenario.name) {
        if of.iter().any(|row| !row.is_right()) {
            text += &format!("{name}: {} right; {}\n", count(&of), missed(&of));
        }
    }
    let mut kept = true;
    for (is_variant, set) in [(false, "bounds set on"), (true, "kept apart")] {
        let of = rows.iter();
        let of: Vec<&Row> = of
            .filter(|row| row.scenario.is_variant == is_variant)
            .collect();
        if !of.is_empty() {
            kept &= sum(&mut text, set, &of);
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

fn count(rows: &[&Row]) -> String {
    let right = rows.iter().filter(|row| row.is_right()).count();
    format!("{right} of {}", rows.len())
}

/// The verdicts that were not right, and how often each was given.
fn missed(rows: &[&Row]) -> String {
    let mut said: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows.iter().filter(|row| !row.is_right()) {
        let verdicts: Vec<String> = row.verdicts.iter().map(phrase).collect();
        *said.entry(verdicts.join(" + ")).or_default() += 1;
    }
    let said = said.iter().map(|(said, count)| format!("{count} × {said}"));
    said.collect::<Vec<_>>().join(", ")
}

fn phrase(verdict: &Verdict) -> String {
    format!(
        "{} ({})",
        verdict.limiter().name(),
        verdict.confidence.name()
    )
}

fn sum(text: &mut String, set: &str, rows: &[&Row]) -> bool {
    let share = |is_so: &dyn Fn(&Row) -> bool| {
        rows.iter().filter(|row| is_so(row)).count() as f64 / rows.len() as f64
    };
    let right = share(&Row::is_right);
    let unknown = share(&Row::is_unknown);
    let sure = rows.iter().filter(|row| row.is_sure()).count();
    let high = share(&|row| {
        let mut verdicts = row.verdicts.iter();
        row.is_right() && verdicts.all(|verdict| verdict.confidence == Confidence::High)
    });
    let kept = right >= RIGHT && unknown <= UNKNOWN && sure == 0;
    let word = if kept { "kept" } else { "NOT KEPT" };
    let [right, least, unknown, most, high] =
        [right, RIGHT, unknown, UNKNOWN, high].map(|share| 100.0 * share);
    *text += &format!(
        "{set}: {} runs, right {right:.1} % (at least {least:.0} %), unknown {unknown:.1} % (at most {most:.0} %), wrong with high \
         confidence {sure}; right with high confidence {high:.1} %: {word}\n",
        rows.len()
    );
    kept
}
