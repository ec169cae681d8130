//! Settings of the interfaces: what another program reads at both hosts while a run has them.

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::hosts::sh;
use super::tested::{carried, started};
use crate::vm::inside::port::Role;

/// What it must print at both hosts.
const SHOWS: [&str; 3] = [
    "tcp-segmentation-offload: off",
    "generic-segmentation-offload: off",
    "generic-receive-offload: off",
];

pub(super) fn offloads() -> Result<String> {
    let run = started(&["tcp", "--offloads", "off", "-t", "4"])?;
    let mut open = vec![Role::Near, Role::Far];
    while !open.is_empty() && run.is_running() {
        open.retain(|role| {
            let text = sh(*role, "ethtool -k eth1").unwrap_or_else(|error| error.to_string());
            eprintln!("at {}: {text}", role.name());
            SHOWS.iter().any(|part| !text.contains(part))
        });
        thread::sleep(Duration::from_millis(100));
    }
    let run = run.ended()?.json(&[0])?;
    ensure!(
        open.is_empty(),
        "ethtool does not show {SHOWS:?} during the run at {open:?}"
    );
    carried(&run)
}
