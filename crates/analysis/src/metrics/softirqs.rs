//! The time of soft interrupts on an endpoint's CPUs, as far as it was timed: the number of each
//! kind × the mean of those that were timed.

use bitcost_model::counters::SoftirqTime;
use bitcost_model::record::{InEffect, SOFTIRQ_TIME, SOFTIRQS_TIMED};

use crate::metrics::cpu;
use crate::metrics::view::RunView;

/// By which means the time of soft interrupts is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SoftirqMeans {
    /// A random part of them was timed.
    Timed,
    /// By the share of ticks that hit one.
    Ticks,
}

impl SoftirqMeans {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            SoftirqMeans::Timed => "timed",
            SoftirqMeans::Ticks => "ticks",
        }
    }

    /// In words, after "soft interrupts".
    pub fn words(self) -> &'static str {
        match self {
            SoftirqMeans::Timed => "timed",
            SoftirqMeans::Ticks => "by ticks",
        }
    }
}

/// The least number of soft interrupts that give a mean of one kind on one CPU; with fewer the mean
/// is that of the kind on all CPUs, or of all.
const ENOUGH: u64 = 10;

/// The least number of timed soft interrupts of a run.
const ENOUGH_IN_RUN: u64 = 30;

/// Soft interrupts of some CPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TimedSoftirqs {
    /// Their CPU seconds per second.
    pub cpus: f64,
    /// Variance of [`TimedSoftirqs::cpus`]: that of a mean of as many as were timed.
    pub variance: f64,
}

/// The soft interrupts of these CPUs; absent where they, or too few, were timed between the first
/// and the last sample.
pub(crate) fn timed(run: &RunView, cpus: &[u32]) -> Option<TimedSoftirqs> {
    let (all, seconds) = [run.sender, run.receiver].into_iter().find_map(|end| {
        let (first, last) = cpu::ends_of(end)?;
        let all = spans(&first.softirqs, &last.softirqs);
        let has = |cpu: &u32| all.iter().any(|span| span.cpu == *cpu);
        (cpus.iter().all(has)).then_some((all, cpu::span_seconds(end)?))
    })?;
    if sum(all.iter()).timed < ENOUGH_IN_RUN {
        return None;
    }
    let own = all.iter().filter(|span| cpus.contains(&span.cpu));
    let (mut sum_ns, mut variance_ns2) = (0.0, 0.0);
    for span in own {
        let sample = sample_of(span, &all);
        let timed = sample.timed as f64;
        let mean = sample.sum_ns as f64 / timed;
        let spread = (sample.squares_ns2 as f64 / timed - mean * mean).max(0.0);
        let count = span.count as f64;
        sum_ns += count * mean;
        variance_ns2 += count * count * spread / timed;
    }
    Some(TimedSoftirqs {
        cpus: sum_ns / 1e9 / seconds,
        variance: variance_ns2 / (1e9 * seconds).powi(2),
    })
}

/// Why an endpoint that was to time soft interrupts did not.
pub(crate) fn why_untimed<'a>(run: &RunView<'a>) -> Option<&'a str> {
    let mut entries = run.sender.in_effect.iter().chain(&run.receiver.in_effect);
    let is_means = |entry: &&InEffect| entry.name == SOFTIRQ_TIME;
    let said = entries.find(is_means)?.actual.as_deref()?;
    Some(match said {
        SOFTIRQS_TIMED => "ticks, because too few were timed in this window",
        reason => reason,
    })
}

/// The timed soft interrupts by which a kind on a CPU is estimated: its own, or where these are
/// few, those of its kind on all CPUs, or all.
fn sample_of(span: &SoftirqTime, all: &[SoftirqTime]) -> SoftirqTime {
    if span.timed >= ENOUGH {
        return span.clone();
    }
    let of_kind = sum(all.iter().filter(|other| other.kind == span.kind));
    if of_kind.timed >= ENOUGH {
        return of_kind;
    }
    sum(all.iter())
}

fn sum<'a>(spans: impl Iterator<Item = &'a SoftirqTime>) -> SoftirqTime {
    spans.fold(SoftirqTime::default(), |sum, span| SoftirqTime {
        count: sum.count.saturating_add(span.count),
        timed: sum.timed.saturating_add(span.timed),
        sum_ns: sum.sum_ns.saturating_add(span.sum_ns),
        squares_ns2: sum.squares_ns2.wrapping_add(span.squares_ns2),
        ..sum
    })
}

/// What was counted of each kind on each CPU between two readings. A kind that the first reading
/// lacks had not occurred.
pub(crate) fn spans(first: &[SoftirqTime], last: &[SoftirqTime]) -> Vec<SoftirqTime> {
    let none = SoftirqTime::default();
    let span = |after: &SoftirqTime| {
        let is_same = |before: &&SoftirqTime| before.cpu == after.cpu && before.kind == after.kind;
        let before = first.iter().find(is_same).unwrap_or(&none);
        SoftirqTime {
            cpu: after.cpu,
            kind: after.kind.clone(),
            count: after.count.saturating_sub(before.count),
            timed: after.timed.saturating_sub(before.timed),
            sum_ns: after.sum_ns.saturating_sub(before.sum_ns),
            squares_ns2: after.squares_ns2.wrapping_sub(before.squares_ns2),
        }
    };
    last.iter().map(span).collect()
}
