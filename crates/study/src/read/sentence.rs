//! Reading `[answer]` or `[[answer]]`: the sentences that answer a study's question.

use bitcost_model::conditions::Conditions;
use bitcost_model::harmless;
use bitcost_model::near::did_you_mean;
use bitcost_model::study::Cell;
use toml_edit::Value;

use super::check::levels;
use super::mistakes::Mistakes;
use crate::answer::{FIGURES_MOST, Place, SENTENCES_MOST, Sentence, Word};
use crate::check::Levels;
use crate::definition::{Compared, Factor, LeaveOut, NamedMetric};
use crate::error::StudyError;
use crate::keys::ANSWER as ANSWER_KEYS;
use crate::section::{Section, begin};

/// The section's name.
const ANSWER: &str = "answer";

/// The most characters of a sentence's words, which are about three lines of a terminal.
const WORDS_MOST: usize = 240;

/// What a sentence may refer to.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    pub factors: &'a [Factor],
    pub leave_out: &'a [LeaveOut],
    pub compare: Option<&'a Compared>,
}

/// The table, or each table of the list.
fn sections<'a>(top: &Section<'a>) -> Result<Vec<Section<'a>>, StudyError> {
    let is_list = |item: &toml_edit::Item| item.is_array_of_tables();
    let found = match top.table.get(ANSWER) {
        Some(item) if !is_list(item) => top.section(ANSWER)?.into_iter().collect(),
        _ => top.sections(ANSWER)?,
    };
    if found.len() > SENTENCES_MOST {
        let message = format!(
            "the answer has {} sentences; allowed: at most {SENTENCES_MOST}",
            found.len()
        );
        return Err(found[SENTENCES_MOST].error(message));
    }
    Ok(found)
}

/// Every sentence. One that says nothing of the factor of `--against` or `[compare]` is left out.
pub fn sentences(found: &mut Mistakes, top: &Section, known: Known) -> Vec<Sentence> {
    let sections = found.take(sections(top)).unwrap_or_default();
    let read = |section: &Section| found.take(sentence(section, known)).flatten();
    sections.iter().filter_map(read).collect()
}

/// Every metric that a sentence names.
pub fn named(top: &Section) -> Result<Vec<NamedMetric>, StudyError> {
    let mut found = Vec::new();
    for section in sections(top)? {
        let value = section.value("metric")?;
        let one = value.filter(|value| value.is_str());
        let list = value.and_then(Value::as_array).into_iter().flatten();
        found.extend(one.into_iter().chain(list).map(|value| NamedMetric {
            name: value.as_str().unwrap_or_default().to_owned(),
            offset: begin(value),
        }));
    }
    Ok(found)
}

/// One sentence; absent where it says nothing of the factor that is compared.
fn sentence(section: &Section, known: Known) -> Result<Option<Sentence>, StudyError> {
    section.only(&ANSWER_KEYS.names())?;
    let cell = |key: &str| match section.value(key)? {
        Some(value) => levels(section, key, value, known.factors).map(Some),
        None => Ok(None),
    };
    let of = cell("of")?;
    let of =
        of.ok_or_else(|| section.error("`of` is missing in [answer]: the levels of a cell"))?;
    let to = cell("to")?;
    let words = words(section, to.is_some())?;
    let metrics = metrics(section)?;
    for (key, levels) in [("of", Some(&of)), ("to", to.as_ref())] {
        let Some(levels) = levels else { continue };
        if !is_whole(section, key, levels, known)? {
            return Ok(None);
        }
    }
    if to.as_ref() == Some(&of) {
        return Err(section.error_at("to", "`of` and `to` are the same cell; allowed: two cells"));
    }
    Ok(Some(Sentence {
        metrics,
        of,
        to,
        words,
    }))
}

fn metrics(section: &Section) -> Result<Vec<String>, StudyError> {
    let names = |value: &Value| match value.as_str() {
        Some(name) => Some(vec![name.to_owned()]),
        None => {
            let names = value.as_array()?.iter();
            let names: Vec<String> = names
                .map(|name| name.as_str().map(str::to_owned))
                .collect::<Option<_>>()?;
            (!names.is_empty()).then_some(names)
        }
    };
    let allowed = "the name of a metric, or a list of those whose sum is meant";
    let found = section.typed("metric", allowed, names)?;
    found.ok_or_else(|| section.error("`metric` is missing in [answer]"))
}

/// Whether the levels are of one cell that is run; false where they lack the compared factor.
fn is_whole(
    section: &Section,
    key: &str,
    levels: &Levels,
    known: Known,
) -> Result<bool, StudyError> {
    let mut whole = levels.clone();
    for factor in known.factors {
        let is_named = levels.iter().any(|(name, _)| *name == factor.name);
        let is_compared = known.compare.is_some_and(|two| two.factor == factor.name);
        match &factor.levels[..] {
            _ if is_named => {}
            [only] => whole.push((factor.name.clone(), only.label.clone())),
            _ if is_compared => return Ok(false),
            all => {
                let labels: Vec<String> = all.iter().map(|level| level.label.to_string()).collect();
                let message = format!(
                    "`{key}` must be one cell, and names no level of the factor `{name}`; add `{name} = …` to it, with one of: {}",
                    labels.join(", "),
                    name = factor.name,
                );
                return Err(section.error_at(key, message));
            }
        }
    }
    let cell = Cell {
        levels: whole,
        conditions: Conditions::default(),
    };
    if known.leave_out.iter().any(|out| out.has(&cell)) {
        let message = format!("`{key}` is a cell that [[leave_out]] leaves out");
        return Err(section.error_at(key, message));
    }
    Ok(true)
}

/// The words with the places of figures.
fn words(section: &Section, is_compared: bool) -> Result<Vec<Word>, StudyError> {
    let text = harmless(&section.required_text("words")?);
    let fail = |message: String| Err(section.error_at("words", message));
    if text.chars().count() > WORDS_MOST {
        return fail(format!(
            "`words` has {} characters; allowed: {WORDS_MOST}",
            text.chars().count()
        ));
    }
    let mut words = Vec::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            return fail("`words` has a `{` without its `}`".to_owned());
        };
        let Some(place) = Place::named(name) else {
            let hint = did_you_mean(name, Place::NAMES);
            let all = Place::NAMES.map(|name| format!("{{{name}}}")).join(", ");
            return fail(format!(
                "unknown place `{{{name}}}` in `words`{hint}; allowed: {all}"
            ));
        };
        words.push(Word::Text(before.to_owned()));
        words.push(Word::Figure(place));
        rest = after;
    }
    words.push(Word::Text(rest.to_owned()));
    words.retain(|word| *word != Word::Text(String::new()));
    match wrong_figures(&words, is_compared) {
        Some(message) => fail(message),
        None => Ok(words),
    }
}

fn wrong_figures(words: &[Word], is_compared: bool) -> Option<String> {
    let figures: Vec<Place> = words
        .iter()
        .filter_map(|word| match word {
            Word::Figure(place) => Some(*place),
            Word::Text(_) => None,
        })
        .collect();
    let needs = |place: &&Place| !is_compared && **place != Place::Of;
    if let Some(place) = figures.iter().find(needs) {
        return Some(format!(
            "`{{{}}}` in `words` needs the cell `to`",
            place.name()
        ));
    }
    if figures.is_empty() || figures.len() > FIGURES_MOST {
        return Some(format!(
            "`words` has {} figures; allowed: 1 to {FIGURES_MOST}",
            figures.len()
        ));
    }
    (figures[0] == Place::Ratio).then(|| {
        "`{ratio}` is the first figure in `words`; allowed: after an absolute one, {of} or {to}"
            .to_owned()
    })
}
