//! What became of each case, a line of JSON each, and the table of all.

use std::path::Path;

use anyhow::{Context, Result};
use bitcost_stats::quantile;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::case::{Case, SECONDS};
use crate::programs::median;

/// The share of the cure's gain from which a remedy is useful.
const USEFUL: f64 = 0.8;
/// The least gain of a cure by which a remedy can be judged, as a logarithm.
const GAIN: f64 = 0.1;

#[derive(Default, Serialize, Deserialize)]
pub struct Row {
    #[serde(flatten)]
    pub case: Case,
    /// The words of the test; none where no test makes the case.
    pub test: String,
    /// Why there is no result.
    pub failed: String,
    /// What bitcost says, and after how many seconds, with experiments.
    pub verdict: Value,
    pub seconds: f64,
    /// The metric of JSON in which the case is slow, and its value in the test, in one with each remedy that was tried, and in one
    /// with the cure of the case.
    pub measured: String,
    pub before: Option<f64>,
    pub tried: Vec<(Value, Option<f64>)>,
    pub cured: Option<f64>,
    /// Words of a useful remedy where no end can apply the cure.
    pub cure_words: Vec<String>,
}

impl Row {
    fn text(&self, key: &str) -> &str {
        self.verdict[key].as_str().unwrap_or_default()
    }

    /// The value of what is measured in a document. A run in which all is lost is left out of it.
    pub fn figure(&self, document: &Value) -> Option<f64> {
        let is_lost = self.measured == "loss_pct" && !document["excluded"].is_null();
        let value = median(document, &self.measured).ok();
        value.or(is_lost.then_some(100.0))
    }

    /// Whether the verdict says what is accepted: one of its words or phrases begins a word of it. A test without a result may
    /// say why.
    fn judged(&self) -> &'static str {
        let plain = |text: &str| {
            let text = text.to_lowercase().replace(['_', '-', '(', ','], " ");
            // What cases call the one, bitcost calls the other.
            text.replace("packets per second", "packet rate")
        };
        let said = ["limiter", "words", "detail"].map(|key| self.text(key));
        let said = plain(&format!(" {} {}", said.join(" "), self.failed));
        let says = |words: &String| said.contains(&format!(" {}", plain(words)));
        match () {
            () if self.case.accepted.iter().any(says) => "right",
            () if self.case.half_right.iter().any(says) => "half",
            () => "wrong",
        }
    }

    fn is_more_better(&self) -> bool {
        self.measured.ends_with("mbps") || self.measured.ends_with("second")
    }

    /// The logarithm of a value ÷ that before, positive where it is better. Of a loss of nothing there is none.
    fn gain(&self, value: Option<f64>) -> Option<f64> {
        let gain = (value?.max(0.01) / self.before?.max(0.01)).ln();
        Some(if self.is_more_better() { gain } else { -gain })
    }

    /// The value with the part of the remedy that gains most, and its gain.
    fn best(&self) -> Option<(f64, f64)> {
        let tried = self.tried.iter();
        let gains = tried.filter_map(|(_, value)| Some(((*value)?, self.gain(*value)?)));
        gains.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Whether a value is most of what the cure brings: of a rate where there was none, most of that rate.
    fn reaches(&self, value: f64, gain: f64, cure: f64) -> bool {
        let came_from_none = self.before == Some(0.0) && self.is_more_better();
        match self.cured.filter(|_| came_from_none) {
            Some(cured) => value >= USEFUL * cured,
            None => gain >= USEFUL * cure,
        }
    }

    /// Whether a remedy brings most of what the cure brings, or says in words what no end can do; absent where the cure
    /// changes nothing here.
    pub fn is_useful(&self) -> Option<bool> {
        let cure = self.gain(self.cured).filter(|gain| *gain > GAIN)?;
        let remedies = self.verdict["remedies"].as_array();
        let words = remedies.into_iter().flatten().map(|one| &one["words"]);
        let mut said = words.filter_map(Value::as_str).map(str::to_lowercase);
        let names = said.any(|words| self.cure_words.iter().any(|word| words.contains(word)));
        let best = self.best();
        Some(names || best.is_some_and(|(value, gain)| self.reaches(value, gain, cure)))
    }

    /// What the experiments showed of the verdict: `proved`, `refuted`, `likely` and so on.
    fn proof(&self) -> &str {
        let outcome = self.verdict["proof"]["outcome"].as_str();
        outcome.unwrap_or("no experiment")
    }

    pub fn line(&self) -> String {
        let useful = match self.is_useful() {
            Some(true) => "useful",
            Some(false) => "no",
            None if self.case.is_control() => "healthy",
            None if self.measured.is_empty() => "not tried",
            None => "the cure has no effect",
        };
        let (limiter, confidence) = (self.text("limiter"), self.text("confidence"));
        let proof = self.proof();
        let (name, class, failed) = (&self.case.name, &self.case.class, &self.failed);
        let (judged, seconds, of) = (self.judged(), self.seconds, &self.measured);
        let figures = [self.before, self.best().map(|best| best.0), self.cured];
        let figure =
            |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.2}"));
        let figures = figures.map(figure).join(" | ");
        format!(
            "| {name} | {class} | {limiter} {failed} | {confidence} | {proof} | {judged} | {seconds:.1} | {of} | {figures} | {useful} |\n"
        )
    }
}

/// The table of a file of rows: of each case the last one, then the sums, and what no test makes.
pub fn table(file: &Path) -> Result<String> {
    let lines = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let mut rows: Vec<Row> = Vec::new();
    for line in lines.lines() {
        let row: Row = serde_json::from_str(line).with_context(|| file.display().to_string())?;
        rows.retain(|other| other.case.name != row.case.name);
        rows.push(row);
    }
    rows.sort_by(|a, b| a.case.name.cmp(&b.case.name));
    let (rows, others): (Vec<Row>, _) = rows.into_iter().partition(|row| !row.test.is_empty());
    let mut text =
        "| case | cause | verdict | confidence | experiments | it is | s | measured | before | remedy | cure | remedy is |\n\
        |---|---|---|---|---|---|--:|---|--:|--:|--:|---|\n"
            .to_owned();
    text.extend(rows.iter().map(Row::line));
    let (healthy, rows): (Vec<Row>, _) = rows.into_iter().partition(|row| row.case.is_control());
    let count = |rows: &[Row], word| rows.iter().filter(|row| row.judged() == word).count();
    let [right, half, wrong] = ["right", "half", "wrong"].map(|word| count(&rows, word));
    let useful: Vec<bool> = rows.iter().filter_map(Row::is_useful).collect();
    let (of, useful) = (useful.len(), useful.iter().filter(|is| **is).count());
    let (well, all) = (count(&healthy, "right"), healthy.len());
    let pct = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
    let is_false = |row: &&Row| row.judged() == "wrong" && row.text("confidence") == "proved";
    let proved = rows.iter().filter(is_false).count();
    let seconds = rows.iter().map(|row| row.seconds);
    let seconds: Vec<f64> = seconds.filter(|s| *s > 0.0).collect();
    let at = |share: f64| quantile(&seconds, share).unwrap_or(0.0);
    text += &format!(
        "\n{right} right ({:.0} %), {half} half, {wrong} wrong, of these {proved} proved; remedy useful in {useful} of {of} ({:.0} %); \
         {:.1} s in the median, {:.1} s in nine of ten, with the {} s of the test; healthy: {well} of {all} right\n",
        pct(right, rows.len()),
        pct(useful, of),
        at(0.5),
        at(0.9),
        SECONDS
    );
    let line = |row: Row| format!("no test makes {}: {}\n", row.case.name, row.failed);
    text.extend(others.into_iter().map(line));
    Ok(text)
}
