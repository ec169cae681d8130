//! What fails between two machines: the link, and the other machine.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::hosts::{eventually, power_off_far, wait_for_far};
use super::tested::{OVER_SSH, carried, run, started};
use crate::vm::inside::port::{BOOT_OTHER, CUT_LINK, JOIN_LINK, tell};

/// How long a test of a second may take to end after its link was cut: the run's time, the lease,
/// and what slow machines add.
const ENDS: Duration = Duration::from_secs(90);

pub(super) fn cut() -> Result<String> {
    let run = started(&["tcp", "-t", "8", "--offloads", "off"])?;
    let began = run.began;
    tell(CUT_LINK)?;
    let outcome = run.ended();
    let took = began.elapsed();
    tell(JOIN_LINK)?;
    let outcome = outcome?;
    ensure!(took < ENDS, "it took {took:?}");
    Ok(format!(
        "8 s asked for, ended after {took:.1?} with {:?}: {}; then {}",
        outcome.code,
        outcome.err,
        retried()?
    ))
}

/// A test when all is well again; the kernel may need some time to find its neighbour.
fn retried() -> Result<String> {
    eventually(ENDS, || carried(&run(&["tcp", "-t", "1"], OVER_SSH)?))
}

pub(super) fn powered_off() -> Result<String> {
    let run = started(&["tcp", "-t", "30", "--offloads", "off"])?;
    let began = run.began;
    power_off_far();
    let outcome = run.ended();
    let took = began.elapsed();
    tell(BOOT_OTHER)?;
    let said = outcome?.refused(None, "far")?;
    wait_for_far()?;
    let after = retried()?;
    Ok(format!(
        "ended after {took:.1?}: {said}; after its boot {after}"
    ))
}
