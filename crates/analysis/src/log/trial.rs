//! What a trial of a search for fast options measured.

use bitcost_model::Unavailable;
use bitcost_model::conditions::Conditions;
use bitcost_model::record::{EndpointRecord, ThreadKind};
use bitcost_model::search::Measured;

use super::{PlaceFacts, left_out};
use crate::metrics::{RunView, cpu, figure_of};

/// What a short run measured.
///
/// # Errors
/// Why it has no result.
pub fn measured(
    facts: PlaceFacts,
    ends: [&EndpointRecord; 2],
    conditions: &Conditions,
) -> Result<Measured, Unavailable> {
    let view = facts.view(ends, conditions, None);
    if let Some(reason) = left_out(&view) {
        return Err(Unavailable(reason));
    }
    let figure = |name: &str| figure_of(&view, name);
    let throughput_mbps = figure("throughput_mbps").filter(|mbps| *mbps > 0.0);
    let throughput_mbps = throughput_mbps
        .ok_or_else(|| Unavailable("nothing was received in its window".to_owned()))?;
    let kib_per_second = throughput_mbps * 1e6 / 8.0 / 1024.0;
    Ok(Measured {
        rate: throughput_mbps,
        cost_us: cpus_in_use(&view).map(|cpus| cpus * 1e6 / kib_per_second),
    })
}

/// CPU seconds per second of both endpoints. Ticks are too coarse to attribute a short window's time to an
/// endpoint; the clocks of all threads together need no attribution on one host.
fn cpus_in_use(view: &RunView) -> Option<f64> {
    let ends = [view.sender, view.receiver];
    if !view.shared_cpus {
        return ends.into_iter().map(cpu::busy_cpus).sum();
    }
    let clocks = ends.into_iter().map(|end| {
        let napi = cpu::of_threads(end, ThreadKind::Napi);
        let napi = napi.or((!view.napi_threaded).then_some(0.0))?;
        Some(cpu::of_threads(end, ThreadKind::Traffic)? + napi)
    });
    let clocks: Option<f64> = clocks.sum();
    clocks.or_else(|| cpu::busy_cpus(view.sender))
}
