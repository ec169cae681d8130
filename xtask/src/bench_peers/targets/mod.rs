//! The targets of bitcost as rows: one file for each group.

mod defaults;
mod fast;
mod honest;
mod pacing;
mod target;
mod transactions;

use super::results::Compared;
use target::Target;

pub use target::{Finding, Verdict};

/// Every target that the measurements allow to judge.
pub fn judge(all: &[Compared]) -> Vec<Finding> {
    let groups = [
        honest::TARGETS,
        defaults::TARGETS,
        fast::TARGETS,
        transactions::TARGETS,
        pacing::TARGETS,
    ];
    let finding = |target: &'static Target| {
        (target.figures)(all)
            .into_iter()
            .map(move |(case, found)| Finding {
                target,
                case,
                found,
                verdict: target.wanted.judge(found),
            })
    };
    groups.into_iter().flatten().flat_map(finding).collect()
}
