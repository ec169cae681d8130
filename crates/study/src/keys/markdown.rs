//! The reference page of all keys.

use super::key::{Form, Table};
use super::tables::{
    ANSWER, CHECK, CLAIM, COMPARE, EXPECT, FACTOR, IMPROVEMENT, LAB, LAB_FILE, LENGTHS, LINK,
    PICTURE, REPORT, RUN, SHAPING, STUDY, TABLE,
};
use crate::settings::SETTINGS;
use crate::topology::PRESETS;

/// The tables of the page, in order. Those of a study's `[lab]` are those of a lab file.
pub(super) const PAGE: [&Table; 17] = [
    &STUDY,
    &FACTOR,
    &RUN,
    &LENGTHS,
    &TABLE,
    &IMPROVEMENT,
    &COMPARE,
    &ANSWER,
    &REPORT,
    &PICTURE,
    &CHECK,
    &CLAIM,
    &EXPECT,
    &LAB,
    &LAB_FILE,
    &LINK,
    &SHAPING,
];

/// The page, as Markdown: a section for each table, a row for each key.
pub fn markdown() -> String {
    let mut text = String::from(
        "# Keys of study files and lab files\n\n\
         A study is a TOML file: `bitcost study new` writes one with comments, `bitcost plan FILE` reports every mistake in it, and \
         `bitcost study schema` prints a JSON Schema for editors. Keys in bold are required. The settings of `[workload]` and of levels \
         are in [settings](settings.md), the metrics in [metrics](metrics.md).\n",
    );
    for table in PAGE {
        text += &format!(
            "\n## {}\n\n{}\n\n| key | value | what it means |\n|---|---|---|\n",
            shown_title(table.title),
            table.about
        );
        for key in table.keys {
            let name = match key.is_required {
                true => format!("**`{}`**", key.name),
                false => format!("`{}`", key.name),
            };
            let cells = [form(key.form), key.about.to_owned()].map(|cell| cell.replace('|', "\\|"));
            text += &format!("| {name} | {} | {} |\n", cells[0], cells[1]);
        }
    }
    text
}

/// A title in which brackets are code, so that they are no link.
fn shown_title(title: &str) -> String {
    let word = |word: &str| match word.starts_with('[') {
        true => format!("`{word}`"),
        false => word.to_owned(),
    };
    title.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// The allowed values, in words.
fn form(form: Form) -> String {
    match form {
        Form::Text => "text".to_owned(),
        Form::Switch => "true or false".to_owned(),
        Form::Number => "a number".to_owned(),
        Form::Share(most) if most.is_finite() => format!("a number over 0, up to {most}"),
        Form::Share(_) => "a number over 0".to_owned(),
        Form::Whole(least, most, words) => {
            let words: String = words
                .iter()
                .map(|word| format!(", or `\"{word}\"`"))
                .collect();
            format!("a whole number from {least} to {most}{words}")
        }
        Form::Quantity(allowed) => allowed.to_owned(),
        Form::Setting(name) => {
            let setting = SETTINGS.iter().find(|setting| setting.name == name);
            setting.map_or_else(String::new, |setting| setting.kind.allowed())
        }
        Form::Words(words) => quoted(words().into_iter()),
        Form::Topology => {
            let presets = quoted(PRESETS.iter().map(|preset| preset.name));
            format!("{presets}, or a path")
        }
        Form::Metric => "a metric".to_owned(),
        Form::Metrics => "a list of metrics".to_owned(),
        Form::MetricOrMetrics => "a metric, or a list".to_owned(),
        Form::Factor => "the name of a factor".to_owned(),
        Form::Level => "a level".to_owned(),
        Form::Levels => "a list of levels".to_owned(),
        Form::Cell => "`{ factor = level, … }`".to_owned(),
        Form::Cells => "`{ factor = level, … }` or `{ factor = [level, …], … }`".to_owned(),
        Form::TwoCells => "`[{ factor = level, … }, { factor = level, … }]`".to_owned(),
        Form::TwoNumbers => "`[least, most]`".to_owned(),
        Form::Names => "a list of names".to_owned(),
        Form::TwoNames => "two names, as in `[\"h1\", \"s1\"]`".to_owned(),
        Form::FactorLevels => "a list of values, or of tables with a `label`".to_owned(),
        Form::Pictures => "a list of kinds and tables".to_owned(),
        Form::FigureLists => "tables of levels and figures".to_owned(),
        Form::NamedLists => "lists of texts by device".to_owned(),
        Form::NamedTables => "tables by node".to_owned(),
        Form::Settings => "a table of settings".to_owned(),
        Form::LevelLists => "tables of factors with lists of levels".to_owned(),
        Form::Table(table) => format!("a table: {}", named(table)),
        Form::Tables(table) => format!("tables by device: {}", named(table)),
        Form::List(table) => format!("tables: {}", named(table)),
        Form::OneOrList(table, most) => format!("a table, or at most {most}: {}", named(table)),
    }
}

fn named(table: &Table) -> String {
    shown_title(table.title)
}

fn quoted<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.map(|word| format!("`\"{word}\"`")).collect();
    words.join(", ")
}
