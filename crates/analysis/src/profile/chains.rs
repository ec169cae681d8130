//! The call chains of a cell's profiled runs, each below the word for its owner.

use std::collections::BTreeMap;

use bitcost_model::record::Role;

use super::owner::{Found, Owner, Place};
use super::recorded::recorded;
use crate::cells::Status;
use crate::findings::Findings;

/// Chains with their numbers of samples: `sender;outermost;…;innermost`.
pub type Chains = BTreeMap<String, u64>;

/// The word for an owner, before the functions of its chains.
fn word(found: Found) -> &'static str {
    match found {
        Found::Owner(owner) | Found::Received(owner) => match owner {
            Owner::End(Role::Sender) => "sender",
            Owner::End(Role::Receiver) => "receiver",
            Owner::Wire => "wire",
            Owner::Other => "other",
            Owner::Idle => "idle",
        },
        Found::Receiving => "softirq",
    }
}

/// The chains of each cell, in the order of the plan, all profiled runs that are used together. The
/// log is read for them again.
pub fn chains(findings: &Findings, wanted: impl Fn(usize) -> bool) -> Vec<Chains> {
    let summary = &findings.summary;
    let mut found = vec![Chains::new(); summary.cells.len()];
    let row = |run: u32| {
        let row = summary.runs.iter().find(|row| row.run == run)?;
        (row.status == Status::Used && wanted(row.cell)).then_some(row)
    };
    let ends = &summary.ends;
    let is_wanted = |run: u32| row(run).is_some();
    findings.events.each(&is_wanted, &mut |_, event| {
        let Some(recorded) = recorded(event) else {
            return;
        };
        let Some(chains) = row(recorded.run).and_then(|row| found.get_mut(row.cell)) else {
            return;
        };
        for (role, profile) in recorded.profiles {
            let place = Place::of(role, summary.shared_cpus, ends);
            for sampled in &profile.stacks {
                let word = word(place.owner(&sampled.task, &sampled.stack));
                let chain = format!("{word};{}", sampled.stack);
                *chains.entry(chain).or_default() += sampled.count;
            }
        }
    });
    found
}
