//! What a knob is: a thing of a host whose values can be read, asked for, and compared.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::HostError;

/// Values by name, as texts; a knob of one value calls it "value".
pub type Values = BTreeMap<String, String>;

/// The name of a knob's only value.
pub const VALUE: &str = "value";

/// How a value ends that cannot be changed, as ethtool shows it.
pub const FIXED: &str = "[fixed]";

/// How far a change reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// One network namespace.
    Network,
    /// The whole machine.
    Machine,
}

/// One kind of setting of a host. All of it acts in the caller's network namespace.
pub trait Knob: Sync {
    /// Its name in records and on the screen.
    fn name(&self) -> &'static str;

    /// What it changes.
    fn about(&self) -> &'static str;

    /// Refuses what cannot be a subject of this knob. Subjects come from journals, from the controller and from the command
    /// line, and some become parts of paths.
    ///
    /// # Errors
    /// A sentence with what is allowed.
    fn check_subject(&self, subject: &str) -> Result<(), HostError>;

    /// How far a change reaches.
    fn scope(&self, _subject: &str) -> Scope {
        Scope::Network
    }

    /// Every subject of this host that has the knob: a device, a sysctl, a CPU.
    fn subjects(&self) -> Vec<String>;

    /// The values in force.
    fn observe(&self, subject: &str) -> Result<Values, HostError>;

    /// What to ask for so that a wish comes true, in the names and words of [`Knob::observe`].
    fn plan(&self, subject: &str, now: &Values, wish: &Values) -> Result<Values, HostError>;

    /// The present values of other things that the kernel changes along with this setting, by the names of
    /// [`crate::snapshot`]. They are restored with it.
    fn along(&self, _subject: &str) -> Result<Values, HostError> {
        Ok(Values::new())
    }

    /// Asks for values. Success is no proof that they are in force.
    fn write(&self, subject: &str, now: &Values, values: &Values) -> Result<(), HostError>;

    /// Whether a value as read is what was asked for.
    fn agrees(&self, _name: &str, asked: &str, actual: &str) -> bool {
        asked == actual
    }

    /// Whether the values make one thing, so that one of them cannot be put back without the others.
    fn is_whole(&self) -> bool {
        false
    }
}

/// A value that is not what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// Its name.
    pub name: String,
    /// What was asked for; `None`: that there be none.
    pub asked: Option<String>,
    /// What was read; `None` where there is none.
    pub actual: Option<String>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
        let why = if self.actual.as_ref().is_some_and(|actual| actual.ends_with(FIXED)) {
            ": the device does not let it be changed"
        } else {
            ""
        };
        write!(f, "{} asked {}, in force {}{why}", self.name, text(&self.asked), text(&self.actual))
    }
}

/// The values asked for that are not in force.
pub fn mismatches(knob: &dyn Knob, asked: &Values, now: &Values) -> Vec<Mismatch> {
    let wrong = |(name, asked): (&String, &String)| {
        let actual = now.get(name);
        let agrees = actual.is_some_and(|actual| knob.agrees(name, asked, actual));
        (!agrees).then(|| Mismatch { name: name.clone(), asked: Some(asked.clone()), actual: actual.cloned() })
    };
    asked.iter().filter_map(wrong).collect()
}

/// The values of `now` that differ from `before`, and those that only one of them has.
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

/// The values of a knob that has one.
pub fn single(value: impl Into<String>) -> Values {
    Values::from([(VALUE.to_owned(), value.into())])
}
