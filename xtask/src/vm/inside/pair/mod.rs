//! The checks between two machines, one after the other. After each, the settings of both hosts are
//! compared with those before it.

mod failures;
mod hosts;
mod others;
mod reach;
mod settings;
mod tested;

use anyhow::{Result, bail};

use super::port::{Found, Port};
use super::wanted::Role;
use crate::vm::report::Line;

pub use hosts::set_up;

/// A check between both machines.
struct Row {
    name: &'static str,
    /// Whether it is in the short form.
    short: bool,
    check: fn(&mut Port) -> Result<Found>,
}

const fn row(name: &'static str, check: fn(&mut Port) -> Result<Found>) -> Row {
    Row {
        name,
        short: false,
        check,
    }
}

const fn short(name: &'static str, check: fn(&mut Port) -> Result<Found>) -> Row {
    Row {
        name,
        short: true,
        check,
    }
}

/// All checks in their order; after the last one the far machine has forgotten all.
const ROWS: &[Row] = &[
    row("two kernels reach each other", reach::ping),
    short("tests over ssh", reach::over_ssh),
    short("tests over the service", reach::over_the_service),
    short("offloads at both hosts", settings::offloads),
    row("offloads that depend on others", settings::dependent),
    row("an offload that is fixed", settings::fixed),
    row("MTU 9000", settings::mtu),
    row("channels", settings::channels),
    row("coalescing", settings::coalescing),
    row("a sysctl", settings::sysctl),
    row("fq paces", settings::fq),
    row("netem delays", settings::netem),
    row("clocks an hour apart", reach::clocks),
    row("another version of bitcost", reach::versions),
    row("iperf3 and netperf agree", others::agree),
    row("a link that is cut", failures::cut),
    row("a host that is powered off", failures::powered_off),
];

/// Makes the wanted checks and has the far machine power off.
///
/// # Errors
/// When the far machine does not come up, or the port cannot be written.
pub fn work() -> Result<()> {
    let mut port = Port::open()?;
    let up = hosts::wait_for_far();
    port.tell(&Line::Up {
        kernel: hosts::kernel(Role::Near)?,
    })?;
    up?;
    let rows: Vec<&Row> = ROWS
        .iter()
        .filter(|row| row.short || !port.wanted.short)
        .collect();
    let before = of_both()?;
    port.make(
        &rows,
        |row| row.name,
        |port, row| {
            let found = (row.check)(port);
            let changed = hosts::differences(&before, &of_both()?);
            if !changed.is_empty() {
                let found = match found {
                    Ok(Found::Holds(said) | Found::Skipped(said)) => said,
                    Err(error) => format!("{error:#}"),
                };
                bail!(
                    "{found}; the settings are not as before: {}",
                    changed.join("; ")
                );
            }
            found
        },
    )?;
    // It is off before it can answer.
    let _ = hosts::sh(Role::Far, "echo o > /proc/sysrq-trigger");
    Ok(())
}

/// The settings of both hosts.
fn of_both() -> Result<Vec<String>> {
    let mut all = Vec::new();
    for role in [Role::Near, Role::Far] {
        let lines = hosts::settings(role)?;
        all.extend(lines.iter().map(|line| format!("{}: {line}", role.name())));
    }
    Ok(all)
}
