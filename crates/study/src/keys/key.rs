//! A key, the table that it is in, and the form of its value.

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
    /// Any text.
    Text,
    /// True or false.
    Switch,
    /// Any number.
    Number,
    /// A number over 0, up to this one.
    Share(f64),
    /// A whole number from the first to the second, or one of the words.
    Whole(u32, u32, &'static [&'static str]),
    /// A text with a unit, in words.
    Quantity(&'static str),
    /// The value of this setting.
    Setting(&'static str),
    /// One of these words.
    Words(fn() -> Vec<&'static str>),
    /// A preset's name or the path of a lab file.
    Topology,
    /// The name of a metric.
    Metric,
    /// Names of metrics.
    Metrics,
    /// The name of a metric, or several.
    MetricOrMetrics,
    /// The name of a factor.
    Factor,
    /// A level: a number or a text.
    Level,
    /// Levels of a factor.
    Levels,
    /// A cell: factors with a level each.
    Cell,
    /// Factors with one level or several each.
    Cells,
    /// Two cells.
    TwoCells,
    /// Two numbers, the smaller first.
    TwoNumbers,
    /// Names.
    Names,
    /// A file, or such lines of it.
    FileOrLines,
    /// Two names.
    TwoNames,
    /// The levels of a factor as it lists them.
    FactorLevels,
    /// A picture's kind, or a table.
    Pictures,
    /// The addresses of a device or the like: lists of texts by name.
    NamedLists,
    /// Texts by name, by name.
    NamedTables,
    /// A table of settings.
    Settings,
    /// A table.
    Table(&'static Table),
    /// A table for each device.
    Tables(&'static Table),
    /// A list of tables.
    List(&'static Table),
    /// A table, or a list of at most this number.
    OneOrList(&'static Table, usize),
    /// A list of tables of factors with lists of levels.
    LevelLists,
    /// A list of the author's figures: levels of factors, and numbers of metrics.
    FigureLists,
}

impl Form {
    /// The allowed values, in words.
    pub fn allowed(self) -> String {
        match self {
            Form::Text => "text".to_owned(),
            Form::Switch => "true or false".to_owned(),
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
            Form::Quantity(allowed) => allowed.to_owned(),
            Form::Setting(name) => {
                let setting = SETTINGS.iter().find(|setting| setting.name == name);
                setting.map_or_else(String::new, |setting| setting.kind.allowed())
            }
            Form::Words(words) => quoted(&words()),
            Form::Topology => {
                let presets: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
                format!("{}, or a path", presets.join(", "))
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
            Form::FileOrLines => "a file, or a list of its lines".to_owned(),
            Form::TwoNames => "two names, as in `[\"h1\", \"s1\"]`".to_owned(),
            Form::FactorLevels => "a list of values, or of tables with a `label`".to_owned(),
            Form::Pictures => "a list of kinds and tables".to_owned(),
            Form::FigureLists => "tables of levels and figures".to_owned(),
            Form::NamedLists => "lists of texts by device".to_owned(),
            Form::NamedTables => "tables by node".to_owned(),
            Form::Settings => "a table of settings".to_owned(),
            Form::LevelLists => "tables of factors with lists of levels".to_owned(),
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
        key.map_or(Form::Text, |key| key.form)
    }

    /// The names of all keys.
    pub fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }
}
