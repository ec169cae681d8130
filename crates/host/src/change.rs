//! One change of one knob: made, read back, and restored unless another program changed it
//! meanwhile.

use std::fmt;

use bitcost_model::host_settings::{QDISC, interface_of};
use bitcost_sys::netlink::Rtnl;
use serde::{Deserialize, Serialize};

use crate::knob::Knob;
use crate::values::{Mismatch, Values, differences};
use crate::{HostError, knob_named, snapshot};

/// A change that is about to be made, as it is written to the journal first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub number: u32,
    pub knob: String,
    /// The subject of the knob: a device, a sysctl, a CPU.
    pub subject: String,
    /// The index of the interface, if it is one: it keeps it when it is renamed.
    pub index: Option<u32>,
    pub before: Values,
    pub asked: Values,
    /// Every value after; `None` until they were read back.
    pub after: Option<Values>,
    /// Side effects: values that the kernel changes along with it, before ([`crate::snapshot`]).
    #[serde(default)]
    pub side_effects: Values,
    /// The same after; `None` until they were read.
    pub side_effects_after: Option<Values>,
}

/// The result of restoring a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    pub knob: String,
    pub subject: String,
    /// Values that another program changed meanwhile: left as they are. `asked` is the value
    /// before.
    pub foreign: Vec<Mismatch>,
    /// Values that are not as before although they were requested.
    pub wrong: Vec<Mismatch>,
    /// Why nothing could be restored.
    pub failed: Option<String>,
    /// The subject is gone, and its values with it; the text says why.
    pub gone: Option<String>,
}

impl Outcome {
    pub fn of(change: &Change) -> Outcome {
        Outcome {
            knob: change.knob.clone(),
            subject: change.subject.clone(),
            ..Outcome::default()
        }
    }

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
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
        let foreign = self.foreign.iter().map(|Mismatch { name, asked, actual }| {
            let (actual, before) = (text(actual), text(asked));
            format!("{name} was changed by another program and is left at {actual} (before: {before})")
        });
        let wrong = self.wrong.iter().map(
            |Mismatch {
                 name,
                 asked,
                 actual,
             }| {
                let (actual, before) = (text(actual), text(asked));
                format!("{name} was {before}, is {actual}: could not be restored")
            },
        );
        let failed = self.failed.iter();
        let failed = failed.map(|reason| format!("could not be restored: {reason}"));
        let gone = self.gone.iter();
        let gone = gone.map(|reason| format!("nothing to restore: {reason}"));
        let parts: Vec<String> = foreign.chain(wrong).chain(failed).chain(gone).collect();
        let said = match parts.is_empty() {
            true => "as before".to_owned(),
            false => parts.join("; "),
        };
        write!(f, "{} of {}: {said}", self.knob, self.subject)
    }
}

/// Puts changes in order, so that they can be restored from the last one on: qdiscs come last, since the kernel makes its own by
/// the number of queues and the MTU that it finds.
pub fn order(changes: &mut [Change]) {
    changes.sort_by_key(|change| change.knob != QDISC.setting);
}

/// Restores a change and reads back the result.
pub fn restore(change: &Change) -> Outcome {
    let change = &renamed(change).unwrap_or_else(|| change.clone());
    let mut outcome = Outcome::of(change);
    let Some(knob) = knob_named(&change.knob) else {
        outcome.failed = Some(format!(
            "this bitcost does not know the setting \"{}\"; use the version of bitcost that changed it",
            change.knob
        ));
        return outcome;
    };
    match try_to_restore(knob, change, &mut outcome) {
        Ok(()) => {}
        Err(HostError::Netlink(error)) if error.is_no_device() => {
            // The side effects are gone with it, or were restored.
            outcome.foreign.clear();
            outcome.gone = Some(error.to_string());
        }
        Err(error @ HostError::Gone(_)) => outcome.gone = Some(error.to_string()),
        Err(error) => outcome.failed = Some(error.to_string()),
    }
    outcome
}

/// The change of an interface, or of a parameter of one, by its present name.
fn renamed(change: &Change) -> Option<Change> {
    let index = change.index?;
    let links = Rtnl::open().and_then(|mut rtnl| rtnl.links()).ok()?;
    let new = links.into_iter().find(|link| link.index == index)?.name;
    let old = interface_of(&change.subject).unwrap_or(&change.subject);
    let of = |text: &str| match text == old {
        true => new.clone(),
        false => [" ", "."].iter().fold(text.to_owned(), |text, mark| {
            text.replace(&format!("{mark}{old}{mark}"), &format!("{mark}{new}{mark}"))
        }),
    };
    let facts = |all: &Values| {
        let facts = all.iter().map(|(name, value)| (of(name), value.clone()));
        facts.collect()
    };
    Some(Change {
        subject: of(&change.subject),
        side_effects: facts(&change.side_effects),
        side_effects_after: change.side_effects_after.as_ref().map(facts),
        ..change.clone()
    })
}

fn try_to_restore(
    knob: &dyn Knob,
    change: &Change,
    outcome: &mut Outcome,
) -> Result<(), HostError> {
    knob.check_subject(&change.subject)?;
    let side_effects = own_side_effects(knob, change, outcome)?;
    restore_own(knob, change, outcome)?;
    let left = snapshot::restore(&side_effects);
    // With the value that another program gave the setting itself, the former values may be
    // impossible.
    if outcome.foreign.is_empty() {
        outcome.wrong.extend(left)
    } else {
        outcome.foreign.extend(left)
    }
    Ok(())
}

/// The side effects to restore. Those that another program changed since are left out, and added to
/// `outcome.foreign`.
///
/// When the setting already is as before, an earlier attempt to restore it was killed halfway: then
/// the side effects may be neither as before nor as they were while the setting was in effect.
fn own_side_effects(
    knob: &dyn Knob,
    change: &Change,
    outcome: &mut Outcome,
) -> Result<Values, HostError> {
    let mut ours = change.side_effects.clone();
    let Some(after) = change
        .side_effects_after
        .as_ref()
        .filter(|_| !ours.is_empty())
    else {
        return Ok(ours);
    };
    if differences(&change.before, &knob.observe(&change.subject)?).is_empty() {
        return Ok(ours);
    }
    for changed in differences(&change.side_effects, &snapshot::now(&change.side_effects)) {
        if after.get(&changed.name) != changed.actual.as_ref() {
            ours.remove(&changed.name);
            outcome.foreign.push(changed);
        }
    }
    Ok(ours)
}

fn restore_own(knob: &dyn Knob, change: &Change, outcome: &mut Outcome) -> Result<(), HostError> {
    let now = knob.observe(&change.subject)?;
    let changed = differences(&change.before, &now);
    let foreign: Vec<Mismatch> = changed
        .iter()
        .filter(|difference| is_foreign(knob, change, difference))
        .cloned()
        .collect();
    let is_left = |name: &str| foreign.iter().any(|foreign| foreign.name == name);
    if changed.len() == foreign.len() || (knob.is_whole() && !foreign.is_empty()) {
        outcome.foreign.extend(foreign);
        return Ok(());
    }
    let former = change.before.iter().filter(|(name, _)| !is_left(name));
    let former: Values = former
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    knob.write(&change.subject, &now, &former)?;
    let now = knob.observe(&change.subject)?;
    outcome.wrong = differences(&change.before, &now);
    outcome
        .wrong
        .retain(|difference| !is_left(&difference.name));
    outcome.foreign.extend(foreign);
    Ok(())
}

/// Whether a value that is not as before is not as this change left it either: another program
/// changed it.
///
/// When the change was not read back, since its process died, a requested value may be as requested
/// or still absent, and others may have changed as side effects.
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
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn foreign(knob: &'static dyn Knob, change: &Change, now: &[(&str, &str)]) -> Vec<String> {
        let changed = differences(&change.before, &values(now));
        changed
            .into_iter()
            .filter(|difference| is_foreign(knob, change, difference))
            .map(|left| left.name)
            .collect()
    }

    fn change(knob: &dyn Knob, before: &[(&str, &str)], asked: &[(&str, &str)]) -> Change {
        let (knob, subject) = (knob.name().to_owned(), "a0".to_owned());
        let (before, asked) = (values(before), values(asked));
        Change {
            number: 1,
            knob,
            subject,
            index: None,
            before,
            asked,
            after: None,
            side_effects: Values::new(),
            side_effects_after: None,
        }
    }

    #[test]
    fn change_never_read_back_is_ours_when_requested_partial_or_rounded() {
        let before = [("kind", "pfifo"), ("handle", "7:"), ("limit_packets", "33")];
        let asked = [
            ("kind", "tbf"),
            ("rate_bps", "20000000"),
            ("burst_bytes", "131072"),
        ];
        let tbf = change(&RootQdisc, &before, &asked);
        let partial = [("kind", "tbf"), ("handle", "b17c:")];
        let rounded = [
            ("kind", "tbf"),
            ("handle", "b17c:"),
            ("rate_bps", "20000000"),
            ("burst_bytes", "131080"),
        ];
        let of_others = [("kind", "bfifo"), ("handle", "8:"), ("limit_bytes", "5")];
        assert_eq!(foreign(&RootQdisc, &tbf, &before), [""; 0]);
        assert_eq!(foreign(&RootQdisc, &tbf, &partial), [""; 0]);
        assert_eq!(foreign(&RootQdisc, &tbf, &rounded), [""; 0]);
        assert_eq!(foreign(&RootQdisc, &tbf, &of_others), ["kind"]);
    }

    #[test]
    fn side_effects_before_the_read_back_are_ours() {
        let off = change(
            &Offloads,
            &[("tx-checksum", "on"), ("tx-tcp", "on"), ("rx-gro", "off")],
            &[("tx-checksum", "off")],
        );
        let side_effects = [
            ("tx-checksum", "off"),
            ("tx-tcp", "off [requested on]"),
            ("rx-gro", "off"),
        ];
        assert_eq!(foreign(&Offloads, &off, &side_effects), [""; 0]);
        let read_back = Change {
            after: Some(values(&side_effects)),
            ..off
        };
        let meanwhile = [
            ("tx-checksum", "off"),
            ("tx-tcp", "off [requested on]"),
            ("rx-gro", "on"),
        ];
        assert_eq!(foreign(&Offloads, &read_back, &meanwhile), ["rx-gro"]);
    }
}
