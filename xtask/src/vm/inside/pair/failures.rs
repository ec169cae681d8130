//! What fails between two machines: the link, and the other machine.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::hosts::{forget_far, sh, wait_for_far};
use super::tested::{OVER_SSH, Run, started};
use crate::vm::inside::port::{Ask, Port, Role};

/// How long a test of a second may take to end after its link was cut: the run's time, the lease,
/// and what slow machines add.
const ENDS: Duration = Duration::from_secs(90);

pub(super) fn cut(port: &mut Port) -> Result<String> {
    let run = started(&["tcp", "-t", "8", "--offloads", "off"], OVER_SSH)?;
    let began = run.began;
    port.ask(Ask::CutLink)?;
    let outcome = run.ended();
    let took = began.elapsed();
    port.ask(Ask::JoinLink)?;
    let outcome = outcome?;
    ensure!(took < ENDS, "it took {took:?}");
    let after = retried()?;
    Ok(format!(
        "8 s asked for, ended after {:.1} s with {:?}: {}; then {after}",
        took.as_secs_f64(),
        outcome.code,
        outcome.err.trim()
    ))
}

/// A test when all is well again; the kernel may need some time to find its neighbour.
fn retried() -> Result<String> {
    let end = Instant::now() + ENDS;
    loop {
        match Run::over_ssh(&["tcp", "-t", "1"]).and_then(|run| run.text()) {
            Err(_) if Instant::now() < end => thread::sleep(Duration::from_secs(1)),
            other => return other,
        }
    }
}

pub(super) fn powered_off(port: &mut Port) -> Result<String> {
    let run = started(&["tcp", "-t", "30", "--offloads", "off"], OVER_SSH)?;
    let began = Instant::now();
    // It is off before it can answer.
    let _ = sh(Role::Far, "echo o > /proc/sysrq-trigger");
    let outcome = run.ended();
    let took = began.elapsed();
    forget_far();
    port.ask(Ask::BootOther)?;
    let outcome = outcome?;
    ensure!(
        outcome.code != Some(0) && outcome.err.contains("far"),
        "it ended with {:?}: {}",
        outcome.code,
        outcome.err
    );
    wait_for_far()?;
    let after = retried()?;
    Ok(format!(
        "ended after {:.1} s with {:?}: {}; after its boot {after}",
        took.as_secs_f64(),
        outcome.code,
        outcome.err.trim()
    ))
}
