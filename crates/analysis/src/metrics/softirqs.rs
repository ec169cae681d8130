//! The time of soft interrupts on an endpoint's CPUs, as far as it was timed: the number of each
//! kind × the mean of those that were timed.

use bitcost_model::counters::SoftirqTime;
use bitcost_model::record::{SOFTIRQ_TIME, SOFTIRQS_TIMED};
use bitcost_model::soft_interrupts::{self, spans};

use crate::metrics::edges::Edges;
use crate::metrics::view::{RunView, actual};

bitcost_model::words! {
    /// By which means the time of soft interrupts is known.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SoftirqMeans {
        Timed = "timed",
        /// By the share of ticks that hit one.
        Ticks = "ticks",
    }
}

/// CPU seconds per second of soft interrupts of some kinds, given by the kernel's names, on these CPUs, and their variance,
/// that of a mean of as many as were timed; absent where these CPUs, or too few of all kinds, were timed between the first
/// and the last sample.
pub(crate) fn timed(
    run: &RunView,
    cpus: &[u32],
    is_of_kind: fn(&str) -> bool,
) -> Option<(f64, f64)> {
    let (all, seconds) = [run.sender, run.receiver].into_iter().find_map(|end| {
        let edges = Edges::of(&end.samples)?;
        let all = spans(&edges.first.softirqs, &edges.last.softirqs);
        let has = |cpu: &u32| all.iter().any(|span| span.cpu == *cpu);
        (cpus.iter().all(has)).then_some((all, edges.seconds))
    })?;
    let is_meant = |span: &SoftirqTime| cpus.contains(&span.cpu) && is_of_kind(&span.kind);
    let timed = soft_interrupts::timed(&all, is_meant)?;
    let ns = 1e9 * seconds;
    Some((timed.ns / ns, timed.variance_ns2 / ns.powi(2)))
}

/// Why an endpoint that was to time soft interrupts did not.
pub(crate) fn why_untimed<'a>(run: &RunView<'a>) -> Option<&'a str> {
    let mut ends = run.ends().into_iter();
    let said = ends.find_map(|end| actual(end, SOFTIRQ_TIME))?;
    Some(match said {
        SOFTIRQS_TIMED => "ticks, because too few were timed in this window",
        reason => reason,
    })
}
