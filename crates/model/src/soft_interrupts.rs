//! The time of soft interrupts of which a random part was timed: the number of each kind on a CPU × the
//! mean of those of its kind that were timed there.

use crate::counters::SoftirqTime;

/// The least number of timed soft interrupts that give a mean: of one kind on one CPU, otherwise of the kind on all CPUs,
/// otherwise of all.
const ENOUGH: u64 = 10;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timed {
    pub ns: f64,
    /// Variance of [`Timed::ns`]: that of a mean of as many as were timed.
    pub variance_ns2: f64,
}

/// The time of those of a window's soft interrupts that are meant; absent where too few of all were
/// timed.
pub fn timed(all: &[SoftirqTime], is_meant: impl Fn(&SoftirqTime) -> bool) -> Option<Timed> {
    if sum(all.iter()).timed < ENOUGH {
        return None;
    }
    let mut meant = Timed::default();
    for span in all.iter().filter(|span| is_meant(span)) {
        let sample = sample_of(span, all);
        let timed = sample.timed as f64;
        let mean = sample.sum_ns as f64 / timed;
        let spread = (sample.squares_ns2 as f64 / timed - mean * mean).max(0.0);
        let count = span.count as f64;
        meant.ns += count * mean;
        meant.variance_ns2 += count * count * spread / timed;
    }
    Some(meant)
}

/// What was counted of each kind on each CPU between two readings. A kind that the first reading
/// lacks had not occurred.
pub fn spans(first: &[SoftirqTime], last: &[SoftirqTime]) -> Vec<SoftirqTime> {
    let none = SoftirqTime::default();
    let span = |after: &SoftirqTime| {
        let is_same = |before: &&SoftirqTime| before.cpu == after.cpu && before.kind == after.kind;
        let before = first.iter().find(is_same).unwrap_or(&none);
        let sum_ns = after.sum_ns.wrapping_sub(before.sum_ns);
        SoftirqTime {
            cpu: after.cpu,
            kind: after.kind.clone(),
            count: after.count.saturating_sub(before.count),
            timed: after.timed.saturating_sub(before.timed),
            // A CPU that was taken away while a start was read makes that time negative.
            sum_ns: sum_ns.cast_signed().max(0).cast_unsigned(),
            squares_ns2: after.squares_ns2.wrapping_sub(before.squares_ns2),
        }
    };
    last.iter().map(span).collect()
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
