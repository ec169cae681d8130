//! Evidence of how the endpoints spend their time, which several limiters ask for.

use super::evidence::share;
use crate::explain::bounds::{BLOCKED, BUSY, CONTENDED, HALF, SHARED, STARVED};
use crate::explain::limiter::Bound::{self, AtLeast, AtMost};
use crate::explain::limiter::{Candidate, Evidence};
use crate::explain::rivals::{Rival, Rivals};
use crate::explain::signals::{EndTimes, Signals};

/// What is said where the thread that handles what an endpoint's interface received has no time left.
pub(super) const IN_THE_KERNEL: &str = "in the kernel, where its interface receives";

/// Evidence that this thread has no time left.
pub(super) fn interface_thread(which: &str, end: EndTimes) -> Evidence {
    let counter = format!("{which} interface's thread on a CPU or waiting for one");
    share(counter, end.napi, AtLeast(BUSY))
}

/// Sender and receiver of a stream.
pub(super) fn tcp_ends(signals: &Signals) -> Option<(EndTimes, EndTimes)> {
    signals.is_tcp.then_some(())?;
    Some((signals.sender?, signals.receiver?))
}

/// The sets of evidence of which each shows that the sender is never held up and has no time left.
pub(super) fn sending(signals: &Signals) -> Vec<Vec<Evidence>> {
    let Some(sender) = signals.sender else {
        return Vec::new();
    };
    let busy = share(
        "sender on a CPU or waiting for one",
        sender.busy(),
        AtLeast(BUSY),
    );
    let mut evidence = vec![vec![
        share("sender blocked in send", sender.blocked, AtMost(BLOCKED)),
        busy.clone(),
    ]];
    if let Some(receiver) = signals.receiver {
        let less = share(
            "sender blocked in send, against half of the receiver's time blocked in receive",
            sender.blocked,
            AtMost(receiver.blocked / 2.0),
        );
        evidence.push(vec![less, busy]);
    }
    evidence
}

/// The sets of evidence of which each shows that the receiver of a stream always has work, or that
/// it makes the sender wait.
pub(super) fn receiving(receiver: EndTimes, sender: EndTimes) -> [Vec<Evidence>; 2] {
    let held_up = share("sender blocked in send", sender.blocked, AtLeast(0.05));
    let always = share(
        "receiver blocked in receive",
        receiver.blocked,
        AtMost(STARVED),
    );
    let less = share(
        "receiver blocked in receive, against half of the sender's time blocked in send",
        receiver.blocked,
        AtMost(sender.blocked / 2.0),
    );
    [vec![held_up.clone(), always], vec![held_up, less]]
}

/// A candidate whose endpoint waits for a CPU for this share of the time: who has it, and what helps
/// where other programs do.
pub(super) fn against(
    rivals: Option<Rivals>,
    wait: f64,
    setting: &str,
    found: Candidate,
) -> Candidate {
    let rival = Rivals::behind(rivals, wait);
    let others = "stop or move the other programs, or pin this end";
    let and = match found.detail.is_empty() {
        true => String::new(),
        false => format!(", and {}", found.detail),
    };
    Candidate {
        detail: format!("{}{and}", rival.detail()),
        remedy: matches!(rival, Rival::Programs | Rival::Unknown)
            .then(|| format!("{others} ({setting})")),
        rival: Some(rival),
        ..found
    }
}

/// A candidate of CPUs that both endpoints share: what else they are full of.
pub(super) fn on_shared(signals: &Signals, found: Candidate) -> Candidate {
    let wait = signals.sender.map_or(0.0, |end| end.wait);
    let wait = signals.receiver.map_or(wait, |end| wait.max(end.wait));
    match Rivals::behind(signals.rivals[0], wait) {
        Rival::Programs => Candidate {
            detail: format!("{}; {ON_THE_SAME_CPUS}", Rival::Programs.detail()),
            remedy: Some("stop or move the other programs".to_owned()),
            rival: Some(Rival::Programs),
            ..found
        },
        _ => Candidate {
            rival: Some(Rival::OwnThreads),
            ..found
        },
    }
}

/// What is said where both endpoints wait for each other on the same CPUs.
pub(super) const ON_THE_SAME_CPUS: &str =
    "both ends run on the same CPUs, and wait for each other there";

/// What docs/method/bottleneck.md says of it.
pub(super) const SHARED_EVIDENCE: &str = "75 % of all CPUs' time in use, both endpoints' threads waiting for a CPU 25 % together; blocked less than the other endpoint, 50 % at most";

/// How much of the CPUs that both ends share is in use, as evidence; absent on two machines.
pub(super) fn at_work(signals: &Signals, bound: Bound) -> Option<Evidence> {
    let counter = "CPUs at work, which both ends share";
    Some(share(counter, signals.shared_cpus?, bound))
}

/// Evidence that the CPUs that both endpoints of a stream share are full.
pub(super) fn sharing(signals: &Signals) -> Option<[Evidence; 3]> {
    let (sender, receiver) = tcp_ends(signals)?;
    Some([
        at_work(signals, AtLeast(SHARED))?,
        share(
            "both ends' programs waiting for a CPU, together",
            sender.wait + receiver.wait,
            AtLeast(CONTENDED),
        ),
        share(
            "time blocked in calls of the endpoint that is blocked less:",
            sender.blocked.min(receiver.blocked),
            AtMost(HALF),
        ),
    ])
}
