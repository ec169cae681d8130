//! The sentences in which a study itself answers its question, with the figures of its runs.

use bitcost_analysis::cells::{COVERED_FROM, has};
use bitcost_analysis::metrics::metric;
use bitcost_analysis::statistics::Interval;
use bitcost_analysis::summary::{Answered, Summary};
use bitcost_study::check::Levels;
use bitcost_study::{Place, Sentence, Word};

use super::words::named_levels;
use crate::notes::why_missing;
use crate::number;

/// The study's sentences: with their figures, or with the reason why these are not known; absent
/// where the study has none, and where no run can be used. Returns also these reasons.
pub(super) fn own(summary: &Summary) -> Option<(String, Vec<String>)> {
    let mut last: Option<Why> = None;
    let mut reasons = Vec::new();
    let sentences = summary.study.sentences.iter().zip(&summary.answers);
    let found: Vec<String> = sentences
        .map(|(sentence, figures)| match figures {
            Some(figures) => text(sentence, *figures),
            None => {
                let (subject, why) = (subject(sentence), why_not(summary, sentence));
                if last.as_ref().is_some_and(|last| last.is_like(&why)) {
                    return format!("{subject}: not known either.");
                }
                let words = format!("{subject}: not known, because {}.", why.words);
                reasons.push(why.words.clone());
                last = Some(why);
                words
            }
        })
        .collect();
    let is_used = summary.cells.iter().any(|cell| cell.runs > 0);
    (is_used && !found.is_empty()).then(|| (found.join(" "), reasons))
}

/// The words before the first figure; where there are none, the metric and its cell.
fn subject(sentence: &Sentence) -> String {
    let is_text = |word: &&Word| matches!(word, Word::Text(_));
    let text = |word: &Word| match word {
        Word::Text(text) => text.clone(),
        Word::Figure(_) => String::new(),
    };
    let words: String = sentence
        .words
        .iter()
        .take_while(is_text)
        .map(text)
        .collect();
    let words = words.trim().trim_end_matches([':', '×', ',']).trim_end();
    if !words.is_empty() {
        return words.to_owned();
    }
    let names = sentence.metrics.iter().filter_map(|name| metric(name));
    let titles: Vec<&str> = names.map(|metric| metric.title).collect();
    format!(
        "{} with {}",
        titles.join(" and "),
        named_levels(&sentence.of)
    )
}

/// Why a sentence has no figures.
struct Why {
    words: String,
    /// Whether CPU time was not attributed to an endpoint.
    is_of_cpu_time: bool,
}

impl Why {
    fn is_like(&self, other: &Why) -> bool {
        self.words == other.words || (self.is_of_cpu_time && other.is_of_cpu_time)
    }
}

/// What the first of a sentence's cells that lacks a figure says.
fn why_not(summary: &Summary, sentence: &Sentence) -> Why {
    let sides = std::iter::once(&sentence.of).chain(&sentence.to);
    let lacking = |levels: &Levels| {
        let cell = summary
            .cells
            .iter()
            .find(|cell| has(&cell.levels, levels))?;
        let mut names = sentence.metrics.iter();
        let name = names.find(|name| cell.figure(name).is_none())?;
        let is_attributed = metric(name).is_some_and(|metric| metric.attributed);
        let reason = cell.unattributed.first().filter(|_| is_attributed);
        Some(Why {
            words: reason.map_or_else(|| why_missing(cell, name), |(reason, _)| reason.clone()),
            is_of_cpu_time: reason.is_some(),
        })
    };
    let why = sides.filter_map(lacking).next();
    why.unwrap_or_else(|| Why {
        words: "one of its cells has no usable run".to_owned(),
        is_of_cpu_time: false,
    })
}

fn text(sentence: &Sentence, figures: Answered) -> String {
    let plain = |value: Option<f64>| value.map(number::plain).unwrap_or_default();
    let word = |word: &Word| match word {
        Word::Text(text) => text.clone(),
        Word::Figure(Place::Of) => plain(Some(figures.of)),
        Word::Figure(Place::To) => plain(figures.to),
        Word::Figure(Place::Ratio) => times(figures.ratio),
    };
    let words: String = sentence.words.iter().map(word).collect();
    let has_ratio = sentence.words.contains(&Word::Figure(Place::Ratio));
    if !has_ratio {
        return words;
    }
    let bounds = bounds(figures.ratio, figures.runs);
    match words.strip_suffix('.') {
        Some(words) => format!("{words} {bounds}."),
        None => format!("{words} {bounds}"),
    }
}

/// `4.4 times`.
fn times(found: Option<Interval>) -> String {
    match found {
        Some(ratio) => format!("{} times", number::known(&ratio)).replace(' ', "\u{a0}"),
        None => "an unknown number of times".to_owned(),
    }
}

/// `[4.1, 4.7]` at the end of the sentence, or why there is none.
fn bounds(found: Option<Interval>, runs: usize) -> String {
    let Some(ratio) = found else {
        return "(no ratio: the other figure is 0)".to_owned();
    };
    let Some((low, high)) = ratio.low.zip(ratio.high) else {
        return "(one run each: no interval)".to_owned();
    };
    let remark = match low <= 1.0 && high >= 1.0 {
        true if runs < COVERED_FROM => format!(" in {runs} runs: too few to tell"),
        true => ": no measurable difference".to_owned(),
        false if runs < COVERED_FROM => format!(" in {runs} runs"),
        false => String::new(),
    };
    format!("{}{remark}", number::known_bounds(&ratio)).replace(", ", ",\u{a0}")
}
