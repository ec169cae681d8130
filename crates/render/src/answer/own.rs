//! The sentences in which a study itself answers its question, with the figures of its runs.

use bitcost_analysis::summary::{Answered, Summary};
use bitcost_stats::Interval;
use bitcost_study::{Place, Sentence, Word};

use crate::number;

/// The sentences whose cells have figures; absent where there are none.
pub(super) fn own(summary: &Summary) -> Option<String> {
    let sentences = summary.study.sentences.iter().zip(&summary.answers);
    let found: Vec<String> = sentences
        .filter_map(|(sentence, figures)| Some(text(sentence, (*figures)?)))
        .collect();
    (!found.is_empty()).then(|| found.join(" "))
}

fn text(sentence: &Sentence, figures: Answered) -> String {
    let plain = |value: Option<f64>| value.map(number::plain).unwrap_or_default();
    let word = |word: &Word| match word {
        Word::Text(text) => text.clone(),
        Word::Figure(Place::Of) => plain(Some(figures.of)),
        Word::Figure(Place::To) => plain(figures.to),
        Word::Figure(Place::Ratio) => ratio(figures.ratio),
    };
    sentence.words.iter().map(word).collect()
}

/// `×4.4 (4.1 to 4.7)`.
fn ratio(found: Option<Interval>) -> String {
    let Some(Interval { value, low, high }) = found else {
        return "(no ratio: the other figure is 0)".to_owned();
    };
    let value = number::plain(value);
    let Some((low, high)) = low.zip(high) else {
        return format!("×{value} (one run each: no interval)");
    };
    let bounds = format!("{} to {}", number::plain(low), number::plain(high));
    let remark = match low <= 1.0 && high >= 1.0 {
        true => ": no measurable difference",
        false => "",
    };
    format!("×{value} ({}{remark})", bounds.replace(' ', "\u{a0}"))
}
