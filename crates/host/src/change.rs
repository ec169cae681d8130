//! One change of one knob: made, read again, and taken back unless somebody else changed it meanwhile.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::device::shown;
use crate::knob::{Knob, Mismatch, Values, differences, mismatches};
use crate::{HostError, knob_named, snapshot};

/// What is about to be changed, as it is written down before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its number in the journal.
    pub number: u32,
    /// The knob.
    pub knob: String,
    /// What it changes: a device, a sysctl, a CPU.
    pub subject: String,
    /// Every value before.
    pub before: Values,
    /// The values asked for.
    pub asked: Values,
    /// Every value after; `None` until they were read.
    #[serde(default)]
    pub after: Option<Values>,
    /// Values of other things that the kernel changes along with it, before ([`crate::snapshot`]).
    #[serde(default)]
    pub along: Values,
    /// The same after; `None` until they were read.
    #[serde(default)]
    pub along_after: Option<Values>,
}

/// What came of taking a change back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The knob.
    pub knob: String,
    /// What it changed.
    pub subject: String,
    /// Values that somebody else changed meanwhile: left as they are. `asked` is the value before.
    pub foreign: Vec<Mismatch>,
    /// Values that are not as before although they were asked for.
    pub wrong: Vec<Mismatch>,
    /// Why nothing could be done.
    pub failed: Option<String>,
    /// The subject is gone, and its values with it.
    pub gone: Option<String>,
}

impl Outcome {
    /// Whether nothing is left to do.
    pub fn is_settled(&self) -> bool {
        self.wrong.is_empty() && self.failed.is_none()
    }

    /// Whether every value is as before.
    pub fn is_clean(&self) -> bool {
        self.is_settled() && self.foreign.is_empty() && self.gone.is_none()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome { knob, subject, foreign, wrong, failed, gone } = self;
        if self.is_clean() {
            return write!(f, "{knob} of {subject}: as before");
        }
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
        let mut parts = Vec::new();
        for Mismatch { name, asked, actual } in foreign {
            parts.push(format!(
                "{name} was changed by somebody else and is left at {} (before: {})",
                text(actual),
                text(asked)
            ));
        }
        for Mismatch { name, asked, actual } in wrong {
            parts.push(format!("{name} was {}, is {}: could not be put back", text(asked), text(actual)));
        }
        parts.extend(failed.as_ref().map(|reason| format!("could not be put back: {reason}")));
        parts.extend(gone.as_ref().map(|reason| format!("nothing to put back: {reason}")));
        write!(f, "{knob} of {subject}: {}", parts.join("; "))
    }
}

/// Asks for the values of `change` and reads what became of it.
///
/// The values read are left in `change.after`.
pub fn make(knob: &'static dyn Knob, change: &mut Change) -> Result<(), HostError> {
    knob.write(&change.subject, &change.before, &change.asked)?;
    let now = knob.observe(&change.subject)?;
    let mismatches = mismatches(knob, &change.asked, &now);
    change.after = Some(now);
    change.along_after = Some(snapshot::now(&change.along));
    if mismatches.is_empty() {
        return Ok(());
    }
    Err(HostError::NotApplied { knob: knob.name(), subject: change.subject.clone(), mismatches })
}

/// Takes a change back and reads what became of it.
pub fn take_back(change: &Change) -> Outcome {
    let mut outcome = Outcome { knob: change.knob.clone(), subject: change.subject.clone(), ..Outcome::default() };
    let Some(knob) = knob_named(&change.knob) else {
        outcome.failed = Some(format!("this bitcost knows no knob \"{}\"; use the one that changed it", change.knob));
        return outcome;
    };
    match try_to_take_back(knob, change, &mut outcome) {
        Ok(()) => {}
        Err(HostError::Netlink(error)) if error.is_no_device() => {
            // What went along is gone with it, or was put back.
            outcome.foreign.clear();
            outcome.gone = Some(error.to_string());
        }
        Err(error) => outcome.failed = Some(error.to_string()),
    }
    outcome
}

fn try_to_take_back(knob: &dyn Knob, change: &Change, outcome: &mut Outcome) -> Result<(), HostError> {
    knob.check_subject(&change.subject)?;
    check_size(change)?;
    let along = along_of_ours(knob, change, outcome)?;
    take_back_own(knob, change, outcome)?;
    let left = snapshot::put_back(&along);
    // What somebody else gave the setting itself may not let the former values be.
    if outcome.foreign.is_empty() {
        outcome.wrong.extend(left)
    } else {
        outcome.foreign.extend(left)
    }
    Ok(())
}

/// What went along, but for what somebody else changed since; that is noted.
///
/// Where the setting is as before already, whoever restored it was killed in the middle: then what went along may be
/// neither as before nor as it was while the setting was in force.
fn along_of_ours(knob: &dyn Knob, change: &Change, outcome: &mut Outcome) -> Result<Values, HostError> {
    let mut ours = change.along.clone();
    let Some(after) = change.along_after.as_ref().filter(|_| !ours.is_empty()) else { return Ok(ours) };
    if differences(&change.before, &knob.observe(&change.subject)?).is_empty() {
        return Ok(ours);
    }
    for changed in differences(&change.along, &snapshot::now(&change.along)) {
        if after.get(&changed.name) != changed.actual.as_ref() {
            ours.remove(&changed.name);
            outcome.foreign.push(changed);
        }
    }
    Ok(ours)
}

fn take_back_own(knob: &dyn Knob, change: &Change, outcome: &mut Outcome) -> Result<(), HostError> {
    let now = knob.observe(&change.subject)?;
    let changed = differences(&change.before, &now);
    let foreign: Vec<Mismatch> =
        changed.iter().filter(|difference| is_foreign(knob, change, difference)).cloned().collect();
    let is_left = |name: &str| foreign.iter().any(|foreign| foreign.name == name);
    if changed.len() == foreign.len() || (knob.is_whole() && !foreign.is_empty()) {
        outcome.foreign.extend(foreign);
        return Ok(());
    }
    let former = change.before.iter().filter(|(name, _)| !is_left(name));
    let former: Values = former.map(|(name, value)| (name.clone(), value.clone())).collect();
    knob.write(&change.subject, &now, &former)?;
    let now = knob.observe(&change.subject)?;
    outcome.wrong = differences(&change.before, &now);
    outcome.wrong.retain(|difference| !is_left(&difference.name));
    outcome.foreign.extend(foreign);
    Ok(())
}

/// Most values of one knob, and most bytes of their names and texts, that are written back: netlink messages have attributes
/// of at most 64 KiB.
const VALUES_MOST: usize = 1024;
const BYTES_MOST: usize = 32 << 10;

fn check_size(change: &Change) -> Result<(), HostError> {
    let bytes: usize = change.before.iter().map(|(name, value)| name.len() + value.len()).sum();
    if change.before.len() <= VALUES_MOST && bytes <= BYTES_MOST {
        return Ok(());
    }
    let (knob, subject) = (&change.knob, shown(&change.subject));
    let why = format!("its former values are {bytes} bytes; allowed: {BYTES_MOST}, in at most {VALUES_MOST} values");
    Err(HostError::cannot(format!("restore {knob} of {subject}"), why))
}

/// Whether a value that is not as before is not as this change left it either.
///
/// Where the change was not read back (its maker died in the middle), a value asked for may be as asked or not there
/// yet, and others may have gone along with it.
fn is_foreign(knob: &dyn Knob, change: &Change, difference: &Mismatch) -> bool {
    let Mismatch { name, actual, .. } = difference;
    match (&change.after, change.asked.get(name), actual) {
        (Some(after), ..) => after.get(name) != actual.as_ref(),
        (None, Some(asked), Some(actual)) => !knob.agrees(name, asked, actual),
        (None, ..) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Offloads, RootQdisc};

    fn values(pairs: &[(&str, &str)]) -> Values {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn foreign(knob: &'static dyn Knob, change: &Change, now: &[(&str, &str)]) -> Vec<String> {
        let changed = differences(&change.before, &values(now));
        changed.into_iter().filter(|difference| is_foreign(knob, change, difference)).map(|left| left.name).collect()
    }

    fn change(knob: &dyn Knob, before: &[(&str, &str)], asked: &[(&str, &str)]) -> Change {
        let (knob, subject) = (knob.name().to_owned(), "a0".to_owned());
        let (before, asked) = (values(before), values(asked));
        Change { number: 1, knob, subject, before, asked, after: None, along: Values::new(), along_after: None }
    }

    #[test]
    fn what_was_never_read_back_is_ours_as_asked_in_part_and_rounded() {
        let before = [("kind", "tbf"), ("handle", "7:"), ("rate_bps", "1000000"), ("burst_bytes", "9000")];
        let asked = [("kind", "htb"), ("rate_bps", "20000000"), ("burst_bytes", "131072")];
        let htb = change(&RootQdisc, &before, &asked);
        let without_class = [("kind", "htb"), ("handle", "b17c:")];
        let rounded = [("kind", "htb"), ("handle", "b17c:"), ("rate_bps", "20000000"), ("burst_bytes", "131080")];
        let of_somebody = [("kind", "pfifo"), ("handle", "8:"), ("limit_packets", "5")];
        assert_eq!(foreign(&RootQdisc, &htb, &before), [""; 0]);
        assert_eq!(foreign(&RootQdisc, &htb, &without_class), [""; 0]);
        assert_eq!(foreign(&RootQdisc, &htb, &rounded), [""; 0]);
        assert_eq!(foreign(&RootQdisc, &htb, &of_somebody), ["kind"]);
    }

    #[test]
    fn what_went_along_before_it_was_read_back_is_ours() {
        let off =
            change(&Offloads, &[("tx-checksum", "on"), ("tx-tcp", "on"), ("rx-gro", "off")], &[("tx-checksum", "off")]);
        let along = [("tx-checksum", "off"), ("tx-tcp", "off [requested on]"), ("rx-gro", "off")];
        assert_eq!(foreign(&Offloads, &off, &along), [""; 0]);
        let read_back = Change { after: Some(values(&along)), ..off };
        let meanwhile = [("tx-checksum", "off"), ("tx-tcp", "off [requested on]"), ("rx-gro", "on")];
        assert_eq!(foreign(&Offloads, &read_back, &meanwhile), ["rx-gro"]);
    }
}
