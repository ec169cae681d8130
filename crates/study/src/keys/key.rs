//! A key, the table that it is in, and the form of its value.

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

/// One key.
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

impl Table {
    /// The names of all keys.
    pub fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }
}
