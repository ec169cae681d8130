//! CPU time between the first and the last sample of one endpoint: by clocks, and by ticks.

use bitcost_model::record::{CpuTicks, EndpointRecord, ThreadKind};
use bitcost_stats::spread;

use crate::metrics::edges::{Edges, is_of_first_part};
use crate::metrics::view::RunView;

/// One CPU over the time between the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CpuSpan {
    pub cpu: u32,
    /// Wall clock less idle and iowait, within 0 and the wall clock, in seconds.
    pub busy_seconds: f64,
    pub busy_ticks: u64,
    pub softirq_ticks: u64,
    /// Time that the hypervisor took, in seconds.
    pub stolen_seconds: f64,
    /// netperf's share of time at work: 1 − idle ÷ sum of all fields; absent where no tick passed.
    pub netperf_share: Option<f64>,
}

/// Time from the first to the last sample, in seconds; absent where there are fewer than two.
pub(crate) fn span_seconds(record: &EndpointRecord) -> Option<f64> {
    Edges::of(&record.samples).map(|edges| edges.seconds)
}

/// Each CPU that is in the first and in the last sample; absent where there is none.
pub(crate) fn cpus(record: &EndpointRecord) -> Option<Vec<CpuSpan>> {
    let cpus = spans_of(record.ticks_per_second, &Edges::of(&record.samples)?);
    (!cpus.is_empty()).then_some(cpus)
}

/// Each CPU that is in both samples; none without ticks.
pub(crate) fn spans_of(ticks_per_second: u64, edges: &Edges) -> Vec<CpuSpan> {
    let (first, last) = (&edges.first.cpus, &edges.last.cpus);
    spans(first, last, edges.seconds, ticks_per_second)
}

fn spans(first: &[CpuTicks], last: &[CpuTicks], wall: f64, ticks_per_second: u64) -> Vec<CpuSpan> {
    let tick = 1.0 / ticks_per_second as f64;
    let pairs = last
        .iter()
        .filter(|_| tick.is_finite())
        .filter_map(|after| {
            let before = first.iter().find(|before| before.cpu == after.cpu)?;
            Some(cpu_span(before, after, wall, tick))
        });
    pairs.collect()
}

/// CPU seconds per second that a host used between its samples; absent where its CPU times are not
/// known.
pub(crate) fn busy_cpus(record: &EndpointRecord) -> Option<f64> {
    let busy: f64 = cpus(record)?.iter().map(|cpu| cpu.busy_seconds).sum();
    Some(busy / span_seconds(record)?)
}

/// CPU seconds per second that the host used before the block, while bitcost was idle, of some CPUs; absent where
/// that was not measured.
pub(crate) fn idle_cpus(record: &EndpointRecord, is_of: impl Fn(&u32) -> bool) -> Option<f64> {
    let wall = idle_seconds(record)?;
    let idle = record.idle.as_ref()?;
    let mut cpus = spans(&idle.start, &idle.end, wall, record.ticks_per_second);
    cpus.retain(|span| is_of(&span.cpu));
    (!cpus.is_empty()).then(|| cpus.iter().map(|cpu| cpu.busy_seconds).sum::<f64>() / wall)
}

/// Length of the stretch before the block, in seconds.
pub(crate) fn idle_seconds(record: &EndpointRecord) -> Option<f64> {
    let idle = record.idle.as_ref()?;
    let ns = idle.end_ns.checked_sub(idle.start_ns)?;
    (ns > 0).then(|| ns as f64 / 1e9)
}

/// CPU seconds per second that the run added to the idle load; absent where it added none.
pub(crate) fn cpus_above_idle(record: &EndpointRecord) -> Option<f64> {
    Some(busy_cpus(record)? - idle_cpus(record, |_| true)?).filter(|above| *above > 0.0)
}

/// Standard error of [`busy_cpus`], in CPUs: the age of each reading of a CPU is uniformly
/// distributed, up to one tick.
pub(crate) fn busy_error_cpus(record: &EndpointRecord) -> Option<f64> {
    let tick = 1.0 / record.ticks_per_second as f64;
    Some(tick / 6f64.sqrt() * (cpus(record)?.len() as f64).sqrt() / span_seconds(record)?)
}

/// Some counters of `/proc/stat` may decrease (kernel doc: proc, 1.7); such a step counts as 0.
fn cpu_span(before: &CpuTicks, after: &CpuTicks, wall: f64, tick: f64) -> CpuSpan {
    let idle = after.idle.saturating_sub(before.idle);
    let waiting = after.iowait.saturating_sub(before.iowait);
    let all = after.all().saturating_sub(before.all());
    CpuSpan {
        cpu: after.cpu,
        busy_seconds: (wall - (idle + waiting) as f64 * tick).clamp(0.0, wall),
        busy_ticks: after.busy().saturating_sub(before.busy()),
        stolen_seconds: after.steal.saturating_sub(before.steal) as f64 * tick,
        softirq_ticks: after.softirq.saturating_sub(before.softirq),
        netperf_share: (all > 0).then(|| (1.0 - idle as f64 / all as f64).max(0.0)),
    }
}

/// CPUs that all threads of a kind used between the samples; absent where there are none, or where their number changed.
pub(crate) fn of_threads(record: &EndpointRecord, kind: ThreadKind) -> Option<f64> {
    let edges = Edges::of(&record.samples)?;
    Some(edges.threads(|thread| thread.kind == kind)?.0 / edges.seconds)
}

/// CPUs that the traffic threads of the run's first part used, and how many of them waited for one, on average.
pub(crate) fn of_first_part(record: &EndpointRecord) -> Option<(f64, f64)> {
    let edges = Edges::of(&record.samples)?;
    let (run, wait) = edges.threads(is_of_first_part)?;
    Some((run / edges.seconds, wait / edges.seconds))
}

/// The share of the CPUs to which an end is confined that are on another NUMA node than its card, and the card's node;
/// absent where it is confined to none, or its card is not known.
pub(crate) fn far_share(record: &EndpointRecord) -> Option<(f64, u32)> {
    let card = record.samples.last()?.card.as_ref()?;
    let cpus = &record.pinned_cpus;
    let far = cpus.iter().filter(|cpu| card.is_far(**cpu)).count();
    (!cpus.is_empty()).then_some((far as f64 / cpus.len() as f64, card.node?))
}

/// The mean time of the fixed loop over the CPUs of both endpoints, each by its mean, in µs; absent
/// where it was not measured.
pub(crate) fn speed_loop_us(run: &RunView) -> Option<f64> {
    let cpus = run.sender.speed.iter().chain(&run.receiver.speed);
    let means: Vec<f64> = cpus.filter_map(|cpu| mean(&cpu.loop_ns)).collect();
    spread(&means).map(|loops| loops.mean / 1e3)
}

fn mean(ns: &[u32]) -> Option<f64> {
    let ns: Vec<f64> = ns.iter().map(|ns| f64::from(*ns)).collect();
    spread(&ns).map(|ns| ns.mean)
}

/// The mean round trip of a cache line between the endpoints' CPUs, in ns; absent where it was not
/// measured.
pub(crate) fn core_to_core_round_trip_ns(run: &RunView) -> Option<f64> {
    let mut measured = [run.sender, run.receiver]
        .into_iter()
        .filter_map(|end| end.core_to_core.as_ref());
    mean(&measured.next()?.round_trip_ns)
}
