//! Measures what this machine can do, before the scenarios that depend on it.

use std::path::Path;

use anyhow::{Context, Result};

use super::able::Able;
use super::scenarios::{SMALL_TCP, TINY_TCP, WHOLE_TCP, WHOLE_UDP};
use super::trial;

/// Measures it by four runs.
///
/// # Errors
/// When a run fails.
pub fn measure(bitcost: &Path) -> Result<Able> {
    let run = |scenario| {
        trial::run(scenario, 0, &Able::default(), bitcost)?
            .able()
            .context("its records lack counters")
    };
    let (_, messages, _) = run(&WHOLE_UDP)?;
    Ok(Able {
        small_tcp_bps: run(&SMALL_TCP)?.0,
        tiny_tcp_bps: run(&TINY_TCP)?.0,
        udp_bps: 8.0 * 1400.0 * messages,
        tcp_cpus: run(&WHOLE_TCP)?.2,
    })
}
