//! Reading a TOML table: every error is reported with its place.

use std::ops::Range;

use toml_edit::{Document, Item, TableLike, Value};

use crate::error::StudyError;
use bitcost_model::near::near_or_all;

/// The file being read.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl Source<'_> {
    pub fn error(&self, span: Option<Range<usize>>, message: impl Into<String>) -> StudyError {
        self.error_at(span.map_or(0, |span| span.start), message)
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
}

/// One table of the file, with the name that errors use.
#[derive(Clone)]
pub struct Section<'a> {
    pub source: Source<'a>,
    pub name: String,
    pub table: &'a dyn TableLike,
    pub span: Option<Range<usize>>,
}

impl<'a> Section<'a> {
    /// The table that a whole text is.
    pub fn top(source: Source<'a>, document: &'a Document<&str>) -> Section<'a> {
        Section {
            source,
            name: String::new(),
            table: document.as_table(),
            span: None,
        }
    }

    pub fn of(source: Source<'a>, name: &str, item: &'a Item) -> Result<Section<'a>, StudyError> {
        match item.as_table_like() {
            Some(table) => Ok(Section {
                source,
                name: name.to_owned(),
                table,
                span: item.span(),
            }),
            None => Err(source.error(
                item.span(),
                format!("`{name}` is a {}; allowed: a table", item.type_name()),
            )),
        }
    }

    pub fn error(&self, message: impl Into<String>) -> StudyError {
        self.source.error(self.span.clone(), message)
    }

    /// Where a key is in the text, in bytes.
    pub fn offset(&self, key: &str) -> Option<usize> {
        let (key, item) = self.table.get_key_value(key)?;
        key.span().or(item.span()).map(|span| span.start)
    }

    pub fn error_at(&self, key: &str, message: impl Into<String>) -> StudyError {
        match self.offset(key) {
            Some(offset) => self.source.error_at(offset, message),
            None => self.error(message),
        }
    }

    pub fn only(&self, allowed: &[&str]) -> Result<(), StudyError> {
        self.unknown(allowed).into_iter().next().map_or(Ok(()), Err)
    }

    /// An error for each key that is not allowed.
    pub fn unknown(&self, allowed: &[&str]) -> Vec<StudyError> {
        let keys = self.table.iter().map(|(key, _)| key);
        keys.filter(|key| !allowed.contains(key))
            .map(|key| {
                let (place, rest) = (self.place(), near_or_all(key, allowed));
                self.error_at(key, format!("unknown key `{key}`{place}{rest}"))
            })
            .collect()
    }

    pub fn section(&self, key: &str) -> Result<Option<Section<'a>>, StudyError> {
        let name = if self.name.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.name)
        };
        self.table
            .get(key)
            .map(|item| Section::of(self.source, &name, item))
            .transpose()
    }

    pub fn sections(&self, key: &str) -> Result<Vec<Section<'a>>, StudyError> {
        let Some(item) = self.table.get(key) else {
            return Ok(Vec::new());
        };
        let Some(array) = item.as_array_of_tables() else {
            return Err(self.error_at(
                key,
                format!(
                    "`{key}` is a {}; allowed: [[{key}]] tables",
                    item.type_name()
                ),
            ));
        };
        let section = |table: &'a toml_edit::Table| Section {
            source: self.source,
            name: key.to_owned(),
            table,
            span: table.span(),
        };
        Ok(array.iter().map(section).collect())
    }

    pub fn value(&self, key: &str) -> Result<Option<&'a Value>, StudyError> {
        let Some(item) = self.table.get(key) else {
            return Ok(None);
        };
        match item.as_value() {
            Some(value) => Ok(Some(value)),
            None => Err(self.error_at(
                key,
                format!("`{key}` is a {}; allowed: a value", item.type_name()),
            )),
        }
    }

    pub fn text(&self, key: &str) -> Result<Option<String>, StudyError> {
        self.typed(key, "a string", |value| value.as_str().map(str::to_owned))
    }

    pub fn required_text(&self, key: &str) -> Result<String, StudyError> {
        self.text(key)?
            .ok_or_else(|| self.error(format!("`{key}` is missing{}", self.place())))
    }

    pub fn switch(&self, key: &str) -> Result<Option<bool>, StudyError> {
        self.typed(key, "true or false", Value::as_bool)
    }

    pub fn typed<T>(
        &self,
        key: &str,
        allowed: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, StudyError> {
        let Some(value) = self.value(key)? else {
            return Ok(None);
        };
        match read(value) {
            Some(result) => Ok(Some(result)),
            None => {
                let found = shown(value);
                Err(self.error_at(key, format!("`{key}` is {found}; allowed: {allowed}")))
            }
        }
    }

    pub fn place(&self) -> String {
        if self.name.is_empty() {
            String::new()
        } else {
            format!(" in [{}]", self.name)
        }
    }
}

/// Where a value begins in the text, in bytes.
pub fn begin(value: &Value) -> usize {
    value.span().map_or(0, |span| span.start)
}

/// A value as the study's author wrote it, without the comments and spaces around it.
pub fn shown(value: &Value) -> String {
    value.clone().decorated("", "").to_string()
}
