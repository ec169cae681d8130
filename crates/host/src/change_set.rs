//! The changes of one run: each is written to the journal, made and read back; all are restored in
//! reverse order.

use crate::change::{Change, Outcome, make, restore};
use crate::knob::{Knob, mismatches};
use crate::values::Values;
use crate::{HostError, knob_named};

/// Records changes before they are made.
pub trait Journal: Send {
    /// Records a change that is about to be made. Returns when it is on disk, so that a loss of
    /// power does not lose it.
    fn intend(&mut self, change: &Change) -> Result<(), HostError>;

    /// Records that the change was made and read back.
    fn made(&mut self, change: &Change) -> Result<(), HostError>;

    /// Records that the change with this number was restored, or need not be.
    fn settled(&mut self, number: u32) -> Result<(), HostError>;
}

/// A journal that records nothing: for a host that ends with its processes.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoJournal;

impl Journal for NoJournal {
    fn intend(&mut self, _change: &Change) -> Result<(), HostError> {
        Ok(())
    }

    fn made(&mut self, _change: &Change) -> Result<(), HostError> {
        Ok(())
    }

    fn settled(&mut self, _number: u32) -> Result<(), HostError> {
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
    count: u32,
}

impl ChangeSet {
    pub fn new(journal: Box<dyn Journal>) -> ChangeSet {
        ChangeSet {
            journal,
            changes: Vec::new(),
            count: 0,
        }
    }

    /// Applies a request: reads the present values, writes the change to the journal, makes it,
    /// reads back, compares.
    ///
    /// # Errors
    /// The requested values and those in effect. The change that failed has been restored.
    pub fn set(
        &mut self,
        knob: &'static dyn Knob,
        subject: &str,
        request: &Values,
    ) -> Result<InEffect, HostError> {
        knob.check_subject(subject)?;
        let before = knob.observe(subject)?;
        let asked = knob.plan(subject, &before, request)?;
        if mismatches(knob, &asked, &before).is_empty() {
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
            before,
            asked,
            after: None,
            side_effects,
            side_effects_after: None,
        };
        self.journal.intend(&change)?;
        let made = make(knob, &mut change);
        let recorded = if change.after.is_some() {
            self.journal.made(&change)
        } else {
            Ok(())
        };
        let in_effect = InEffect {
            asked: change.asked.clone(),
            actual: change.after.clone().unwrap_or_default(),
        };
        self.changes.push(change);
        if let Err(error) = made.and(recorded) {
            self.undo_last();
            return Err(error);
        }
        Ok(in_effect)
    }

    /// Checks that no later change undid an earlier one.
    ///
    /// # Errors
    /// The first setting that is no longer in effect, with the requested and the actual values.
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
            let mismatches = mismatches(knob, asked, &knob.observe(subject)?);
            if !mismatches.is_empty() {
                return Err(HostError::NotApplied {
                    knob: knob.name(),
                    subject: subject.clone(),
                    mismatches,
                });
            }
        }
        Ok(())
    }

    /// Restores every change, the last one first.
    pub fn restore(&mut self) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
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
            let _ = self.journal.settled(change.number);
        }
        Some(outcome)
    }
}

impl Drop for ChangeSet {
    fn drop(&mut self) {
        self.restore();
    }
}
