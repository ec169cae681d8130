//! Datagrams lost on the path, where no counter saw them.

use super::evidence::{candidate, share};
use super::loss::lost;
use crate::explain::bounds::EXPLAINED;
use crate::explain::limiter::Bound::AtLeast;
use crate::explain::limiter::{Candidate, LimiterRow, Question, Step};
use crate::explain::signals::Signals;

/// The row.
pub static ROW: LimiterRow = LimiterRow {
    name: "path_loss",
    title: "path loss",
    remedy: "find where packets are lost: a policer, a bad link, a device whose drops are not counted here",
    questions: &[
        Question {
            step: Step::Loss,
            about: "",
            evidence: "over 2 % lost, half of them where nothing counts drops, or by the random loss that a link emulator was set to",
            rule: unseen,
        },
        Question {
            step: Step::Latency,
            about: "requests of UDP, connections",
            evidence: "50 % of the time is waiting for answers that were lost",
            rule: |signals| given_up(signals).into_iter().collect(),
        },
    ],
};

/// Requests, SYNs or answers that are lost, each of which takes as long as the client waits for it.
fn given_up(signals: &Signals) -> Option<Candidate> {
    let transactions = signals.transactions?;
    let given_up = transactions.given_up;
    let (what, remedy) = match transactions.connects {
        true => (
            "SYNs or answers to them are lost",
            "find where SYNs are dropped: a filter, a limit of new connections, a full backlog of the listening socket",
        ),
        false => (
            "requests or answers are lost",
            "find where packets are lost",
        ),
    };
    let evidence = share(
        "waiting for answers that were lost",
        given_up,
        AtLeast(EXPLAINED),
    );
    let found = candidate(ROW.limiter(), what, vec![evidence]);
    (given_up > 0.0).then(|| Candidate {
        remedy: Some(remedy.to_owned()),
        ..found
    })
}

fn unseen(signals: &Signals) -> Vec<Candidate> {
    let Some(loss) = signals.loss else {
        return Vec::new();
    };
    let seen = loss.seen()
        + signals
            .hops
            .iter()
            .map(|hop| hop.drops + hop.missed)
            .sum::<f64>();
    let unseen = ((loss.lost - seen) / loss.lost.max(1.0)).clamp(0.0, 1.0);
    let evidence = vec![
        lost(&loss),
        share(
            "lost where nothing counted drops",
            unseen,
            AtLeast(EXPLAINED),
        ),
    ];
    vec![candidate(ROW.limiter(), "", evidence)]
}
