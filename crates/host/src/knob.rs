//! The trait of a knob: a setting of a host whose values can be read, requested, and compared.

use bitcost_model::host_settings::HostSetting;
use serde::{Deserialize, Serialize};

use crate::HostError;
use crate::device::{check_name, devices};
use crate::values::{Mismatch, VALUE, Values};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Network,
    Machine,
}

/// One kind of setting of a host. All of it acts in the caller's network namespace.
pub trait Knob: Sync {
    /// The name of its setting ([`bitcost_model::host_settings`]), which records and output have.
    fn name(&self) -> &'static str;

    /// Checks that a text can be a subject of this knob: a device, unless the knob is of something
    /// else. Subjects come from journals, from the controller and from the command line, and some
    /// become parts of paths.
    fn check_subject(&self, subject: &str) -> Result<(), HostError> {
        check_name(subject)
    }

    fn scope(&self, _subject: &str) -> Scope {
        Scope::Network
    }

    /// Every subject of this host that has values of the knob: a device, a sysctl.
    fn subjects(&self) -> Vec<String> {
        let has_it = |device: &String| self.observe(device).is_ok_and(|values| !values.is_empty());
        devices().into_iter().filter(has_it).collect()
    }

    /// The subjects of a request, of a run over `device`.
    fn subjects_of(&self, device: &str, _: &HostSetting) -> Result<Vec<String>, HostError> {
        Ok(vec![device.to_owned()])
    }

    /// The name of one of its values in the record of a run.
    fn label(&self, _subject: &str, value: &str) -> String {
        match value {
            VALUE => self.name().to_owned(),
            value => format!("{}.{value}", self.name()),
        }
    }

    fn observe(&self, subject: &str) -> Result<Values, HostError>;

    /// The values to write for a request, by the names and in the words of [`Knob::observe`].
    fn plan(&self, subject: &str, now: &Values, request: &HostSetting)
    -> Result<Values, HostError>;

    /// The error for a request of another knob.
    fn not_its(&self, request: &HostSetting) -> HostError {
        let what = format!("set {} to {request}", self.name());
        HostError::cannot(what, format!("this is a value of {}", request.name()))
    }

    /// The present values of everything else that the kernel changes along with this setting, by
    /// the names of [`crate::snapshot`]. They are restored with it.
    fn side_effects(&self, _subject: &str) -> Result<Values, HostError> {
        Ok(Values::new())
    }

    /// Writes values. Success is no proof that they are in effect.
    fn write(&self, subject: &str, now: &Values, values: &Values) -> Result<(), HostError>;

    /// Whether a value as read back is the requested one.
    fn agrees(&self, _name: &str, asked: &str, actual: &str) -> bool {
        asked == actual
    }

    /// Whether the values can only be restored together.
    fn is_whole(&self) -> bool {
        false
    }
}

/// Checks that requested values are in effect.
pub fn check(
    knob: &'static dyn Knob,
    subject: &str,
    asked: &Values,
    now: &Values,
) -> Result<(), HostError> {
    let wrong = |(name, asked): (&String, &String)| {
        let actual = now.get(name);
        let agrees = actual.is_some_and(|actual| knob.agrees(name, asked, actual));
        (!agrees).then(|| Mismatch {
            name: name.clone(),
            asked: Some(asked.clone()),
            actual: actual.cloned(),
        })
    };
    let mismatches: Vec<Mismatch> = asked.iter().filter_map(wrong).collect();
    match mismatches.is_empty() {
        true => Ok(()),
        false => Err(HostError::NotApplied {
            knob: knob.name(),
            subject: subject.to_owned(),
            mismatches,
        }),
    }
}
