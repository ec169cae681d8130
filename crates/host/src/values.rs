//! The values of a setting, and how they differ from others.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Values by name, as texts; a knob with one value calls it "value".
pub type Values = BTreeMap<String, String>;

/// The name of a knob's only value.
pub const VALUE: &str = "value";

/// The folder of kernel parameters as files.
pub const PARAMETERS: &str = "/proc/sys";

/// The ending of a value that cannot be changed, as ethtool shows it.
pub const FIXED: &str = "[fixed]";

/// A value that is not the requested one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    pub name: String,
    /// The requested value; `None` when the value should be absent.
    pub asked: Option<String>,
    /// The value that was read back; `None` when it is absent.
    pub actual: Option<String>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
        let why = if self
            .actual
            .as_ref()
            .is_some_and(|actual| actual.ends_with(FIXED))
        {
            ": the device does not allow a change"
        } else {
            ""
        };
        write!(
            f,
            "{} requested {}, in effect {}{why}",
            self.name,
            text(&self.asked),
            text(&self.actual)
        )
    }
}

/// The values that differ between `before` and `now`, and those that only one of them has.
pub fn differences(before: &Values, now: &Values) -> Vec<Mismatch> {
    let mut names: Vec<&String> = before.keys().chain(now.keys()).collect();
    names.sort();
    names.dedup();
    let differs = |name: &&String| before.get(*name) != now.get(*name);
    let mismatch = |name: &String| Mismatch {
        name: name.clone(),
        asked: before.get(name).cloned(),
        actual: now.get(name).cloned(),
    };
    names.into_iter().filter(differs).map(mismatch).collect()
}

/// Words with one space between them, for comparison.
pub fn words(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

pub fn single(value: impl Into<String>) -> Values {
    Values::from([(VALUE.to_owned(), value.into())])
}
