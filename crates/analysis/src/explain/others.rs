//! What other programs and offloads that are off mean for a verdict.

use bitcost_model::harmless;
use bitcost_model::record::Role;

use crate::explain::limiter::{Limiter, Verdict};
use crate::metrics::{RunView, cpu, programs, programs_cpus};

/// The share of the time of its CPUs that an end must have lost to other programs for a verdict to say so.
const LOST: f64 = 0.1;

/// The CPU time of one program, in per cent of one CPU, from which one thread of it may have no time left.
const FULL_PCT: f64 = 90.0;

/// The same beside other programs' connections, whose packets a program that shares its CPUs may carry.
const MUCH_PCT: f64 = 50.0;

/// What other programs took from a run. It is no limiter, and a caveat alone, unless it explains what is missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Others {
    /// The most that they can have had of the CPU time that the threads of sender and receiver asked for, as a share.
    lost: [f64; 2],
    /// A program that used much of a CPU or more, and how much in per cent of one.
    full: Option<(String, f64)>,
    /// Offloads of a stream that are off, of both ends.
    off: Vec<&'static str>,
}

/// The features that make and take super-packets, each with the end that has them.
const OFFLOADS: [(&str, Role, &str); 3] = [
    ("tx-tcp-segmentation", Role::Sender, "tso"),
    ("tx-generic-segmentation", Role::Sender, "gso"),
    ("rx-gro", Role::Receiver, "gro"),
];

impl Others {
    pub(super) fn of(run: &RunView) -> Others {
        let lost = |role| {
            // They took no more than its threads waited for.
            let (own, waited) = cpu::of_first_part(run.end(role)).unwrap_or_default();
            let taken = programs_cpus(run, role).unwrap_or(0.0).min(waited);
            if taken > 0.0 {
                taken / (own + waited)
            } else {
                0.0
            }
        };
        let largest = [run.sender, run.receiver].map(|end| programs(end)?.1);
        let mut full = largest.into_iter().flatten();
        let least = if run.is_of_programs() {
            MUCH_PCT
        } else {
            FULL_PCT
        };
        let full = full.find(|(_, pct)| *pct >= least);
        let is_stream = run.conditions.workload.is_byte_stream();
        let off = OFFLOADS.iter().filter(|(feature, end, _)| {
            let active = &run.end(*end).offloads.active;
            is_stream && active.get(*feature) == Some(&false)
        });
        Others {
            lost: [Role::Sender, Role::Receiver].map(lost),
            full: full.map(|(name, pct)| (harmless(&name), pct)),
            off: off.map(|(.., name)| *name).collect(),
        }
    }

    /// Adds to a verdict what they mean for it, and of a full CPU which offloads are off.
    pub fn tell(&self, verdict: &mut Verdict) {
        let detail = std::mem::take(&mut verdict.chosen.detail);
        let is_of_cpu = ["sender_cpu", "receiver_cpu"].contains(&verdict.limiter().name());
        let off =
            (is_of_cpu && !self.off.is_empty()).then(|| format!("{} off", self.off.join(", ")));
        let all = [Some(detail), off, self.matters(verdict.limiter())];
        let said = all.into_iter().flatten().filter(|words| !words.is_empty());
        verdict.chosen.detail = said.collect::<Vec<_>>().join("; ");
    }

    /// How much faster a full CPU would be without them, or that one of them may be what is full between the ends.
    fn matters(&self, limiter: &Limiter) -> Option<String> {
        let end = match limiter.name() {
            _ if limiter.is_on_the_path() => None,
            "sender_cpu" | "packets_per_second" => Some(Role::Sender),
            "receiver_cpu" => Some(Role::Receiver),
            _ => None,
        };
        if let Some(end) = end {
            let lost = self.lost[end as usize];
            let (pct, times) = (100.0 * lost, 1.0 / (1.0 - lost));
            return (LOST..1.0).contains(&lost).then(|| {
                format!("without other programs, which took up to {pct:.0} % of its time, the rate could be {times:.1} times as high")
            });
        }
        let is_between = limiter.is_on_the_path()
            || limiter.is_unknown()
            || ["path_loss", "congestion_window_loss"].contains(&limiter.name());
        let (name, pct) = self.full.as_ref().filter(|_| is_between)?;
        Some(format!(
            "{name} used {pct:.0} % of a CPU: if it forwards the packets of this test in one thread, that is the limit"
        ))
    }
}
