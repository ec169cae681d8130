//! Reading `answer` of `[report]`: the metrics that a study's question is about.

use toml_edit::Value;

use crate::definition::NamedMetric;
use crate::error::StudyError;
use crate::section::{Section, begin};

/// Most metrics of an answer: it has a sentence about the first, one about the others, and one
/// about the confidence.
const MOST: usize = 3;

/// The metrics in the order of the study, each with its place; empty where the study names none.
pub fn answer(top: &Section) -> Result<Vec<NamedMetric>, StudyError> {
    let Some(section) = top.section("report")? else {
        return Ok(Vec::new());
    };
    let names = |value: &Value| {
        let list = value.as_array()?;
        let named = |value: &Value| {
            let offset = begin(value);
            value.as_str().map(|name| NamedMetric {
                name: name.to_owned(),
                offset,
            })
        };
        let found = list.iter().map(named).collect::<Option<Vec<_>>>()?;
        let is_new = |place: usize| {
            found[..place]
                .iter()
                .all(|known| known.name != found[place].name)
        };
        ((1..=MOST).contains(&found.len()) && (0..found.len()).all(is_new)).then_some(found)
    };
    let allowed = "a list of one to three metric names, each once";
    Ok(section.typed("answer", allowed, names)?.unwrap_or_default())
}
