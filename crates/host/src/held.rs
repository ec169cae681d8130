//! The changes of one run: each written down, made and read again; taken back in reverse order.

use crate::change::{Change, Outcome, make, take_back};
use crate::knob::{Knob, Values, mismatches};
use crate::{HostError, knob_named};

/// Where changes are written down before they are made.
pub trait Journal: Send {
    /// Returns when the change will be known after a loss of power.
    fn intend(&mut self, change: &Change) -> Result<(), HostError>;

    /// The change was made and read again.
    fn made(&mut self, change: &Change) -> Result<(), HostError>;

    /// The change with this number was taken back, or needs not be.
    fn settled(&mut self, number: u32) -> Result<(), HostError>;
}

/// No journal: for a host that is gone with its processes.
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

/// A wish that came true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InForce {
    /// What was asked for, in the knob's own names.
    pub asked: Values,
    /// Every value of the knob, read after the change.
    pub actual: Values,
}

/// What was changed. Dropping it takes everything back.
pub struct Held {
    journal: Box<dyn Journal>,
    changes: Vec<Change>,
    count: u32,
}

impl Held {
    /// Nothing changed yet.
    pub fn new(journal: Box<dyn Journal>) -> Held {
        Held { journal, changes: Vec::new(), count: 0 }
    }

    /// Makes a wish come true: observed, written down, asked for, read again, compared.
    ///
    /// # Errors
    /// What was asked and what is in force. The change that failed has been taken back.
    pub fn set(&mut self, knob: &'static dyn Knob, subject: &str, wish: &Values) -> Result<InForce, HostError> {
        knob.check_subject(subject)?;
        let before = knob.observe(subject)?;
        let asked = knob.plan(subject, &before, wish)?;
        if mismatches(knob, &asked, &before).is_empty() {
            return Ok(InForce { asked, actual: before });
        }
        let along = knob.along(subject)?;
        self.count += 1;
        let mut change = Change {
            number: self.count,
            knob: knob.name().to_owned(),
            subject: subject.to_owned(),
            before,
            asked,
            after: None,
            along,
            along_after: None,
        };
        self.journal.intend(&change)?;
        let made = make(knob, &mut change);
        let noted = if change.after.is_some() { self.journal.made(&change) } else { Ok(()) };
        let in_force = InForce { asked: change.asked.clone(), actual: change.after.clone().unwrap_or_default() };
        self.changes.push(change);
        if let Err(error) = made.and(noted) {
            self.undo_last();
            return Err(error);
        }
        Ok(in_force)
    }

    /// Checks that no later change undid an earlier one.
    ///
    /// # Errors
    /// The first setting that is not in force any more, with what was asked and what is in force.
    pub fn check(&self) -> Result<(), HostError> {
        for Change { knob, subject, asked, .. } in &self.changes {
            let Some(knob) = knob_named(knob) else { continue };
            let mismatches = mismatches(knob, asked, &knob.observe(subject)?);
            if !mismatches.is_empty() {
                return Err(HostError::NotApplied { knob: knob.name(), subject: subject.clone(), mismatches });
            }
        }
        Ok(())
    }

    /// Takes back every change, the last one first.
    pub fn restore(&mut self) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        while let Some(outcome) = self.undo_last() {
            outcomes.push(outcome);
        }
        outcomes
    }

    fn undo_last(&mut self) -> Option<Outcome> {
        let change = self.changes.pop()?;
        let outcome = take_back(&change);
        if outcome.is_settled() {
            // A journal that cannot be written any more keeps the change: it will be compared again, and found as before.
            let _ = self.journal.settled(change.number);
        }
        Some(outcome)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.restore();
    }
}
