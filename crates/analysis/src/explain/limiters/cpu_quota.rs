//! The CPU quota of a control group.

use bitcost_model::record::Role;

use super::evidence::{candidate, share};
use crate::explain::bounds::{BUSY, CONTENDED};
use crate::explain::limiter::Bound::AtLeast;
use crate::explain::limiter::{Candidate, Limiter, LimiterRow, Question, Step};
use crate::explain::signals::Signals;

/// From this share of the time, a quota held the endpoint back.
const THROTTLED: f64 = 0.05;

/// The row.
pub static ROW: LimiterRow = LimiterRow {
    name: "cpu_quota",
    title: "CPU quota",
    remedy: "raise the CPU quota of the end's control group (cpu.max)",
    questions: &[
        Question {
            step: Step::Quota,
            about: "",
            evidence: "an endpoint throttled 5 % of the time (`cpu.stat`)",
            rule: throttled,
        },
        Question {
            step: Step::Held,
            about: "not seen",
            evidence: "an endpoint on a CPU or waiting for one 75 %; for 25 % of the time it waits longer than anything else ran on the CPUs that it may use",
            rule: held,
        },
    ],
};

/// What is said of it.
const UNSEEN: &str = "its own control groups do not show it";

/// What to do about a quota that the endpoint does not see.
const FIND: &str = "find what limits its CPU time: cpu.max of the control groups above its own, CPUQuota= of a systemd unit, --cpus of a container, or real-time throttling (kernel.sched_rt_runtime_us)";

/// The quota of the endpoint with this role.
pub fn quota_of(role: Role) -> Limiter {
    ROW.placed(format!("of the {}", role.name()))
}

fn throttled(signals: &Signals) -> Vec<Candidate> {
    by_end(signals.throttled, |end, throttled| {
        let evidence = share(
            format!("{} throttled by its quota", end.name()),
            throttled,
            AtLeast(THROTTLED),
        );
        candidate(quota_of(end), "", vec![evidence])
    })
}

/// A thread waits no longer than others run, unless something does not let it run.
fn held(signals: &Signals) -> Vec<Candidate> {
    by_end(signals.held, |end, held| {
        let busy = signals.end(end).map_or(0.0, |times| times.busy());
        let name = end.name();
        let evidence = vec![
            share(
                format!("{name} waiting for a CPU for longer than others ran there"),
                held,
                AtLeast(CONTENDED),
            ),
            share(
                format!("{name} on a CPU or waiting for one"),
                busy,
                AtLeast(BUSY),
            ),
        ];
        let is_seen = signals.throttled[usize::from(end == Role::Receiver)] > Some(0.0);
        let detail = if is_seen { "" } else { UNSEEN };
        Candidate {
            remedy: (!is_seen).then(|| FIND.to_owned()),
            ..candidate(quota_of(end), detail, evidence)
        }
    })
}

/// The candidates of both endpoints where something held them back, the better one first.
fn by_end(shares: [Option<f64>; 2], candidate: impl Fn(Role, f64) -> Candidate) -> Vec<Candidate> {
    let ends = [Role::Sender, Role::Receiver].into_iter().zip(shares);
    let held = ends.filter_map(|(end, share)| Some((end, share.filter(|share| *share > 0.0)?)));
    let mut found: Vec<Candidate> = held.map(|(end, share)| candidate(end, share)).collect();
    found.sort_by(|a, b| b.strength().total_cmp(&a.strength()));
    found
}
