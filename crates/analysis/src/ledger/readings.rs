//! The readings around the whole traffic of a run, of both endpoints.

use bitcost_model::conditions::{Conditions, Direction};
use bitcost_model::record::{Role, Sample, WholeRun};

use crate::metrics::RunView;

pub(super) struct Both<'a> {
    sender: &'a WholeRun,
    receiver: &'a WholeRun,
    /// Whether both send data.
    pub goes_both_ways: bool,
}

impl<'a> Both<'a> {
    /// Those of a run; absent where a record has none.
    pub fn of(run: &RunView<'a>) -> Option<Both<'a>> {
        Some(Both {
            sender: run.sender.whole.as_ref()?,
            receiver: run.receiver.whole.as_ref()?,
            goes_both_ways: goes_both_ways(run.conditions),
        })
    }

    pub fn ends(&self) -> [(Role, &'a WholeRun); 2] {
        [(Role::Sender, self.sender), (Role::Receiver, self.receiver)]
    }

    /// The mean number of segments of so many packets on the way of the data.
    pub fn each(&self, sent: u64, packets: u64) -> f64 {
        match self.goes_both_ways {
            true => 1.0,
            false => sent as f64 / packets.max(1) as f64,
        }
    }

    /// The readings of the endpoints that send data.
    pub fn sending(&self) -> impl Iterator<Item = &'a WholeRun> {
        let receiver = self.goes_both_ways.then_some(self.receiver);
        std::iter::once(self.sender).chain(receiver)
    }

    /// The readings of the endpoints that receive data.
    pub fn receiving(&self) -> impl Iterator<Item = &'a WholeRun> {
        let sender = self.goes_both_ways.then_some(self.sender);
        std::iter::once(self.receiver).chain(sender)
    }
}

/// How much a counter of the protocols grew; absent where the kernel does not have it.
pub(super) fn grown(whole: &WholeRun, name: &str) -> Option<u64> {
    let at = |sample: &Sample| sample.protocols.get(name).copied();
    u64::try_from(at(&whole.after)?.checked_sub(at(&whole.before)?)?).ok()
}

/// A sum that a log with absurd numbers does not exceed.
pub(super) fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

fn goes_both_ways(conditions: &Conditions) -> bool {
    let parts = conditions.parts();
    let first = parts.first().map(|part| part.direction);
    let both = |part: &Conditions| {
        part.workload.is_transactional()
            || part.direction == Direction::Both
            || Some(part.direction) != first
    };
    parts.iter().any(both)
}
