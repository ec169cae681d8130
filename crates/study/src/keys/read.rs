//! Reading values within the bounds and words that the row of their key has.

use toml_edit::Value;

use super::key::{Form, Table};
use crate::error::StudyError;
use crate::section::Section;

impl Form {
    /// The value as a number within the bounds of this form.
    pub fn number(self, value: &Value) -> Option<f64> {
        let whole = value.as_integer().map(|number| number as f64);
        let number = value
            .as_float()
            .filter(|number| number.is_finite())
            .or(whole)?;
        let is_allowed = match self {
            Form::Number => true,
            Form::Share(most) => number > 0.0 && number <= most,
            Form::Whole(least, most, _) => {
                whole.is_some() && (f64::from(least)..=f64::from(most)).contains(&number)
            }
            _ => false,
        };
        is_allowed.then_some(number)
    }
}

impl Table {
    /// A number within the bounds of its key.
    pub fn number(&self, section: &Section, key: &str) -> Result<Option<f64>, StudyError> {
        let form = self.form(key);
        section.typed(key, &form.allowed(), |value| form.number(value))
    }

    /// A whole number within the bounds of its key.
    pub fn whole(&self, section: &Section, key: &str) -> Result<Option<u32>, StudyError> {
        Ok(self.number(section, key)?.map(|number| number as u32))
    }

    /// A value of one of the words of its key.
    pub fn word<T>(
        &self,
        section: &Section,
        key: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, StudyError> {
        section.typed(key, &self.form(key).allowed(), |value| {
            read(value.as_str()?)
        })
    }
}
