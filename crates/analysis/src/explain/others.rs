//! What other programs took from a run, and the offloads that are off.

use bitcost_model::harmless;
use bitcost_model::record::Role;

use crate::metrics::{RunView, cpu, programs, programs_cpus};

/// The CPU time of one program, in per cent of one CPU, from which one thread of it may have no time left.
const FULL_PCT: f64 = 90.0;

/// The same beside other programs' connections, whose packets a program that shares its CPUs may carry.
const MUCH_PCT: f64 = 50.0;

/// Packets of an interface ÷ segments from which each segment leaves as a separate packet, not
/// within a super-packet.
pub(crate) const ALONE: f64 = 0.9;

/// What other programs took from a run. It is no limiter, and a caveat alone, unless it explains what is missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Others {
    /// The most that they can have had of the CPU time that the threads of sender and receiver asked for, as a share.
    pub(super) lost: [f64; 2],
    /// A program that used much of a CPU or more, and how much in per cent of one.
    pub(super) full: Option<(String, f64)>,
    /// Offloads of a stream that are off, each with its end; none where segments leave within super-packets.
    pub(super) off: Vec<(Role, &'static str)>,
}

/// The features that make and take super-packets, by the kernel's names, each with the end that needs it and ethtool's name.
pub(crate) const OFFLOADS: [(&str, Role, &str); 3] = [
    ("tx-tcp-segmentation", Role::Sender, "tso"),
    ("tx-generic-segmentation", Role::Sender, "gso"),
    ("rx-gro", Role::Receiver, "gro"),
];

impl Others {
    pub(super) fn of(run: &RunView, packets_per_segment: Option<f64>) -> Others {
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
        // In a lab it is the kernel that forwards, or bitcost.
        let mut starts = run.ends().into_iter().flat_map(|end| end.samples.first());
        let is_in_lab = starts.any(|sample| {
            let mut interfaces = sample.interfaces.iter();
            !sample.emulators.is_empty() || interfaces.any(|one| one.node.is_some())
        });
        let full = full.find(|(_, pct)| *pct >= least && !is_in_lab);
        let is_joined = packets_per_segment.is_some_and(|packets| packets < ALONE);
        let is_counted = run.conditions.workload.is_byte_stream() && !is_joined;
        let off = OFFLOADS.iter().filter(|(feature, end, _)| {
            let active = &run.end(*end).offloads.active;
            is_counted && active.get(*feature) == Some(&false)
        });
        Others {
            lost: [Role::Sender, Role::Receiver].map(lost),
            full: full.map(|(name, pct)| (harmless(&name), pct)),
            off: off.map(|(_, end, name)| (*end, *name)).collect(),
        }
    }
}
