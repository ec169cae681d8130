//! From a study file's text to a [`Study`], with the place of each error.

mod answer;
mod check;
mod compared;
mod lab;
mod lengths;
mod mesh;
mod mistakes;
mod names;
mod picture;
mod possible;
mod sentence;
mod until;
mod workload;

use std::collections::HashSet;

use bitcost_model::Invalid;
use bitcost_model::conditions::Conditions;
use bitcost_model::harmless;
use bitcost_model::study::{Cell, Label};
use toml_edit::{Document, Item, Value};

use crate::answer::Sentence;
use crate::check::Check;
use crate::definition::{
    Compared, Expect, ExpectedCell, Factor, Improvement, LeaveOut, Level, NamedMetric, Study,
    TableSpec, unknown_metric,
};
use crate::error::StudyError;
use crate::keys::{EXPECT, FACTOR, Form, IMPROVEMENT, STUDY, TABLE};
use crate::picture::Picture;
use crate::section::{Section, Source, begin, shown};
use crate::settings;
use crate::topology::is_file;
use answer::answer;
use check::{checks, leave_out, named};
use compared::compared;
use lab::lab;
use lengths::lengths;
use mistakes::Mistakes;
use names::{known_factor, known_level, label, two_levels};
use picture::pictures;
use possible::{Cells, fits};
use sentence::{Known, sentences};
use until::until;
use workload::workload;

impl Study {
    /// Reads a study that names no lab file. `file` is the name that errors use.
    ///
    /// # Errors
    /// The first error, with its place.
    pub fn parse(file: &str, text: &str) -> Result<Study, StudyError> {
        Study::parse_with(file, text, None)
    }

    /// As [`Study::parse`]; `lab_text` is the text of the lab file that the study names.
    ///
    /// # Errors
    /// As [`Study::parse`]; an error in the lab file has its place there.
    pub fn parse_with(file: &str, text: &str, lab_text: Option<&str>) -> Result<Study, StudyError> {
        let read = Study::read(file, text, lab_text, None);
        read.map_err(|mistakes| mistakes[0].clone())
    }

    /// As [`Study::parse_with`]. `metrics` are the names of all metrics; where they are absent, any name is one.
    ///
    /// # Errors
    /// All mistakes, in the order of their lines.
    pub fn read(
        file: &str,
        text: &str,
        lab_text: Option<&str>,
        metrics: Option<&[&str]>,
    ) -> Result<Study, Vec<StudyError>> {
        let source = Source { file, text };
        let mut found = Mistakes::default();
        let document = Document::parse(text)
            .map_err(|e| source.error(e.span(), format!("not TOML: {}", e.message().trim())));
        let study = found.take(document).and_then(|document| {
            let top = Section::top(source, &document);
            study(&mut found, &top, lab_text, metrics)
        });
        let mistakes = found.all();
        study.filter(|_| mistakes.is_empty()).ok_or(mistakes)
    }

    /// An error for each place without which all cells would be possible. `fits` gives the reason
    /// for which a cell is not.
    pub fn impossible(&self, fits: &dyn Fn(&Cell) -> Result<(), Invalid>) -> Vec<StudyError> {
        // The text was read before.
        let Ok(document) = Document::parse(self.text.as_str()) else {
            return Vec::new();
        };
        let source = Source {
            file: &self.file,
            text: &self.text,
        };
        let top = Section::top(source, &document);
        let cells = Cells {
            top: &top,
            base: &self.base,
            factors: self.own_factors(),
            leave_out: &self.leave_out,
            fits,
        };
        cells.check()
    }

    /// The lab file that the text of a study names; absent where it names none, or is no TOML.
    pub fn lab_file(text: &str) -> Option<String> {
        let document = Document::parse(text).ok()?;
        let topology = document.get("lab")?.get("topology")?.as_str()?;
        is_file(topology).then(|| topology.to_owned())
    }

    /// An error about the lab file that a study names, at the place where it is named.
    pub fn lab_error(file: &str, text: &str, message: &str) -> StudyError {
        let document = Document::parse(text).ok();
        let item = document
            .as_ref()
            .and_then(|all| all.get("lab")?.get("topology"));
        Source { file, text }.error(item.and_then(Item::span), message)
    }
}

fn study(
    found: &mut Mistakes,
    top: &Section,
    lab_text: Option<&str>,
    metrics: Option<&[&str]>,
) -> Option<Study> {
    found.extend(top.unknown(&STUDY.names()));
    let all_keys_are_known = found.is_empty();
    let base = workload(found, top, None);
    let mut factors = factors(found, top, &base);
    let names_levels = factors.iter().all(|factor| !factor.levels.is_empty());
    let leave_out = names_levels.then(|| found.take(leave_out(top, &factors)));
    let leave_out = leave_out.flatten().unwrap_or_default();
    let lab = lab(found, top, lab_text);
    // Cells are judged where all that makes them is right.
    if let Some(lab) = lab.as_ref().filter(|_| found.is_empty()) {
        let cells = Cells {
            top,
            base: &base,
            factors: &factors,
            leave_out: &leave_out,
            fits: &|cell| fits(cell, lab),
        };
        found.extend(cells.check());
    }
    // One of the keys that are not known may be meant for one that is missing.
    let is_asked = |key: &&str| all_keys_are_known || top.table.contains_key(key);
    let [title, question] = ["title", "question"]
        .map(|key| Some(key).filter(is_asked))
        .map(|key| found.take(top.required_text(key?)));
    let lengths = found.take(lengths(top));
    let until = lengths.as_ref().map(|lengths| until(top, lengths));
    let until = until.and_then(|until| found.take(until)).flatten();
    let mesh = lab.as_ref().map(|lab| mesh::mesh(top, lab));
    let mesh = mesh.and_then(|mesh| found.take(mesh)).flatten();
    let mut blocks = lengths.as_ref().map(|lengths| lengths.blocks);
    if let (Some(mesh), Some(lengths)) = (&mesh, &lengths) {
        let fits = mesh::fits(top, &factors, until.is_some(), lengths.is_profiled);
        found.take(fits);
        blocks = found.take(mesh::blocks(top, lengths.blocks));
        factors.retain(|factor| factor.name != SETTINGS_FACTOR);
        factors.splice(0..0, mesh::factors(mesh));
    }
    check_metrics(found, top, &factors, metrics);
    let shown = names_levels.then(|| Shown::of(found, top, &factors, &leave_out))?;
    let (lab, lengths) = (lab?, lengths?);
    let mut study = Study {
        name: stem(top.source.file).to_owned(),
        file: top.source.file.to_owned(),
        text: top.source.text.to_owned(),
        lab_text: lab_text.map(str::to_owned),
        title: harmless(&title?),
        question: harmless(&question?),
        lab,
        base,
        mesh,
        leave_out,
        blocks: blocks?,
        until,
        is_profiled: lengths.is_profiled,
        like_the_document: lengths.document,
        ci: lengths.short,
        table: shown.table?,
        compare: shown.compare,
        answer: shown.answer,
        sentences: shown.sentences,
        pictures: shown.pictures,
        expect: shown.expect,
        checks: shown.checks,
        factors,
    };
    study.set_budget();
    Some(study)
}

/// Every metric that is named must be one of these.
fn check_metrics(
    found: &mut Mistakes,
    top: &Section,
    factors: &[Factor],
    metrics: Option<&[&str]>,
) {
    let named = found.take(named_metrics(top, factors)).unwrap_or_default();
    let unknown = |named: &NamedMetric| unknown_metric(top.source, named, metrics?);
    found.extend(named.iter().filter_map(unknown));
}

/// What of a study names factors and levels.
struct Shown {
    table: Option<TableSpec>,
    compare: Option<Compared>,
    answer: Vec<String>,
    sentences: Vec<Sentence>,
    pictures: Option<Vec<Picture>>,
    expect: Option<Expect>,
    checks: Vec<Check>,
}

impl Shown {
    fn of(
        found: &mut Mistakes,
        top: &Section,
        factors: &[Factor],
        leave_out: &[LeaveOut],
    ) -> Shown {
        if let Some(section) = found.take(top.section("table")).flatten() {
            found.take(improvement(&section, factors));
        }
        let compare = found.take(compared(top, factors)).flatten();
        let known = Known {
            factors,
            leave_out,
            compare: compare.as_ref(),
        };
        let answer = found.take(answer(top)).unwrap_or_default();
        Shown {
            table: found.take(table(top, factors)),
            answer: answer.into_iter().map(|metric| metric.name).collect(),
            sentences: sentences(found, top, known),
            pictures: found.take(pictures(top, factors)).flatten(),
            expect: found.take(expect(top, factors)).flatten(),
            checks: checks(found, top, factors),
            compare,
        }
    }
}

fn stem(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.strip_suffix(".toml").unwrap_or(name)
}

/// The factor of a study that varies nothing; its only level makes one cell, which can be compared
/// with another setting or program.
const SETTINGS_FACTOR: &str = "settings";
const AS_GIVEN: &str = "as given";

/// Most combinations of levels: an import of this number of runs, each from a separate file, can
/// still be read.
const CELLS_MOST: u64 = 200_000;

/// Refuses too many combinations of levels before any of them is made.
fn check_count(top: &Section) -> Result<(), StudyError> {
    let mut cells: u64 = 1;
    for section in top.sections("factor")? {
        let levels = section
            .value("levels")?
            .and_then(Value::as_array)
            .map_or(1, |array| array.len().max(1));
        cells = cells.saturating_mul(levels as u64);
    }
    if cells <= CELLS_MOST {
        return Ok(());
    }
    let at_least = if cells == u64::MAX { "at least " } else { "" };
    let message = format!(
        "the factors have {at_least}{cells} combinations of levels; allowed: at most {CELLS_MOST}; vary less in one study"
    );
    Err(top.error_at("factor", message))
}

/// Every factor. One with a mistake keeps its name and the labels of its levels, so that what refers to them is not
/// refused for it.
fn factors(found: &mut Mistakes, top: &Section, base: &Conditions) -> Vec<Factor> {
    let mut factors: Vec<Factor> = Vec::new();
    let counted = found.take(check_count(top));
    let sections = counted.and_then(|()| found.take(top.sections("factor")));
    let is_right = sections.is_some();
    for section in sections.iter().flatten() {
        found.extend(section.unknown(&FACTOR.names()));
        let Some(name) = found.take(section.required_text("name")) else {
            continue;
        };
        if factors.iter().any(|factor| factor.name == name) {
            let message = format!("factor `{name}` appears twice; allowed: each name once");
            found.extend([section.error_at("name", message)]);
        }
        let levels = found.take(levels(section, &name, base));
        let levels = levels.unwrap_or_else(|| labels(section));
        found.take(set_once(section.source, &factors, &name, &levels));
        factors.push(Factor { name, levels });
    }
    if factors.is_empty() {
        let level = Level::named(Label::Text(AS_GIVEN.to_owned()));
        factors.push(Factor {
            name: SETTINGS_FACTOR.to_owned(),
            levels: match is_right && top.table.get("factor").is_none() {
                true => vec![level],
                false => Vec::new(),
            },
        });
    }
    factors
}

/// The labels of a factor's levels, as far as they can be read.
fn labels(section: &Section) -> Vec<Level> {
    let levels = section.table.get("levels");
    let array = levels.and_then(|levels| levels.as_array());
    let of = |value: &Value| match value {
        Value::InlineTable(table) => table.get("label").and_then(label),
        value => label(value),
    };
    let labels = array.into_iter().flatten().filter_map(of);
    labels.map(Level::named).collect()
}

/// Two factors must not set the same setting, because one of them would have no effect.
fn set_once(
    source: Source,
    before: &[Factor],
    name: &str,
    levels: &[Level],
) -> Result<(), StudyError> {
    for level in levels {
        for (setting, _) in &level.settings {
            let sets = |factor: &&Factor| {
                factor
                    .levels
                    .iter()
                    .flat_map(|l| &l.settings)
                    .any(|(known, _)| known == setting)
            };
            if let Some(other) = before.iter().find(sets) {
                let message = format!(
                    "level `{}` of factor `{name}` sets `{setting}`, which factor `{}` sets too; allowed: each setting in one factor",
                    level.label, other.name
                );
                return Err(source.error_at(level.offset, message));
            }
        }
    }
    Ok(())
}

fn levels(section: &Section, factor: &str, base: &Conditions) -> Result<Vec<Level>, StudyError> {
    let allowed = "levels = [ … ] with at least one value";
    let array = match section.value("levels")? {
        Some(Value::Array(array)) if !array.is_empty() => array,
        Some(_) => {
            return Err(section.error_at(
                "levels",
                format!("factor `{factor}` has no levels; allowed: {allowed}"),
            ));
        }
        None => {
            return Err(section.error(format!(
                "factor `{factor}` has no levels; allowed: {allowed}"
            )));
        }
    };
    let mut levels: Vec<Level> = Vec::new();
    let mut names = HashSet::new();
    for value in array.iter() {
        let offset = begin(value);
        let level = level(section.source, factor, value, base, offset)?;
        if !names.insert(level.label.to_string()) {
            let message = format!(
                "level `{}` of factor `{factor}` appears twice; allowed: each level once",
                level.label
            );
            return Err(section.source.error(value.span(), message));
        }
        levels.push(level);
    }
    Ok(levels)
}

/// The key of a level's meaning.
const ABOUT: &str = "about";

/// A level is a value of the setting that names the factor, or a table with a label, and maybe with
/// a sentence that says what it means.
fn level(
    source: Source,
    factor: &str,
    value: &Value,
    base: &Conditions,
    offset: usize,
) -> Result<Level, StudyError> {
    let fail = |message: String| source.error(value.span(), message);
    let mut about = None;
    let (label, settings) = match value {
        Value::InlineTable(table) => {
            let label = table.get("label").and_then(label).ok_or_else(|| {
                fail(format!(
                    "a level of factor `{factor}` has no label; allowed: {{ label = \"…\", setting = value, … }}"
                ))
            })?;
            if let Some(value) = table.get(ABOUT) {
                let text = value.as_str().filter(|text| !text.is_empty());
                let text = text.ok_or_else(|| {
                    fail(format!(
                        "`{ABOUT}` of a level is {}; allowed: a sentence that says what the level means",
                        shown(value)
                    ))
                })?;
                about = Some(harmless(text));
            }
            let rest = table
                .iter()
                .filter(|(key, _)| !["label", ABOUT].contains(key));
            (
                label,
                rest.map(|(key, value)| (key.to_owned(), value.clone()))
                    .collect(),
            )
        }
        value => {
            let label = label(value).ok_or_else(|| {
                fail(format!(
                    "a level of factor `{factor}` is {}; allowed: a whole number, a string, true or false, or a table",
                    shown(value)
                ))
            })?;
            (label, vec![(factor.to_owned(), value.clone())])
        }
    };
    let mut trial = base.clone();
    for (name, value) in &settings {
        settings::set(&mut trial, name, value).map_err(|why| fail(why.0))?;
    }
    Ok(Level {
        label,
        about,
        settings,
        offset,
    })
}

fn table(top: &Section, factors: &[Factor]) -> Result<TableSpec, StudyError> {
    let Some(section) = top.section("table")? else {
        return Ok(TableSpec {
            rows: factors[0].name.clone(),
            columns: factors.get(1).map(|factor| factor.name.clone()),
            metrics: Vec::new(),
            improvement: None,
            each_second: false,
        });
    };
    section.only(&TABLE.names())?;
    let rows = section
        .text("rows")?
        .unwrap_or_else(|| factors[0].name.clone());
    known_factor(&section, "rows", &rows, factors)?;
    let columns = section.text("columns")?;
    if let Some(columns) = &columns {
        known_factor(&section, "columns", columns, factors)?;
        if *columns == rows {
            let message = format!(
                "factor `{columns}` is in the rows already; allowed: another factor, or no columns"
            );
            return Err(section.error_at("columns", message));
        }
    }
    let words = |value: &Value| {
        value
            .as_array()?
            .iter()
            .map(|v| v.as_str().map(str::to_owned))
            .collect::<Option<Vec<String>>>()
    };
    let metrics = section
        .typed("metrics", "a list of metric names", words)?
        .unwrap_or_default();
    let improvement = improvement(&section, factors)?;
    let each_second = section.switch("each_second")?.unwrap_or_default();
    Ok(TableSpec {
        rows,
        columns,
        metrics,
        improvement,
        each_second,
    })
}

/// Every metric that the table, the answer and the pictures list, and every key of the author's
/// figures that is not a factor.
fn named_metrics(top: &Section, factors: &[Factor]) -> Result<Vec<NamedMetric>, StudyError> {
    let mut found = named(top)?;
    found.extend(picture::named(top)?);
    found.extend(answer(top)?);
    found.extend(sentence::named(top)?);
    let mut add = |name: &str, offset| {
        found.push(NamedMetric {
            name: name.to_owned(),
            offset,
        })
    };
    if let Some(table) = top.section("table")? {
        let list = table.value("metrics")?.and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .for_each(|value| add(value.as_str().unwrap_or_default(), begin(value)));
    }
    if let Some(value) = top
        .section("run")?
        .map(|run| run.value("until_metric"))
        .transpose()?
        .flatten()
    {
        add(value.as_str().unwrap_or_default(), begin(value));
    }
    let Some(expect) = top.section("expect")? else {
        return Ok(found);
    };
    for section in expect
        .sections("cell")?
        .iter()
        .chain(&expect.sections("improvement")?)
    {
        for (name, _) in section.table.iter() {
            if !factors.iter().any(|factor| factor.name == name) {
                add(name, section.offset(name).unwrap_or_default());
            }
        }
    }
    Ok(found)
}

fn improvement(section: &Section, factors: &[Factor]) -> Result<Option<Improvement>, StudyError> {
    let Some(section) = section.section("improvement")? else {
        return Ok(None);
    };
    section.only(&IMPROVEMENT.names())?;
    let (factor, from, to) = two_levels(&section, ["from", "to"], factors)?;
    Ok(Some(Improvement { factor, from, to }))
}

fn expect(top: &Section, factors: &[Factor]) -> Result<Option<Expect>, StudyError> {
    let Some(section) = top.section("expect")? else {
        return Ok(None);
    };
    section.only(&EXPECT.names())?;
    let figures = |key: &str| -> Result<Vec<ExpectedCell>, StudyError> {
        section
            .sections(key)?
            .iter()
            .map(|cell| expected_cell(cell, factors))
            .collect()
    };
    let source = section.required_text("source")?;
    Ok(Some(Expect {
        source,
        cells: figures("cell")?,
        improvements: figures("improvement")?,
    }))
}

/// Keys that name a factor give its level; every other key is a metric.
fn expected_cell(section: &Section, factors: &[Factor]) -> Result<ExpectedCell, StudyError> {
    let mut cell = ExpectedCell {
        levels: Vec::new(),
        figures: Vec::new(),
    };
    for (key, _) in section.table.iter() {
        let Some(value) = section.value(key)? else {
            continue;
        };
        if let Some(factor) = factors.iter().find(|factor| factor.name == key) {
            let label = label(value).unwrap_or(Label::Text(String::new()));
            known_level(section, key, factor, &label)?;
            cell.levels.push((key.to_owned(), label));
        } else {
            let figure = Form::Number.number(value);
            let figure =
                figure.ok_or_else(|| section.error_at(key, format!("`{key}` is not a number")))?;
            cell.figures.push((key.to_owned(), figure));
        }
    }
    Ok(cell)
}
