//! From a study file's text to a [`Study`], with the place of each error.

mod checks;
mod mesh;
mod possible;
mod run;
mod sentence;
mod shown;

use std::collections::HashSet;

use bitcost_model::Invalid;
use bitcost_model::conditions::Conditions;
use bitcost_model::harmless;
use bitcost_model::plan::Lengths;
use bitcost_model::study::{Cell, LabSpec, Label, OWN};

use crate::definition::{Factor, LeaveOut, Level, Study};
use crate::error::StudyError;
use crate::limits::{CELLS, FACTORS, STUDY_BYTES};
use crate::settings;
use crate::tables::{FactorTable, LevelLists, StudyTable};
use crate::toml::{Node, Source};
use crate::topology::{self, LabFile, USUAL};
use possible::{Cells, fits, workload};
use run::run;
use shown::shown;

impl Study {
    /// Reads a study that names no lab file. `file` is the name that errors use.
    pub fn parse(file: &str, text: &str) -> Result<Study, StudyError> {
        Study::parse_with(file, text, None)
    }

    /// As [`Study::parse`]; `lab_text` is the text of the lab file that the study names.
    pub fn parse_with(file: &str, text: &str, lab_text: Option<&str>) -> Result<Study, StudyError> {
        let given = |_: &str| Ok(lab_text.unwrap_or_default().to_owned());
        let read = Study::read(file, text, lab_text.and(Some(&given)), None);
        read.map_err(|mistakes| mistakes[0].clone())
    }

    /// As [`Study::parse_with`]; `lab_file` reads the lab file that the study names. `metrics` are the names of all
    /// metrics; where they are absent, any name is one.
    pub fn read(
        file: &str,
        text: &str,
        lab_file: Option<LabFile>,
        metrics: Option<&[&str]>,
    ) -> Result<Study, Vec<StudyError>> {
        let mut source = Source::new(file, text, STUDY_BYTES);
        source.metrics = metrics;
        source.read(|top| study(top, lab_file))
    }

    /// An error for each place without which all cells would be possible. `fits` gives the reason
    /// for which a cell is not.
    pub fn impossible(&self, fits: &dyn Fn(&Cell) -> Result<(), Invalid>) -> Vec<StudyError> {
        let source = Source::new(&self.file, &self.text, STUDY_BYTES);
        let found = source.read(|top| {
            let cells = Cells {
                top,
                study: self,
                fits,
            };
            Some(cells.check())
        });
        // The text was read before.
        found.unwrap_or_default()
    }
}

fn study(top: &Node, lab_file: Option<LabFile>) -> Option<Study> {
    let source = top.source;
    let _keys: Option<StudyTable> = top.read();
    let base = workload(top, None);
    let factors = factors(top, &base);
    let names_levels = factors.iter().all(|factor| !factor.levels.is_empty());
    let _ = source.factors.set(factors.clone());
    let (lab, lab_text) = lab(top, lab_file).unzip();
    let mut study = Study {
        name: stem(source.file).to_owned(),
        file: source.file.to_owned(),
        text: source.text.to_owned(),
        lab_text: lab_text.flatten(),
        base,
        factors,
        lab: lab.clone().unwrap_or_default(),
        ..Study::default()
    };
    if names_levels {
        study.leave_out = leave_out(top);
    }
    // Cells are judged where all that makes them is right.
    if source.is_right() {
        let fits = &|cell: &Cell| fits(cell, &study.lab);
        let cells = Cells {
            top,
            study: &study,
            fits,
        };
        source.extend(cells.check());
    }
    let text = |key: &str| Some(harmless(&top.get(key)?.read::<String>()?));
    study.title = text("title").unwrap_or_default();
    study.question = text("question").unwrap_or_default();
    let written = run(top, &mut study);
    if let Some((lab, node)) = lab.zip(top.get("mesh"))
        && let Some(mesh) = mesh::mesh(&node, &lab)
    {
        mesh::fits(top, &study);
        study.blocks = written.unwrap_or(1);
        study
            .factors
            .retain(|factor| factor.name != SETTINGS_FACTOR);
        study.factors.splice(0..0, mesh::factors(&mesh));
        study.mesh = Some(mesh);
    }
    if names_levels {
        shown(top, &mut study);
    }
    // What is wrong has no plan.
    if source.is_right() {
        check_blocks(top, &study)?;
    }
    Some(study)
}

/// Refuses too many runs, at the key whose blocks are the most.
fn check_blocks(top: &Node, study: &Study) -> Option<()> {
    let run = top.at("run");
    let named = [
        (study.like_the_document, run.at("like_the_document")),
        (study.ci, run.at("ci")),
    ];
    let named = named
        .into_iter()
        .filter_map(|(lengths, node)| Some((lengths?.blocks?, node)));
    let most = named
        .chain([(study.blocks, run.clone())])
        .max_by_key(|(blocks, _)| *blocks);
    if let Some((blocks, node)) = most {
        let lengths = Lengths {
            blocks: Some(blocks),
            ..Lengths::default()
        };
        if let Err(Invalid(why)) = study.check_lengths(lengths) {
            let place = node.at("blocks");
            return place.error(format!("{why}; ask for fewer blocks or levels"));
        }
    }
    Some(())
}

fn stem(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.strip_suffix(".toml").unwrap_or(name)
}

/// Reads a study's `[lab]`, with the text of the lab file that it names; a study without one has the default lab.
fn lab(top: &Node, lab_file: Option<LabFile>) -> Option<(LabSpec, Option<String>)> {
    let Some(node) = top.get("lab") else {
        let network = topology::preset(USUAL, 1500, Default::default());
        let lab = network.and_then(|network| LabSpec::new(USUAL, network, None, None));
        return lab.ok().map(|lab| (lab, None));
    };
    let usual = node.get("hosts").is_none().then_some(USUAL);
    let (network, text) = topology::read(&node, usual, lab_file)?;
    let named = |key: &str| node.get(key).and_then(|name| name.text());
    let [sender, receiver] = ["sender", "receiver"].map(|end| named(end).map(str::to_owned));
    let name = named("topology").or(usual).unwrap_or(OWN);
    match LabSpec::new(name, network, sender, receiver) {
        Ok(lab) => Some((lab, text)),
        Err(Invalid(why)) => node.error(why),
    }
}

/// The factor of a study that varies nothing; its only level makes one cell, which can be compared
/// with another setting.
const SETTINGS_FACTOR: &str = "settings";
const AS_GIVEN: &str = "as given";

/// Refuses too many factors, or combinations of levels, before any of them is made.
fn check_count(top: &Node, factors: &[Node]) -> Option<()> {
    if factors.len() > FACTORS {
        let count = factors.len();
        let message = format!("it has {count} factors; allowed: at most {FACTORS}");
        return top.at("factor").error(message);
    }
    let levels = factors
        .iter()
        .map(|factor| factor.at("levels").elements().len().max(1));
    let cells = levels.fold(1_u64, |cells, levels| cells.saturating_mul(levels as u64));
    if cells <= CELLS {
        return Some(());
    }
    let at_least = if cells == u64::MAX { "at least " } else { "" };
    top.at("factor").error(format!(
        "the factors have {at_least}{cells} combinations of levels; allowed: at most {CELLS}; vary less in one study"
    ))
}

/// Every factor. One with a mistake keeps its name and the labels of its levels, so that what refers to them is not
/// refused for it.
fn factors(top: &Node, base: &Conditions) -> Vec<Factor> {
    let mut factors: Vec<Factor> = Vec::new();
    let nodes = top.each("factor");
    if check_count(top, &nodes).is_some() {
        for node in &nodes {
            let table: Option<FactorTable> = node.read();
            let named = || Some(node.get("name")?.text()?.to_owned());
            let Some(name) = table.map(|table| table.name).or_else(named) else {
                continue;
            };
            if factors.iter().any(|factor| factor.name == name) {
                let message = format!("factor `{name}` appears twice; allowed: each name once");
                node.at("name").error::<()>(message);
            }
            let list = node.get("levels");
            let read = list.as_ref().and_then(|list| levels(list, &name, base));
            let levels = read.unwrap_or_else(|| list.map_or(Vec::new(), |list| labels(&list)));
            set_once(node.source, &factors, &name, &levels);
            factors.push(Factor { name, levels });
        }
    }
    if factors.is_empty() {
        let level = Level::named(Label::Text(AS_GIVEN.to_owned()));
        factors.push(Factor {
            name: SETTINGS_FACTOR.to_owned(),
            levels: match top.get("factor") {
                None => vec![level],
                Some(_) => Vec::new(),
            },
        });
    }
    factors
}

/// The labels of a factor's levels, as far as they can be read.
fn labels(levels: &Node) -> Vec<Level> {
    let levels = levels.elements().into_iter();
    let labels = levels.filter_map(|level| match level.table() {
        Some(_) => level.get("label")?.label(),
        None => level.label(),
    });
    labels.map(Level::named).collect()
}

/// Two factors must not set the same setting, because one of them would have no effect.
fn set_once(source: &Source, before: &[Factor], name: &str, levels: &[Level]) -> Option<()> {
    for level in levels {
        for (setting, _) in &level.settings {
            let sets = |factor: &&Factor| {
                let mut settings = factor.levels.iter().flat_map(|level| &level.settings);
                settings.any(|(known, _)| known == setting)
            };
            if let Some(other) = before.iter().find(sets) {
                let message = format!(
                    "level `{}` of factor `{name}` sets `{setting}`, which factor `{}` sets too; allowed: each setting in one factor",
                    level.label, other.name
                );
                source.keep(level.offset, message);
                return None;
            }
        }
    }
    Some(())
}

fn levels(list: &Node, factor: &str, base: &Conditions) -> Option<Vec<Level>> {
    let nodes = list.elements();
    if nodes.is_empty() {
        return list.error(format!(
            "factor `{factor}` has no levels; allowed: levels = [ … ] with at least one value"
        ));
    }
    let mut levels: Vec<Level> = Vec::new();
    let mut names = HashSet::new();
    for node in &nodes {
        let level = level(node, factor, base)?;
        if !names.insert(level.label.to_string()) {
            let label = &level.label;
            return node.error(format!(
                "level `{label}` of factor `{factor}` appears twice; allowed: each level once"
            ));
        }
        levels.push(level);
    }
    Some(levels)
}

/// A level is a value of the setting that names the factor, or a table with a label, and maybe with
/// a sentence that says what it means.
fn level(node: &Node, factor: &str, base: &Conditions) -> Option<Level> {
    let mut about = None;
    let (label, settings) = if node.table().is_some() {
        let Some(label) = node.get("label").and_then(|node| node.label()) else {
            return node.error(format!(
                "a level of factor `{factor}` has no label; allowed: {{ label = \"…\", setting = value, … }}"
            ));
        };
        if let Some(node) = node.get("about") {
            let Some(text) = node.text().filter(|text| !text.is_empty()) else {
                return node.not_allowed("a sentence that says what the level means");
            };
            about = Some(harmless(text));
        }
        let entries = node.entries().into_iter();
        let settings = entries.filter(|entry| !["label", "about"].contains(&entry.key));
        let settings =
            settings.filter_map(|entry| Some((entry.key.to_owned(), entry.value()?.clone())));
        (label, settings.collect())
    } else {
        let (Some(label), Some(value)) = (node.label(), node.value()) else {
            return node.error(format!(
                "a level of factor `{factor}` is {}; allowed: a whole number, a string, true or false, or a table",
                node.shown()
            ));
        };
        (label, vec![(factor.to_owned(), value.clone())])
    };
    let mut trial = base.clone();
    for (name, value) in &settings {
        if let Err(Invalid(why)) = settings::set(&mut trial, name, value) {
            return node.error(why);
        }
    }
    Some(Level {
        label,
        about,
        settings,
        offset: node.offset,
    })
}

fn leave_out(top: &Node) -> Vec<LeaveOut> {
    let read = |node: &Node| -> Option<LeaveOut> {
        let lists: LevelLists = node.read()?;
        let named = lists.map(|levels| levels.into_iter().map(|level| level.0).collect());
        if named.len() < 2 {
            return node.error("a [[leave_out]] names levels of two factors or more");
        }
        Some(LeaveOut(named))
    };
    top.each("leave_out").iter().filter_map(read).collect()
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

    /// Changes in the study, each of which is a mistake.
    const PLANTED: [[&str; 2]; 12] = [
        ["title = \"", "titel = \""],
        ["\ntopology = \"wire\"", "\ntopology = \"wir\""],
        ["\nmtu_bytes = 8896", "\nmtu_byte = 8896"],
        ["warmup_s = 0.25", "warmup_s = \"soon\""],
        ["duration_s = 2\n", "duraton_s = 2\n"],
        [
            "mss = \"message\", offloads = \"on\"",
            "mss = \"mesage\", offloads = \"on\"",
        ],
        ["blocks = 5\n", "blocks = 0\n"],
        ["rows = \"message_size_bytes\"", "rows = \"message_size\""],
        ["old = 1024, new = 8192", "old = 1024, new = 8193"],
        ["between = [1, 8]", "betwen = [1, 8]"],
        ["\nat_least = 1.5", "\nat_least = \"much\""],
        ["throughput_mbps = 4805", "troughput_mbps = 4805"],
    ];

    fn mistakes(text: &str) -> Vec<String> {
        let read = Study::read("s.toml", text, None, Some(&METRICS));
        let all = read.err().unwrap_or_default();
        all.iter().map(ToString::to_string).collect()
    }

    /// In the order of their lines; the title is missing as well, since its key is another word.
    #[test]
    fn all_mistakes_are_found_together() {
        assert!(mistakes(STUDY).is_empty(), "{:?}", mistakes(STUDY));
        let mut planted = STUDY.to_owned();
        for [right, wrong] in PLANTED {
            assert!(planted.contains(right), "{right}");
            planted = planted.replacen(right, wrong, 1);
        }
        insta::assert_snapshot!(mistakes(&planted).join("\n"));
    }

    #[test]
    fn where_no_size_is_possible_each_has_its_place() {
        let text = "title = \"t\"\nquestion = \"q\"\n[lab]\ntopology = \"wire\"\nmtu_bytes = 1500\n\
            [workload]\nworkload = \"tcp_stream\"\nduration_s = 1\n[[factor]]\nname = \"mss\"\nlevels = [4000, 5000]\n\
            [table]\nrows = \"mss\"\nmetrics = [\"throughput_mbps\"]\n";
        let found = mistakes(text);
        let places = ["s.toml:11:11: cell 4000: ", "s.toml:11:17: cell 5000: "];
        assert_eq!(found.len(), places.len(), "{found:?}");
        let mut both = found.iter().zip(places);
        assert!(
            both.all(|(found, place)| found.starts_with(place)),
            "{found:?}"
        );
    }
}
