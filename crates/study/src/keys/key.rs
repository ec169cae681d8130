//! A key, the table that it is in, and the form of its value.

use serde_json::{Value, json};

use super::form::{
    by_name, factor_levels, list, metric, metric_of_list, one_or_list, pictures, scalar, settings,
    text,
};
use crate::settings::SETTINGS;
use crate::topology::PRESETS;

/// The keys of one table of a file.
#[derive(Debug)]
pub(crate) struct Table {
    /// How people write it, such as `[run]`.
    pub title: &'static str,
    /// What it describes, in a sentence.
    pub about: &'static str,
    /// Its keys, in the order of the reference page.
    pub keys: &'static [Key],
}

#[derive(Debug)]
pub(crate) struct Key {
    pub name: &'static str,
    pub form: Form,
    /// Whether a table without it is refused.
    pub is_required: bool,
    /// What it means, and its default.
    pub about: &'static str,
}

/// The form of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// What is said of it, and its schema.
    Plain(&'static str, fn() -> Value),
    /// Any number.
    Number,
    /// A number over 0, up to this one.
    Share(f64),
    /// A whole number from the first to the second, or one of the words.
    Whole(u32, u32, &'static [&'static str]),
    /// The value of this setting.
    Setting(&'static str),
    /// One of these words.
    Words(fn() -> Vec<&'static str>),
    /// A preset's name or the path of a lab file.
    Topology,
    /// A table.
    Table(&'static Table),
    /// A table for each device.
    Tables(&'static Table),
    /// A list of tables.
    List(&'static Table),
    /// A table, or a list of at most this number.
    OneOrList(&'static Table, usize),
}

#[rustfmt::skip]
impl Form {
    /// A text such as one with a unit, or a list of them.
    pub const fn quantity(allowed: &'static str) -> Form {
        Form::Plain(allowed, || one_or_list(text()))
    }

    pub const TEXT: Form = Form::Plain("text", text);
    pub const SWITCH: Form = Form::Plain("true or false", || json!({ "type": "boolean" }));
    pub const METRIC: Form = Form::Plain("a metric", metric);
    pub const METRICS: Form = Form::Plain("a list of metrics", || list(metric_of_list()));
    pub const METRIC_OR_METRICS: Form = Form::Plain("a metric, or a list", || one_or_list(metric_of_list()));
    pub const FACTOR: Form = Form::Plain("the name of a factor", text);
    pub const LEVEL: Form = Form::Plain("a level", scalar);
    pub const LEVELS: Form = Form::Plain("a list of levels", || list(scalar()));
    pub const CELL: Form = Form::Plain("`{ factor = level, … }`", || by_name(scalar()));
    pub const CELLS: Form = Form::Plain(
        "`{ factor = level, … }` or `{ factor = [level, …], … }`", || by_name(one_or_list(scalar())));
    pub const TWO_CELLS: Form = Form::Plain(
        "`[{ factor = level, … }, { factor = level, … }]`", || list(by_name(scalar())));
    pub const TWO_NUMBERS: Form = Form::Plain("`[least, most]`", || list(json!({ "type": "number" })));
    pub const NAMES: Form = Form::Plain("a list of names", || list(text()));
    pub const FILE_OR_LINES: Form = Form::quantity("a file, or a list of its lines");
    pub const TWO_NAMES: Form = Form::Plain("two names, as in `[\"h1\", \"s1\"]`", || list(text()));
    pub const FACTOR_LEVELS: Form = Form::Plain("a list of values, or of tables with a `label`", factor_levels);
    pub const PICTURES: Form = Form::Plain("a list of kinds and tables", pictures);
    pub const FIGURE_LISTS: Form = Form::Plain("tables of levels and figures", || list(by_name(scalar())));
    pub const NAMED_LISTS: Form = Form::Plain("lists of texts by device", || by_name(list(text())));
    pub const NAMED_TABLES: Form = Form::Plain("tables by node", || by_name(by_name(text())));
    pub const SETTINGS: Form = Form::Plain("a table of settings", settings);
    pub const LEVEL_LISTS: Form = Form::Plain(
        "tables of factors with lists of levels", || list(by_name(list(scalar()))));
}

impl Form {
    /// The allowed values, in words.
    pub fn allowed(self) -> String {
        match self {
            Form::Plain(allowed, _) => allowed.to_owned(),
            Form::Number => "a number".to_owned(),
            Form::Share(most) if most.is_finite() => format!("a number over 0, up to {most}"),
            Form::Share(_) => "a number over 0".to_owned(),
            Form::Whole(least, most, words) => {
                let number = format!("a whole number from {least} to {most}");
                match words {
                    [] => number,
                    words => format!("{number}, or {}", quoted(words)),
                }
            }
            Form::Setting(name) => {
                let setting = SETTINGS.iter().find(|setting| setting.name == name);
                setting.map_or_else(String::new, |setting| setting.kind.allowed())
            }
            Form::Words(words) => quoted(&words()),
            Form::Topology => {
                let presets: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
                format!("{}, or a path", presets.join(", "))
            }
            Form::Table(table) => format!("a table: {}", table.link()),
            Form::Tables(table) => format!("tables by device: {}", table.link()),
            Form::List(table) => format!("tables: {}", table.link()),
            Form::OneOrList(table, most) => format!("a table, or at most {most}: {}", table.link()),
        }
    }
}

/// `"a", "b" or "c"`.
fn quoted(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match &words[..] {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        all => all.join(", "),
    }
}

impl Table {
    /// Its title in Markdown, in which brackets are code, so that they are no link.
    pub fn link(&self) -> String {
        let word = |word: &str| match word.starts_with('[') {
            true => format!("`{word}`"),
            false => word.to_owned(),
        };
        self.title
            .split(' ')
            .map(word)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// The form of a key's value; that of a text where there is no such key.
    pub fn form(&self, name: &str) -> Form {
        let key = self.keys.iter().find(|key| key.name == name);
        key.map_or(Form::TEXT, |key| key.form)
    }

    /// The names of all keys.
    pub fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }
}
