//! Times of single messages: send calls, one-way delays, departures, and the engine's own cost.

use bitcost_model::record::{
    DelayVariation, EndpointRecord, FlowRecord, Latency, NARROW_HOP, PATH_MTU, Role,
};

use crate::metrics::view::{RunView, actual, quotient};

pub fn mean_us(times: &Latency) -> Option<f64> {
    quotient(times.sum_ns as f64 / 1000.0, times.count() as f64)
}

pub fn max_us(times: &Latency) -> Option<f64> {
    (times.count() > 0).then_some(times.max_ns as f64 / 1000.0)
}

/// The least time that at least this many thousandths of the times did not exceed, in µs.
pub fn quantile_us<const THOUSANDTHS: u64>(times: &Latency) -> Option<f64> {
    let rank = (times.count() * THOUSANDTHS).div_ceil(1000);
    let mut seen = 0;
    let reached = |(_, count): &&(u64, u64)| {
        seen += count;
        seen >= rank
    };
    let (ns, _) = times.buckets.iter().find(reached)?;
    // The upper bound of a bucket may lie above the longest time.
    Some((*ns).min(times.max_ns) as f64 / 1000.0)
}

pub fn latency(run: &RunView, figure: fn(&Latency) -> Option<f64>) -> Option<f64> {
    figure(run.sender.latency.as_ref()?)
}

fn variation(run: &RunView) -> Option<DelayVariation> {
    let found = FlowRecord::sum(&run.receiver.flows).delay_variation;
    found.filter(|found| found.differences.count() > 0)
}

pub fn delay_variation(run: &RunView, figure: fn(&Latency) -> Option<f64>) -> Option<f64> {
    figure(&variation(run)?.differences)
}

pub fn jitter_us(run: &RunView) -> Option<f64> {
    Some(variation(run)?.jitter_ns as f64 / 1000.0)
}

/// The MTU of the path, as the kernel of an end knows it.
pub(super) fn path_mtu(end: &EndpointRecord) -> Option<u32> {
    actual(end, PATH_MTU)?.parse().ok()
}

/// What it means that datagrams do not fit the path, and the largest that do; absent where they fit.
pub fn in_fragments(run: &RunView) -> Option<(String, u32)> {
    let known = [run.sender, run.receiver].into_iter();
    let known = known.filter_map(|end| Some((path_mtu(end)?, actual(end, NARROW_HOP))));
    let (mtu_bytes, hop) = known.min_by_key(|(mtu_bytes, _)| *mtu_bytes)?;
    run.conditions.in_fragments(mtu_bytes, hop)
}

/// The difference of the window's rate from the requested one, in per cent of the requested one.
pub fn rate_error_pct(run: &RunView) -> Option<f64> {
    let mtu = path_mtu(run.sender);
    let asked =
        run.conditions.asked_messages_per_second(mtu)? * run.sender.flows.len().max(1) as f64;
    let achieved = run.measured(Role::Sender).messages as f64 / run.window_seconds(Role::Sender)?;
    Some(100.0 * (quotient(achieved, asked)? - 1.0))
}

pub fn pacing_cpu_pct(run: &RunView) -> Option<f64> {
    let pacing = FlowRecord::sum(&run.sender.flows).pacing;
    let pacing = pacing.filter(|pacing| pacing.bursts > 0)?;
    quotient(100.0 * pacing.cpu_ns as f64, pacing.elapsed_ns as f64)
}
