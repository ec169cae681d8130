//! What a trial of a search for fast options measured.

use bitcost_model::conditions::Conditions;
use bitcost_model::record::EndpointRecord;
use bitcost_model::search::Measured;

use super::{PlaceFacts, left_out};
use crate::metrics::metric;

/// What a short run measured.
///
/// # Errors
/// Why it has no result.
pub fn measured(
    facts: PlaceFacts,
    ends: [&EndpointRecord; 2],
    conditions: &Conditions,
) -> Result<Measured, String> {
    let view = facts.view(ends, conditions, None);
    if let Some(reason) = left_out(&view) {
        return Err(reason);
    }
    let figure = |name: &str| metric(name).and_then(|metric| (metric.compute)(&view));
    let throughput_mbps = figure("throughput_mbps").filter(|mbps| *mbps > 0.0);
    Ok(Measured {
        throughput_mbps: throughput_mbps.ok_or("nothing was received in its window")?,
        send_service_demand_us_per_kib: figure("send_service_demand_us_per_kib"),
        receive_service_demand_us_per_kib: figure("receive_service_demand_us_per_kib"),
    })
}
