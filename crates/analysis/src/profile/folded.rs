//! The call chains of profiled runs, as speedscope and flamegraph.pl read them.

use std::collections::BTreeMap;

use bitcost_model::conditions::Direction;
use bitcost_model::event::Event;
use bitcost_model::harmless;
use bitcost_model::record::Role;

use super::owner::{Owner, Place};
use crate::findings::Findings;

/// The frame of an owner, outside of the functions of its chains.
fn frame(owner: Option<Owner>) -> &'static str {
    match owner {
        Some(Owner::End(role)) => role.name(),
        Some(Owner::Wire) => "wire",
        Some(Owner::Other) => "other",
        Some(Owner::Idle) => "idle",
        None => "softirq",
    }
}

/// Folded call chains `owner;outermost;…;innermost` with their numbers of samples, over all profiled runs
/// that are used; of several cells the cell's name is the outermost frame. The log is read for them again.
pub fn folded(findings: &Findings) -> BTreeMap<String, u64> {
    let summary = &findings.summary;
    let mut chains = BTreeMap::new();
    let is_wanted = |run: u32| findings.row(run).is_some_and(|row| row.is_used());
    findings.events.each(&is_wanted, &mut |_, event| {
        let Event::RunProfiled {
            run,
            sender,
            receiver,
            ..
        } = event
        else {
            return;
        };
        let cell = findings
            .row(*run)
            .and_then(|row| summary.planned.get(row.cell));
        let direction = cell.map_or(Direction::Forward, |cell| cell.conditions.direction);
        let cell = cell.filter(|_| summary.planned.len() > 1);
        let name = cell.map_or(String::new(), |cell| {
            harmless(&cell.name()).replace([';', '\n'], ",") + ";"
        });
        for (role, end) in Role::ALL.into_iter().zip([sender, receiver]) {
            let place = Place::of(role, direction, summary.shared_cpus, &summary.ends);
            for sampled in end.profile.iter().flat_map(|profile| &profile.stacks) {
                let owner = frame(place.owner(&sampled.task, &sampled.stack));
                let chain = format!("{name}{owner};{}", sampled.stack);
                *chains.entry(chain).or_default() += sampled.count;
            }
        }
    });
    chains
}
