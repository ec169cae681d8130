//! All mistakes of a study file at once, where reading it stops at the first.
//!
//! Each part is read alone, so that a mistake in one hides none in another. A factor with a mistake
//! keeps its name and the labels of its levels, so that what refers to them is not refused for it.

use bitcost_model::conditions::Conditions;
use bitcost_model::study::Label;
use toml_edit::{Document, Value};

use super::answer::answer;
use super::check::{check, claim, leave_out};
use super::compared::compared;
use super::lengths::lengths;
use super::names::label;
use super::picture::pictures;
use super::possible::{Cells, fits};
use super::sentence::{self, Known};
use super::until::until;
use super::{SETTINGS_FACTOR, expect, improvement, lab, levels, named_metrics, table};
use crate::definition::{Factor, Level, Study, unknown_metric};
use crate::error::StudyError;
use crate::keys::{FACTOR, LAB, STUDY};
use crate::section::{Section, Source};
use crate::settings;

/// What was found so far.
#[derive(Default)]
struct Found(Vec<StudyError>);

impl Found {
    /// The value that was read; a mistake is kept.
    fn take<T>(&mut self, read: Result<T, StudyError>) -> Option<T> {
        read.map_err(|mistake| self.0.push(mistake)).ok()
    }
}

impl Study {
    /// The mistakes of a study file, in the order of their lines; none where it can be read. `metrics`
    /// are the names of all metrics; `lab_text` is the text of the lab file that it names.
    pub fn mistakes(
        file: &str,
        text: &str,
        lab_text: Option<&str>,
        metrics: &[&str],
    ) -> Vec<StudyError> {
        let source = Source { file, text };
        let mut found = Found::default();
        match Document::parse(text) {
            Ok(document) => {
                let top = Section::top(source, &document);
                parts(&mut found, &top, lab_text, metrics);
            }
            Err(error) => found.0.push(source.error(
                error.span(),
                format!("not TOML: {}", error.message().trim()),
            )),
        }
        let mut all = found.0;
        all.sort_by(|a, b| (a.line, a.column, &a.message).cmp(&(b.line, b.column, &b.message)));
        all.dedup();
        all
    }
}

fn parts(found: &mut Found, top: &Section, lab_text: Option<&str>, metrics: &[&str]) {
    found.0.extend(top.unknown(&STUDY.names()));
    let all_keys_are_known = found.0.is_empty();
    let base = base(found, top);
    let factors = each_factor(found, top, &base);
    if let Some(section) = found.take(top.section("lab")).flatten() {
        found.0.extend(section.unknown(&LAB.names()));
    }
    let lab = found.take(lab::read_known(top, lab_text));
    if let Some(lab) = &lab {
        found.take(super::mesh::mesh(top, lab));
    }
    // Cells are judged where all that makes them is right.
    if let (true, Some(lab)) = (found.0.is_empty(), lab)
        && let Some(left_out) = found.take(leave_out(top, &factors))
    {
        let cells = Cells {
            top,
            base: &base,
            factors: &factors,
            leave_out: &left_out,
            fits: &|cell| fits(cell, &lab),
        };
        found.0.extend(cells.check());
    }
    for key in ["title", "question"] {
        // One of the keys that are not known may be meant for one that is missing.
        if all_keys_are_known || top.table.contains_key(key) {
            found.take(top.required_text(key));
        }
    }
    if let Some(lengths) = found.take(lengths(top)) {
        found.take(until(top, &lengths));
    }
    found.take(answer(top));
    if factors.iter().all(|factor| !factor.levels.is_empty()) {
        what_names_levels(found, top, &factors);
    }
    let named = found.take(named_metrics(top, &factors)).unwrap_or_default();
    let unknown = named
        .iter()
        .filter(|named| !metrics.contains(&named.name.as_str()));
    found
        .0
        .extend(unknown.map(|named| unknown_metric(top.source, named, metrics)));
}

fn what_names_levels(found: &mut Found, top: &Section, factors: &[Factor]) {
    let leave_out = found.take(leave_out(top, factors)).unwrap_or_default();
    found.take(table(top, factors));
    if let Some(section) = found.take(top.section("table")).flatten() {
        found.take(improvement(&section, factors));
    }
    let compare = found.take(compared(top, factors)).flatten();
    let known = Known {
        factors,
        leave_out: &leave_out,
        compare: compare.as_ref(),
    };
    for section in found.take(sentence::sections(top)).unwrap_or_default() {
        found.take(sentence::sentence(&section, known));
    }
    found.take(pictures(top, factors));
    found.take(expect(top, factors));
    for section in found.take(top.sections("check")).unwrap_or_default() {
        found.take(check(&section, factors));
        for one in found.take(section.sections("claim")).unwrap_or_default() {
            found.take(claim(&one, factors));
        }
    }
}

/// The settings of `[workload]`, without those that are wrong.
fn base(found: &mut Found, top: &Section) -> Conditions {
    let mut conditions = Conditions::default();
    let Some(section) = found.take(top.section("workload")).flatten() else {
        return conditions;
    };
    for (key, item) in section.table.iter() {
        let tables = item
            .as_array_of_tables()
            .map(|tables| Value::Array(tables.clone().into_array()));
        let value = match &tables {
            Some(tables) => Some(tables),
            None => found.take(section.value(key)).flatten(),
        };
        if let Some(value) = value {
            let set = settings::set(&mut conditions, key, value);
            found.take(set.map_err(|message| section.error_at(key, message)));
        }
    }
    conditions
}

/// Every factor, one with a mistake by its name and labels alone.
fn each_factor(found: &mut Found, top: &Section, base: &Conditions) -> Vec<Factor> {
    let before = found.0.len();
    let mut all = Vec::new();
    for section in found.take(top.sections("factor")).unwrap_or_default() {
        found.0.extend(section.unknown(&FACTOR.names()));
        let Some(name) = found.take(section.required_text("name")) else {
            continue;
        };
        let levels = found.take(levels(&section, &name, base));
        let levels = levels.unwrap_or_else(|| labels(&section));
        all.push(Factor { name, levels });
    }
    if found.0.len() == before
        && let Some(read) = found.take(super::factors(top, base))
    {
        return read;
    }
    if all.is_empty() {
        all.push(Factor {
            name: SETTINGS_FACTOR.to_owned(),
            levels: Vec::new(),
        });
    }
    all
}

/// The labels of a factor's levels, as far as they can be read.
fn labels(section: &Section) -> Vec<Level> {
    let array = section
        .table
        .get("levels")
        .and_then(|levels| levels.as_array());
    let label = |value: &Value| -> Option<Label> {
        match value {
            Value::InlineTable(table) => table.get("label").and_then(label),
            value => label(value),
        }
    };
    let labels = array.into_iter().flatten().filter_map(label);
    labels
        .map(|label| Level {
            label,
            settings: Vec::new(),
            about: None,
            offset: 0,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str = include_str!("../../../../studies/not-all-mbits.toml");

    const METRICS: [&str; 3] = [
        "throughput_mbps",
        "send_service_demand_us_per_kib",
        "receive_service_demand_us_per_kib",
    ];

    /// Changes in the study, each with a part of the sentence that it must cause.
    const PLANTED: [[&str; 3]; 12] = [
        [
            "title = \"",
            "titel = \"",
            "unknown key `titel`; did you mean `title`?",
        ],
        [
            "\ntopology = \"wire\"",
            "\ntopology = \"wir\"",
            "unknown topology `wir`",
        ],
        [
            "\nmtu_bytes = 8896",
            "\nmtu_byte = 8896",
            "unknown key `mtu_byte` in [lab]",
        ],
        ["warmup_s = 0.25", "warmup_s = \"soon\"", "`warmup_s`"],
        [
            "duration_s = 2\n",
            "duraton_s = 2\n",
            "unknown setting `duraton_s`; did you mean `duration_s`",
        ],
        [
            "mss = \"message\", offloads = \"on\"",
            "mss = \"mesage\", offloads = \"on\"",
            "`mss`",
        ],
        ["blocks = 5\n", "blocks = 0\n", "`blocks` is 0"],
        [
            "rows = \"message_size_bytes\"",
            "rows = \"message_size\"",
            "unknown factor `message_size`",
        ],
        [
            "from = 1024, to = 8192",
            "from = 1024, to = 8193",
            "unknown level `8193`",
        ],
        [
            "between = [1, 8]",
            "betwen = [1, 8]",
            "unknown key `betwen`",
        ],
        ["\nat_least = 1.5", "\nat_least = \"much\"", "`at_least`"],
        [
            "throughput_mbps = 4805",
            "troughput_mbps = 4805",
            "unknown metric `troughput_mbps`",
        ],
    ];

    #[test]
    fn a_study_without_a_mistake_has_none() {
        let all = Study::mistakes("s.toml", STUDY, None, &METRICS);
        assert!(all.is_empty(), "{all:#?}");
    }

    #[test]
    fn each_planted_mistake_is_found_alone_and_all_are_found_together() {
        let mut all_planted = STUDY.to_owned();
        for [right, wrong, _] in PLANTED {
            assert!(all_planted.contains(right), "{right}");
            all_planted = all_planted.replacen(right, wrong, 1);
        }
        let together = Study::mistakes("s.toml", &all_planted, None, &METRICS);
        for [right, wrong, sentence] in PLANTED {
            let alone = Study::mistakes("s.toml", &STUDY.replacen(right, wrong, 1), None, &METRICS);
            let of_it = |found: &[StudyError]| {
                found
                    .iter()
                    .filter(|mistake| mistake.message.contains(sentence))
                    .count()
            };
            assert_eq!(of_it(&alone), 1, "{wrong}: {alone:#?}");
            assert_eq!(of_it(&together), 1, "{wrong}: {together:#?}");
        }
        // The title is missing as well, since its key is another word.
        assert!(together.len() <= PLANTED.len() + 3, "{together:#?}");
        assert!(together.is_sorted_by_key(|mistake| mistake.line));
    }
}
