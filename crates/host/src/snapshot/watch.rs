//! The snapshots of one run, and the changes that remain after it.

use super::facts::{Snapshot, name, parts};
use super::{links, restore_with, take};
use crate::HostError;
use crate::values::{Mismatch, Values, differences};

/// The snapshots of an interface while a run changes settings: before the first one, and when all
/// are in effect.
#[derive(Debug)]
pub struct Watch {
    device: String,
    before: Snapshot,
    applied: Option<Values>,
    released: Option<Values>,
}

impl Watch {
    /// Takes the first snapshot, before anything is set.
    pub fn start(device: &str) -> Result<Watch, HostError> {
        let before = take(device)?;
        Ok(Watch {
            device: device.to_owned(),
            before,
            applied: None,
            released: None,
        })
    }

    /// Takes a snapshot with every setting in effect. What changes from now on until
    /// [`Watch::release`] is a change of another program.
    pub fn applied(&mut self) {
        self.applied = take(&self.device).ok().map(|snapshot| snapshot.facts);
    }

    /// Takes a snapshot before the settings are restored.
    pub fn release(&mut self) {
        self.released = take(&self.device).ok().map(|snapshot| snapshot.facts);
    }

    /// Restores the values that differ from before although the settings were restored. Returns a
    /// sentence for each value that could not be restored.
    pub fn settle(self) -> Vec<String> {
        let now = match take(&self.device) {
            Ok(snapshot) => snapshot.facts,
            Err(error) => return vec![error.to_string()],
        };
        let changed = differences(&self.before.facts, &now);
        if changed.is_empty() {
            return Vec::new();
        }
        let dragged = changed.iter().filter(|change| !self.is_foreign(change));
        let wanted = dragged
            .filter_map(|change| Some((change.name.clone(), change.asked.clone()?)))
            .collect();
        restore_with(&wanted, &self.before.records);
        let now = take(&self.device)
            .map(|snapshot| snapshot.facts)
            .unwrap_or(now);
        let left = differences(&self.before.facts, &now);
        of_links_that_stay(&self.before.facts, &now, left)
            .iter()
            .map(|change| self.sentence(change))
            .collect()
    }

    /// Whether a value changed while nothing was being set or restored.
    fn is_foreign(&self, change: &Mismatch) -> bool {
        let (Some(applied), Some(released)) = (&self.applied, &self.released) else {
            return false;
        };
        let name = &change.name;
        applied.get(name) == change.asked.as_ref() && released.get(name) == change.actual.as_ref()
    }

    fn sentence(&self, change: &Mismatch) -> String {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "absent".to_owned());
        let (name, before, after) = (&change.name, text(&change.asked), text(&change.actual));
        if self.is_foreign(change) {
            return format!(
                "{name} was changed by another program during the run and is left as it is (before: {before}; after: {after})"
            );
        }
        format!(
            "{name} was changed along with a setting and could not be restored (before: {before}; after: {after})"
        )
    }
}

/// Reduces the facts of a link that was added or removed to one.
fn of_links_that_stay(before: &Values, now: &Values, changed: Vec<Mismatch>) -> Vec<Mismatch> {
    let is_there =
        |facts: &Values, device: &str| facts.contains_key(&name(links::WORD, device, links::MTU));
    let is_worth_it = |change: &Mismatch| {
        let Some((device, _)) = parts(&change.name) else {
            return true;
        };
        is_there(before, device) == is_there(now, device)
            || change.name == name(links::WORD, device, links::MTU)
    };
    changed.into_iter().filter(is_worth_it).collect()
}
