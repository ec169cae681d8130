//! A setting: its name, its allowed values, and the function that reads and sets one of them.

use bitcost_model::Invalid;
use bitcost_model::conditions::Conditions;
use bitcost_model::conditions::bounds::{Bounds, Unit};
use bitcost_model::near::did_you_mean;
use bitcost_model::units;
use toml_edit::Value;

use crate::host_settings::Grammar;

/// A word, and the function that sets its value.
pub type Choice = (&'static str, fn(&mut Conditions));

/// The allowed values of a setting, with the function that sets each of them.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Number(&'static Bounds, &'static [Choice], fn(&mut Conditions, u64)),
    Word(&'static [Choice]),
    Named(
        fn() -> Vec<&'static str>,
        fn(&mut Conditions, &str) -> Option<()>,
    ),
    Text(&'static Form),
    Host(&'static Grammar),
    /// True or false.
    Switch(fn(&mut Conditions, bool)),
    /// Background workloads, which have settings themselves.
    Background,
}

#[derive(Debug)]
pub struct Form {
    /// The placeholder of a value in the help.
    pub value_name: &'static str,
    /// The allowed texts, in words, with an example.
    pub allowed: &'static str,
    /// Reads a text and sets its value; `None` for a text that does not have this form.
    pub set: fn(&mut Conditions, &str) -> Option<()>,
}

/// The option of a setting on the command line.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Its name without the two dashes.
    pub long: &'static str,
    pub letter: Option<char>,
}

/// One setting of a run, as a study names it.
#[derive(Debug)]
pub struct Setting {
    /// Its name in a study; the unit comes last.
    pub name: &'static str,
    /// Its option of `bitcost test`; absent: studies only.
    pub flag: Option<Flag>,
    pub kind: Kind,
    /// Its effect and its default, for people.
    pub about: &'static str,
    /// Whether it applies to the whole run, so that a background workload cannot set it separately.
    pub of_run: bool,
}

impl Setting {
    /// Sets it to a text, as a command line has it.
    ///
    /// # Errors
    /// A sentence that says what was found and what is allowed, with near matches.
    pub(super) fn set_text(&self, conditions: &mut Conditions, text: &str) -> Result<(), Invalid> {
        match self.kind {
            Kind::Host(grammar) => grammar.set(conditions, text),
            kind => kind.set_text(conditions, text).ok_or_else(|| {
                let hint = did_you_mean(text, kind.words());
                let allowed = kind.allowed();
                Invalid(format!(
                    "`{text}` is not a valid value; allowed: {allowed}{hint}"
                ))
            }),
        }
    }

    /// Sets it to a value of a study file.
    ///
    /// # Errors
    /// A sentence that says what was found and what is allowed, with near matches.
    pub(super) fn set_value(
        &self,
        conditions: &mut Conditions,
        value: &Value,
    ) -> Result<(), Invalid> {
        let name = self.name;
        let refused = |why: &str| Invalid(format!("`{name}` is {}{why}", shown(value)));
        if let (Kind::Host(grammar), Some(text)) = (self.kind, plain_text(value)) {
            return grammar
                .set(conditions, &text)
                .map_err(|why| refused(&format!(": {why}")));
        }
        self.kind.set_value(conditions, value).ok_or_else(|| {
            let hint = did_you_mean(value.as_str().unwrap_or_default(), self.kind.words());
            refused(&format!("; allowed: {}{hint}", self.kind.allowed()))
        })
    }
}

impl Kind {
    /// The allowed values, in words.
    pub fn allowed(&self) -> String {
        match self {
            Kind::Number(bounds, [], _) => bounds.allowed(),
            Kind::Number(bounds, ..) => format!("{}, or {}", bounds.allowed(), self.quoted_words()),
            Kind::Word(_) | Kind::Named(..) => self.quoted_words(),
            Kind::Text(form) => form.allowed.to_owned(),
            Kind::Host(grammar) => grammar.allowed.to_owned(),
            Kind::Switch(_) => "true or false".to_owned(),
            Kind::Background => {
                "a list of tables such as [{ workload = \"tcp_rr\", direction = \"reverse\" }]"
                    .to_owned()
            }
        }
    }

    pub fn words(&self) -> Vec<&'static str> {
        match self {
            Kind::Number(_, choices, _) | Kind::Word(choices) => {
                choices.iter().map(|(word, _)| *word).collect()
            }
            Kind::Named(names, _) => names(),
            Kind::Text(_) | Kind::Host(_) | Kind::Switch(_) | Kind::Background => Vec::new(),
        }
    }

    fn quoted_words(&self) -> String {
        let quoted: Vec<String> = self
            .words()
            .iter()
            .map(|word| format!("\"{word}\""))
            .collect();
        quoted.join(" or ")
    }

    /// A value that was typed on the command line, in the form of a study file.
    pub(crate) fn to_toml(self, typed: &str) -> String {
        match self {
            Kind::Switch(_) => typed.to_owned(),
            _ => Value::from(typed).to_string(),
        }
    }

    /// The placeholder of a value in the help of an option.
    pub fn value_name(&self) -> String {
        match self {
            Kind::Number(bounds, ..) => match bounds.unit {
                Unit::Bytes | Unit::TotalBytes => "BYTES".to_owned(),
                Unit::BitsPerSecond => "RATE".to_owned(),
                Unit::Count => "N".to_owned(),
                Unit::Milliseconds | Unit::Named(_) => "TIME".to_owned(),
            },
            Kind::Word(_) | Kind::Named(..) => self.words().join("|"),
            Kind::Text(form) => form.value_name.to_owned(),
            Kind::Host(grammar) => grammar.value_name.to_owned(),
            Kind::Switch(_) => "true|false".to_owned(),
            Kind::Background => "\"WORKLOAD OPTION=VALUE …\"".to_owned(),
        }
    }

    fn set_text(self, conditions: &mut Conditions, text: &str) -> Option<()> {
        match self {
            Kind::Number(bounds, choices, set) => {
                set_choice(conditions, choices, text).or_else(|| {
                    set(conditions, number_of_text(bounds, text)?);
                    Some(())
                })
            }
            Kind::Word(choices) => set_choice(conditions, choices, text),
            Kind::Named(_, set) => set(conditions, text),
            Kind::Text(form) => (form.set)(conditions, text),
            Kind::Switch(set) => {
                set(conditions, text.parse().ok()?);
                Some(())
            }
            Kind::Host(_) | Kind::Background => None,
        }
    }

    fn set_value(self, conditions: &mut Conditions, value: &Value) -> Option<()> {
        match (self, value) {
            (Kind::Switch(set), _) => set(conditions, value.as_bool()?),
            (Kind::Number(bounds, _, set), Value::Integer(_) | Value::Float(_)) => {
                set(conditions, number(bounds, value)?);
            }
            _ => self.set_text(conditions, &plain_text(value)?)?,
        }
        Some(())
    }
}

fn set_choice(conditions: &mut Conditions, choices: &[Choice], text: &str) -> Option<()> {
    let (_, set) = choices.iter().find(|(word, _)| *word == text)?;
    set(conditions);
    Some(())
}

/// A whole number or a string in the form of a command line.
fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::Integer(number) => Some(number.value().to_string()),
        Value::String(text) => Some(text.value().clone()),
        _ => None,
    }
}

/// The number in a value of a study file, where it is within the bounds. Times are in seconds
/// there.
pub fn number(bounds: &Bounds, value: &Value) -> Option<u64> {
    let scale = match bounds.unit {
        Unit::Milliseconds => 1000.0,
        _ => 1.0,
    };
    match value {
        Value::Integer(number) => within(bounds, *number.value() as f64 * scale),
        Value::Float(number) if bounds.unit == Unit::Milliseconds => {
            within(bounds, *number.value() * scale)
        }
        Value::String(text) => number_of_text(bounds, text.value()),
        _ => None,
    }
}

fn number_of_text(bounds: &Bounds, text: &str) -> Option<u64> {
    let number = match bounds.unit {
        Unit::Bytes => units::parse_bytes(text).ok()? as f64,
        Unit::TotalBytes => units::parse_total_bytes(text).ok()? as f64,
        Unit::BitsPerSecond => units::parse_rate(text).ok()? as f64,
        Unit::Count => text.parse::<u64>().ok()? as f64,
        Unit::Named(unit) => match text.parse::<u64>() {
            Ok(number) => number as f64,
            Err(_) => milliseconds(text)? * per_millisecond(unit)?,
        },
        Unit::Milliseconds => milliseconds(text)?,
    };
    within(bounds, number)
}

/// How many of this unit of time are a millisecond; absent for what is no time.
fn per_millisecond(unit: &str) -> Option<f64> {
    match unit {
        "ms" => Some(1.0),
        "us" => Some(1e3),
        "ns" => Some(1e6),
        _ => None,
    }
}

fn milliseconds(text: &str) -> Option<f64> {
    if matches!(text, "0" | "0s") {
        return Some(0.0);
    }
    Some(units::parse_duration(text).ok()?.as_secs_f64() * 1000.0)
}

/// The whole number next to it, if it is within the bounds. What is above 0 does not become 0.
fn within(bounds: &Bounds, number: f64) -> Option<u64> {
    let is_lost = number > 0.0 && number.round() == 0.0;
    let number = number.round();
    (!is_lost && number >= bounds.least as f64 && number <= bounds.most as f64)
        .then_some(number as u64)
}

/// A value as its author wrote it, without the comments and spaces around it.
pub fn shown(value: &Value) -> String {
    value.clone().decorated("", "").to_string()
}
