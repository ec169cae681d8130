//! Reading a TOML table: every error is reported with its line.

use std::ops::Range;

use toml_edit::{Item, TableLike, Value};

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
        StudyError {
            file: self.file.to_owned(),
            line: self.line(span),
            message: message.into(),
        }
    }

    pub fn line(&self, span: Option<Range<usize>>) -> usize {
        let end = span.map_or(0, |span| span.start.min(self.text.len()));
        1 + self.text.as_bytes()[..end]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
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

    pub fn error_at(&self, key: &str, message: impl Into<String>) -> StudyError {
        let span = self
            .table
            .get_key_value(key)
            .and_then(|(key, item)| key.span().or(item.span()));
        self.source.error(span.or(self.span.clone()), message)
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

    pub fn whole(&self, key: &str, range: Range<u32>) -> Result<Option<u32>, StudyError> {
        let allowed = format!("a whole number from {} to {}", range.start, range.end - 1);
        self.typed(key, &allowed, |value| {
            let number = u32::try_from(value.as_integer()?).ok()?;
            range.contains(&number).then_some(number)
        })
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

/// A value as the study's author wrote it, without the comments and spaces around it.
pub fn shown(value: &Value) -> String {
    value.clone().decorated("", "").to_string()
}
