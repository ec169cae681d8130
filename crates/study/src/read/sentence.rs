//! Reading `[answer]` or `[[answer]]`: the sentences that answer a study's question.

use bitcost_model::conditions::Conditions;
use bitcost_model::harmless;
use bitcost_model::near::near_or_all;
use bitcost_model::study::Cell;

use crate::answer::{FIGURES_MOST, Place, SENTENCES_MOST, Sentence, Word};
use crate::check::Levels;
use crate::definition::Study;
use crate::tables::AnswerTable;
use crate::toml::Node;

/// The most characters of a sentence's words, which are about three lines of a terminal.
const WORDS_MOST: usize = 240;

/// Every sentence. One that says nothing of the factor of `--against` or `[compare]` is left out.
pub fn sentences(top: &Node, study: &Study) -> Vec<Sentence> {
    let Some(answer) = top.get("answer") else {
        return Vec::new();
    };
    let nodes = match answer.is_list() {
        true => answer.elements(),
        false => vec![answer],
    };
    if let Some(over) = nodes.get(SENTENCES_MOST) {
        let count = nodes.len();
        over.error::<()>(format!(
            "the answer has {count} sentences; allowed: at most {SENTENCES_MOST}"
        ));
    }
    let read = |node: &Node| sentence(node, study).flatten();
    nodes.iter().filter_map(read).collect()
}

/// One sentence; `Some(None)` where it says nothing of the factor that is compared.
fn sentence(node: &Node, study: &Study) -> Option<Option<Sentence>> {
    let table: AnswerTable = node.read()?;
    let words = words(&node.at("words"), &table.words, table.to.is_some())?;
    let metrics: Vec<String> = table.metric.0.into_iter().map(|metric| metric.0).collect();
    if metrics.is_empty() {
        let allowed = "the name of a metric, or a list of those whose sum is meant";
        return node.at("metric").not_allowed(allowed);
    }
    let (of, to) = (table.of.levels(), table.to.map(|to| to.levels()));
    for (key, levels) in [("of", Some(&of)), ("to", to.as_ref())] {
        let Some(levels) = levels else { continue };
        if !is_whole(&node.at(key), levels, study)? {
            return Some(None);
        }
    }
    if to.as_ref() == Some(&of) {
        let place = node.at("to");
        return place.error("`of` and `to` are the same cell; allowed: two cells");
    }
    Some(Some(Sentence {
        metrics,
        of,
        to,
        words,
    }))
}

/// Whether the levels are of one cell that is run; false where they lack the compared factor.
fn is_whole(node: &Node, levels: &Levels, study: &Study) -> Option<bool> {
    let (mut whole, key) = (levels.clone(), node.key);
    for factor in &study.factors {
        let is_named = levels.iter().any(|(name, _)| *name == factor.name);
        let is_compared = study
            .compare
            .as_ref()
            .is_some_and(|two| two.factor == factor.name);
        match &factor.levels[..] {
            _ if is_named => {}
            [only] => whole.push((factor.name.clone(), only.label.clone())),
            _ if is_compared => return Some(false),
            all => {
                let labels: Vec<String> = all.iter().map(|level| level.label.to_string()).collect();
                return node.error(format!(
                    "`{key}` must be one cell, and names no level of the factor `{name}`; add `{name} = …` to it, with one of: {}",
                    labels.join(", "),
                    name = factor.name,
                ));
            }
        }
    }
    let cell = Cell {
        levels: whole,
        conditions: Conditions::default(),
    };
    if study.leave_out.iter().any(|out| out.has(&cell)) {
        return node.error(format!("`{key}` is a cell that [[leave_out]] leaves out"));
    }
    Some(true)
}

/// The words with the places of figures.
fn words(node: &Node, text: &str, is_compared: bool) -> Option<Vec<Word>> {
    let text = harmless(text);
    let count = text.chars().count();
    if count > WORDS_MOST {
        return node.error(format!(
            "`words` has {count} characters; allowed: {WORDS_MOST}"
        ));
    }
    let mut words = Vec::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            return node.error("`words` has a `{` without its `}`");
        };
        let Some(place) = Place::named(name) else {
            let rest = near_or_all(name, &Place::NAMES);
            return node.error(format!("unknown place `{{{name}}}` in `words`{rest}"));
        };
        words.push(Word::Text(before.to_owned()));
        words.push(Word::Place(place));
        rest = after;
    }
    words.push(Word::Text(rest.to_owned()));
    words.retain(|word| *word != Word::Text(String::new()));
    match wrong_figures(&words, is_compared) {
        Some(message) => node.error(message),
        None => Some(words),
    }
}

fn wrong_figures(words: &[Word], is_compared: bool) -> Option<String> {
    let figures: Vec<Place> = words
        .iter()
        .filter_map(|word| match word {
            Word::Place(Place::Bottleneck) | Word::Text(_) => None,
            Word::Place(place) => Some(*place),
        })
        .collect();
    let needs = |place: &&Place| !is_compared && **place != Place::Of;
    if let Some(place) = figures.iter().find(needs) {
        let name = place.name();
        return Some(format!("`{{{name}}}` in `words` needs the cell `to`"));
    }
    let count = figures.len();
    if figures.is_empty() || count > FIGURES_MOST {
        return Some(format!(
            "`words` has {count} figures; allowed: 1 to {FIGURES_MOST}"
        ));
    }
    (figures[0] == Place::Ratio).then(|| {
        "`{ratio}` is the first figure in `words`; allowed: after an absolute one, {of} or {to}"
            .to_owned()
    })
}
