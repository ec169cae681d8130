//! The changes of one run: each is written to the journal, made and read back; all are restored.

use bitcost_model::host_settings::{HostSetting, interface_of};

use crate::change::{Change, Outcome, order, restore};
use crate::device::link;
use crate::journal::Entry;
use crate::knob::{Knob, check};
use crate::values::Values;
use crate::{HostError, knob_named, snapshot};

/// Records changes before they are made.
pub trait Journal: Send {
    /// Records a step. Returns when it is on disk, so that a loss of power does not lose it.
    ///
    /// # Errors
    /// Why it is not; a change that is only intended is then not made.
    fn record(&mut self, step: Entry) -> Result<(), HostError>;
}

/// A journal that records nothing: for a host that ends with its processes.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoJournal;

impl Journal for NoJournal {
    fn record(&mut self, _step: Entry) -> Result<(), HostError> {
        Ok(())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InEffect {
    /// The requested values, by the knob's own names.
    pub asked: Values,
    /// Every value of the knob, read back after the change.
    pub actual: Values,
}

/// The changes that were made. Dropping it restores all of them.
pub struct ChangeSet {
    journal: Box<dyn Journal>,
    changes: Vec<Change>,
    /// What could not be undone of changes that failed.
    left: Vec<Outcome>,
    count: u32,
}

impl ChangeSet {
    pub fn new(journal: Box<dyn Journal>) -> ChangeSet {
        ChangeSet {
            journal,
            changes: Vec::new(),
            left: Vec::new(),
            count: 0,
        }
    }

    /// Applies a request: reads the present values, writes the change to the journal, makes it,
    /// reads back, compares.
    ///
    /// # Errors
    /// The requested values and those in effect; or the request is of another knob. The change that failed has been
    /// restored, or [`ChangeSet::restore`] tells what is left of it.
    pub fn set(
        &mut self,
        knob: &'static dyn Knob,
        subject: &str,
        request: &HostSetting,
    ) -> Result<InEffect, HostError> {
        knob.check_subject(subject)?;
        if request.name() != knob.name() {
            return Err(knob.not_its(request));
        }
        let before = knob.observe(subject)?;
        let asked = knob.plan(subject, &before, request)?;
        if check(knob, subject, &asked, &before).is_ok() {
            return Ok(InEffect {
                asked,
                actual: before,
            });
        }
        let side_effects = knob.side_effects(subject)?;
        self.count += 1;
        let mut change = Change {
            number: self.count,
            knob: knob.name().to_owned(),
            subject: subject.to_owned(),
            index: link(interface_of(subject).unwrap_or(subject))
                .ok()
                .map(|link| link.index),
            before,
            asked,
            after: None,
            side_effects,
            side_effects_after: None,
        };
        self.journal.record(Entry::Intent(change.clone()))?;
        let written = knob.write(subject, &change.before, &change.asked);
        let made = match written.and_then(|()| knob.observe(subject)) {
            Ok(now) => {
                change.side_effects_after = Some(snapshot::now(&change.side_effects));
                let applied = check(knob, subject, &change.asked, &now);
                change.after = Some(now);
                let recorded = self.journal.record(Entry::Made(change.clone()));
                applied.and(recorded)
            }
            Err(error) => Err(error),
        };
        let in_effect = InEffect {
            asked: change.asked.clone(),
            actual: change.after.clone().unwrap_or_default(),
        };
        self.changes.push(change);
        if let Err(error) = made {
            let undone = self.undo_last();
            self.left
                .extend(undone.filter(|outcome| !outcome.is_clean()));
            return Err(error);
        }
        Ok(in_effect)
    }

    /// Checks that no later change undid an earlier one.
    pub fn check(&self) -> Result<(), HostError> {
        for Change {
            knob,
            subject,
            asked,
            ..
        } in &self.changes
        {
            let Some(knob) = knob_named(knob) else {
                continue;
            };
            check(knob, subject, asked, &knob.observe(subject)?)?;
        }
        Ok(())
    }

    /// Restores every change, the last one first, and qdiscs after all others.
    pub fn restore(&mut self) -> Vec<Outcome> {
        order(&mut self.changes);
        let mut outcomes = std::mem::take(&mut self.left);
        while let Some(outcome) = self.undo_last() {
            outcomes.push(outcome);
        }
        outcomes
    }

    fn undo_last(&mut self) -> Option<Outcome> {
        let change = self.changes.pop()?;
        let outcome = restore(&change);
        if outcome.is_settled() {
            // A journal that can no longer be written keeps the change: it will be compared again,
            // and found restored.
            let _ = self.journal.record(Entry::Settled(change.number));
        }
        Some(outcome)
    }
}

impl Drop for ChangeSet {
    fn drop(&mut self) {
        self.restore();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GSO_MAX_SIZE;

    #[test]
    fn a_request_of_another_knob_is_refused() {
        let mut held = ChangeSet::new(Box::new(NoJournal));
        let said = held.set(&GSO_MAX_SIZE, "lo", &HostSetting::GroMaxSize(2048));
        assert_eq!(
            said.unwrap_err().to_string(),
            "cannot set gso_max_size to 2048: this is a value of gro_max_size"
        );
    }
}
