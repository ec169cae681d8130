//! TOML texts that serde reads: every mistake is kept with its place, and reading goes on where it can.

use std::cell::{OnceCell, RefCell};
use std::fmt;

use bitcost_model::Invalid;
use bitcost_model::near::{did_you_mean, near_or_all};
use bitcost_model::study::Label;
use serde::de::value::{
    BorrowedStrDeserializer, MapDeserializer, SeqAccessDeserializer, SeqDeserializer,
};
use serde::de::{self, Deserialize, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use toml_edit::{ArrayOfTables, Document, Item, TableLike, Value};

use crate::definition::Factor;
use crate::error::StudyError;
use crate::forms::{FACTOR_NAME, label};
use crate::limits::check_text;
use crate::settings::shown;

/// Most mistakes that are kept, each with its line, which takes a walk through the text.
const MISTAKES: usize = 100;

/// A text that is read, and the mistakes in it that were found so far.
pub struct Source<'a> {
    pub file: &'a str,
    pub text: &'a str,
    /// The names of all metrics; absent: any name is one.
    pub metrics: Option<&'a [&'a str]>,
    /// The factors that the text names, once they are read.
    pub factors: OnceCell<Vec<Factor>>,
    mistakes: RefCell<Vec<StudyError>>,
    bytes_most: usize,
}

impl<'a> Source<'a> {
    pub fn new(file: &'a str, text: &'a str, bytes_most: usize) -> Source<'a> {
        Source {
            file,
            text,
            bytes_most,
            metrics: None,
            factors: OnceCell::new(),
            mistakes: RefCell::default(),
        }
    }

    /// What `read` makes of the whole text.
    pub fn read<T>(&self, read: impl FnOnce(&Node<'_>) -> Option<T>) -> Result<T, Vec<StudyError>> {
        if let Err(Invalid(why)) = check_text(self.text, self.bytes_most) {
            return Err(vec![self.error_at(0, why)]);
        }
        let value = match Document::parse(self.text) {
            Ok(document) => read(&Node {
                source: self,
                name: String::new(),
                key: "",
                what: What::Table(document.as_table()),
                offset: 0,
                begin: 0,
                also: Vec::new(),
            }),
            Err(wrong) => {
                let offset = wrong.span().map_or(0, |span| span.start);
                self.keep(offset, format!("not TOML: {}", wrong.message().trim()));
                None
            }
        };
        if value.is_none() && self.is_right() {
            self.keep(0, "it cannot be read");
        }
        let mut mistakes = self.mistakes.take();
        mistakes.sort_by_cached_key(|one| (one.line, one.column, one.message.clone()));
        mistakes.dedup();
        value.filter(|_| mistakes.is_empty()).ok_or(mistakes)
    }

    /// An error at this byte of the text.
    pub fn error_at(&self, offset: usize, message: impl Into<String>) -> StudyError {
        let bytes = &self.text.as_bytes()[..offset.min(self.text.len())];
        let start = bytes.iter().rposition(|byte| *byte == b'\n');
        let before = &bytes[start.map_or(0, |newline| newline + 1)..];
        StudyError {
            file: self.file.to_owned(),
            line: 1 + bytes.iter().filter(|byte| **byte == b'\n').count(),
            column: 1 + String::from_utf8_lossy(before).chars().count(),
            message: message.into(),
        }
    }

    pub fn keep(&self, offset: usize, message: impl Into<String>) {
        if self.mistakes.borrow().len() < MISTAKES {
            self.extend([self.error_at(offset, message)]);
        }
    }

    pub fn extend(&self, mistakes: impl IntoIterator<Item = StudyError>) {
        self.mistakes.borrow_mut().extend(mistakes);
    }

    /// Whether no mistake was found so far.
    pub fn is_right(&self) -> bool {
        self.mistakes.borrow().is_empty()
    }
}

#[derive(Clone)]
pub struct Node<'a> {
    pub source: &'a Source<'a>,
    /// What errors call it, where it is a table.
    name: String,
    pub key: &'a str,
    what: What<'a>,
    /// Where its key is, or it itself in a list, in bytes.
    pub offset: usize,
    begin: usize,
    also: Vec<&'static str>,
}

#[derive(Clone, Copy)]
enum What<'a> {
    Table(&'a dyn TableLike),
    Tables(&'a ArrayOfTables),
    Value(&'a Value),
}

impl<'a> Node<'a> {
    /// What a struct or value is here; absent where a mistake is kept.
    pub fn read<T: Deserialize<'a>>(&self) -> Option<T> {
        T::deserialize(self.clone()).ok()
    }

    /// As [`Node::read`]; absent also where any mistake is kept, such as an unknown key.
    pub fn read_right<T: Deserialize<'a>>(&self) -> Option<T> {
        let count = || self.source.mistakes.borrow().len();
        let before = count();
        self.read().filter(|_| count() == before)
    }

    /// As [`Node::read`], of a table in which these keys may be beside those of the struct.
    pub fn read_with<T: Deserialize<'a>>(&self, also: &[&'static str]) -> Option<T> {
        let mut node = self.clone();
        node.also = also.to_vec();
        node.read()
    }

    pub fn get(&self, key: &str) -> Option<Node<'a>> {
        let (key, item) = self.table()?.get_key_value(key)?;
        let what = match item {
            Item::Table(table) => What::Table(table),
            Item::ArrayOfTables(tables) => What::Tables(tables),
            Item::Value(value) => What::Value(value),
            Item::None => return None,
        };
        let (named, begin) = (key.span(), item.span());
        let offset = named.or(begin.clone()).map_or(0, |span| span.start);
        Some(Node {
            name: match self.name.as_str() {
                "" => key.get().to_owned(),
                name => format!("{name}.{}", key.get()),
            },
            key: key.get(),
            what,
            offset,
            begin: begin.map_or(offset, |span| span.start),
            also: Vec::new(),
            ..self.clone()
        })
    }

    /// The value of a key, or this table where it lacks it: the place of an error.
    pub fn at(&self, key: &str) -> Node<'a> {
        self.get(key).unwrap_or_else(|| self.clone())
    }

    /// The values of a table, in the order of the text.
    pub fn entries(&self) -> Vec<Node<'a>> {
        let Some(table) = self.table() else {
            self.not_allowed::<()>("a table");
            return Vec::new();
        };
        let keys = table.iter();
        keys.filter_map(|(key, _)| self.get(key)).collect()
    }

    pub fn elements(&self) -> Vec<Node<'a>> {
        let element = |what: What<'a>, span: Option<std::ops::Range<usize>>| {
            let begin = span.map_or(self.begin, |span| span.start);
            Node {
                name: self.key.to_owned(),
                what,
                offset: begin,
                begin,
                ..self.clone()
            }
        };
        match self.what {
            What::Tables(tables) => {
                let tables = tables.iter();
                tables
                    .map(|table| element(What::Table(table), table.span()))
                    .collect()
            }
            What::Value(Value::Array(array)) => {
                let values = array.iter();
                values
                    .map(|value| element(What::Value(value), value.span()))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// The tables of a list of this key.
    pub fn each(&self, key: &str) -> Vec<Node<'a>> {
        let Some(list) = self.get(key) else {
            return Vec::new();
        };
        if !list.is_list() {
            list.not_allowed::<()>(&format!("[[{key}]] tables"));
        }
        list.elements()
    }

    pub fn is_list(&self) -> bool {
        matches!(self.what, What::Tables(_) | What::Value(Value::Array(_)))
    }

    pub fn table(&self) -> Option<&'a dyn TableLike> {
        match self.what {
            What::Table(table) => Some(table),
            What::Value(Value::InlineTable(table)) => Some(table),
            What::Value(_) | What::Tables(_) => None,
        }
    }

    pub fn value(&self) -> Option<&'a Value> {
        match self.what {
            What::Value(value) => Some(value),
            What::Table(_) | What::Tables(_) => None,
        }
    }

    /// The label of a level that is a value.
    pub fn label(&self) -> Option<Label> {
        label(self.value()?)
    }

    pub fn text(&self) -> Option<&'a str> {
        self.value()?.as_str()
    }

    /// It as the author wrote it, without the comments and spaces around it.
    pub fn shown(&self) -> String {
        match self.what {
            What::Value(value) => shown(value),
            What::Table(_) => "a table".to_owned(),
            What::Tables(_) => "a list of tables".to_owned(),
        }
    }

    pub fn place(&self) -> String {
        match self.name.as_str() {
            "" => String::new(),
            name => format!(" in [{name}]"),
        }
    }

    /// Keeps a mistake, of a table where it begins, of a value where its key is.
    pub fn error<T>(&self, message: impl Into<String>) -> Option<T> {
        let offset = match self.table() {
            Some(_) => self.begin,
            None => self.offset,
        };
        self.source.keep(offset, message);
        None
    }

    /// Keeps that its key is none of those that a table may have.
    pub fn unknown<T>(&self, table: &Node, known: &[&str]) -> Option<T> {
        let rest = near_or_all(self.key, known);
        let message = format!("unknown key `{}`{}{rest}", self.key, table.place());
        self.source.keep(self.offset, message);
        None
    }

    pub fn missing<T>(&self, what: &str) -> Option<T> {
        self.error(format!("`{what}` is missing{}", self.place()))
    }

    pub fn not_allowed<T>(&self, allowed: &str) -> Option<T> {
        self.keep(Wrong::NotAllowed(allowed.to_owned()));
        None
    }

    pub fn factor(&self, name: &str) -> Option<&'a Factor> {
        let factors = self.source.factors.get().map_or(&[][..], Vec::as_slice);
        let found = factors.iter().find(|factor| factor.name == name);
        found.or_else(|| {
            let names: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
            let rest = near_or_all(name, &names);
            self.error(format!("unknown factor `{name}`{rest}"))
        })
    }

    /// Refuses what is no level of a factor.
    pub fn level(&self, factor: &Factor, label: &Label) -> Option<()> {
        if factor.level(label).is_some() {
            return Some(());
        }
        let labels = factor.levels.iter().map(|level| level.label.to_string());
        let labels: Vec<String> = labels.collect();
        let known: Vec<&str> = labels.iter().map(String::as_str).collect();
        let (name, rest) = (&factor.name, near_or_all(&label.to_string(), &known));
        self.error(format!("unknown level `{label}` of factor `{name}`{rest}"))
    }

    /// Refuses the first name that is no factor, or what is no level of one.
    fn check_levels(&self) -> Option<()> {
        self.entries().iter().try_for_each(|entry| {
            let factor = entry.factor(entry.key)?;
            let levels = match entry.is_list() {
                true => entry.elements(),
                false => vec![entry.clone()],
            };
            let mut labels = levels.iter().filter_map(Node::label);
            labels.try_for_each(|label| entry.level(factor, &label))
        })
    }

    /// Refuses the name of a metric that there is not.
    pub fn metric(&self, name: &str) -> Option<()> {
        match self.source.metrics {
            Some(known) if !known.contains(&name) => {
                let rest = near_or_all(name, known);
                self.error(format!("unknown metric `{name}`{rest}"))
            }
            _ => Some(()),
        }
    }

    fn keep(&self, wrong: Wrong) -> Wrong {
        match wrong {
            Wrong::Kept => {}
            Wrong::Missing(key) => drop(self.missing::<()>(key)),
            Wrong::NotAllowed(allowed) => {
                let (key, shown) = (self.key, self.shown());
                let message = format!("`{key}` is {shown}; allowed: {allowed}");
                self.source.keep(self.offset, message);
            }
            Wrong::Said(message) => {
                let key = self.key;
                self.source.keep(self.offset, format!("`{key}`: {message}"));
            }
        }
        Wrong::Kept
    }
}

const PAIR: &str = "a list of two";

/// Why a value cannot be read.
#[derive(Debug)]
pub enum Wrong {
    Kept,
    Missing(&'static str),
    NotAllowed(String),
    Said(String),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Wrong {}

impl de::Error for Wrong {
    fn custom<T: fmt::Display>(message: T) -> Wrong {
        Wrong::Said(message.to_string())
    }

    fn invalid_type(_: Unexpected, allowed: &dyn Expected) -> Wrong {
        let allowed = allowed.to_string();
        Wrong::NotAllowed(match allowed.as_str() {
            "a boolean" => "true or false".to_owned(),
            "a string" => "text".to_owned(),
            "f64" => "a number".to_owned(),
            "a sequence" => "a list".to_owned(),
            "a map" => "a table".to_owned(),
            "an array of length 2" => PAIR.to_owned(),
            _ => allowed,
        })
    }

    /// Only a pair has a length.
    fn invalid_length(_: usize, _: &dyn Expected) -> Wrong {
        Wrong::NotAllowed(PAIR.to_owned())
    }

    fn invalid_value(of: Unexpected, allowed: &dyn Expected) -> Wrong {
        Wrong::invalid_type(of, allowed)
    }

    fn unknown_variant(name: &str, known: &'static [&'static str]) -> Wrong {
        let words: Vec<String> = known.iter().map(|word| format!("\"{word}\"")).collect();
        let hint = did_you_mean(name, known.iter().copied());
        Wrong::NotAllowed(words.join(" or ") + &hint)
    }

    fn missing_field(key: &'static str) -> Wrong {
        Wrong::Missing(key)
    }
}

impl<'de> Deserializer<'de> for Node<'de> {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let read = match self.what {
            What::Value(Value::String(text)) => visitor.visit_borrowed_str(text.value()),
            What::Value(Value::Integer(number)) => visitor.visit_i64(*number.value()),
            What::Value(Value::Float(number)) => visitor.visit_f64(*number.value()),
            What::Value(Value::Boolean(on)) => visitor.visit_bool(*on.value()),
            What::Value(Value::Datetime(_)) => {
                Err(de::Error::invalid_type(Unexpected::Other("time"), &visitor))
            }
            What::Value(Value::Array(_)) | What::Tables(_) => {
                let mut elements = SeqDeserializer::new(self.elements().into_iter());
                let read = visitor.visit_seq(&mut elements);
                read.and_then(|read| elements.end().map(|()| read))
            }
            What::Value(Value::InlineTable(_)) | What::Table(_) => {
                visitor.visit_map(by_key(self.entries()))
            }
        };
        read.map_err(|wrong| self.keep(wrong))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_some(self)
    }

    /// Each unknown key is kept, and may be meant for one that is missing.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        if self.table().is_none() {
            return Err(self.keep(Wrong::NotAllowed("a table".to_owned())));
        }
        let is_field = |node: &Node| fields.contains(&node.key);
        let (own, others): (Vec<Node>, Vec<Node>) = self.entries().into_iter().partition(is_field);
        let is_unknown = |node: &&Node| !self.also.contains(&node.key);
        let unknown: Vec<&Node> = others.iter().filter(is_unknown).take(MISTAKES).collect();
        for node in &unknown {
            node.unknown::<()>(&self, &[fields, &self.also].concat());
        }
        let read = visitor.visit_map(by_key(own));
        read.map_err(|wrong| match wrong {
            Wrong::Missing(_) if !unknown.is_empty() => Wrong::Kept,
            wrong => self.keep(wrong),
        })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match (name, self.text()) {
            ("Metric", Some(metric)) => drop(self.metric(metric)),
            ("FactorName", Some(factor)) => drop(self.factor(factor)),
            ("FactorName", None) => {
                return Err(self.keep(Wrong::NotAllowed(FACTOR_NAME.to_owned())));
            }
            ("OfFactors", _) if self.table().is_some() => self.check_levels().ok_or(Wrong::Kept)?,
            _ => {}
        }
        let read = match name {
            "Many" if !self.is_list() => {
                let only = SeqDeserializer::new(std::iter::once(self.clone()));
                visitor.visit_newtype_struct(SeqAccessDeserializer::new(only))
            }
            _ => visitor.visit_newtype_struct(self.clone()),
        };
        read.map_err(|wrong| self.keep(wrong))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        let read = match self.text() {
            Some(word) => visitor.visit_enum(BorrowedStrDeserializer::new(word)),
            None => Err(de::Error::unknown_variant("", words)),
        };
        read.map_err(|wrong| self.keep(wrong))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Wrong> for Node<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// The entries of a table by their keys.
fn by_key<'a>(
    entries: Vec<Node<'a>>,
) -> MapDeserializer<'a, impl Iterator<Item = (&'a str, Node<'a>)>, Wrong> {
    MapDeserializer::new(entries.into_iter().map(|node| (node.key, node)))
}
