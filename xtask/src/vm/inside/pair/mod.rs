//! The checks between two machines, one after the other. After each, the settings of both hosts are
//! compared with those before it.

mod failures;
mod hosts;
mod reach;
mod settings;
mod tested;

use anyhow::{Result, bail, ensure};

use super::port::{Check, Port, Role, check};

pub use hosts::set_up;

const fn short(name: &'static str, make: fn(&mut Port) -> Result<String>) -> Check {
    let short = true;
    Check { name, short, make }
}

/// All checks in their order; after the last one the far machine has forgotten all.
const CHECKS: &[Check] = &[
    short("tests over ssh", reach::over_ssh),
    short("tests over the service", reach::over_the_service),
    short("offloads at both hosts", settings::offloads),
    check("offloads that depend on others", settings::dependent),
    check("an offload that is fixed", settings::fixed),
    check("MTU 9000", settings::mtu),
    check("channels", settings::channels),
    check("coalescing", settings::coalescing),
    check("a sysctl", settings::sysctl),
    check("fq paces", settings::fq),
    check("netem delays", settings::netem),
    check("clocks an hour apart", reach::clocks),
    check("a link that is cut", failures::cut),
    check("a host that is powered off", failures::powered_off),
];

/// Makes the wanted checks and has the far machine power off.
pub fn work() -> Result<()> {
    let mut port = Port::open()?;
    hosts::wait_for_far()?;
    let [near, far] = [Role::Near, Role::Far].map(|role| hosts::sh(role, "uname -r"));
    let (near, far) = (near?, far?);
    ensure!(near != far, "both are Linux {near}");
    let before = of_both()?;
    port.make(CHECKS, |port, row| {
        let found = (row.make)(port);
        let changed = hosts::differences(&before, &of_both()?).join("; ");
        if changed.is_empty() {
            return found;
        }
        bail!("{found:?}; the settings are not as before: {changed}")
    })?;
    // It is off before it can answer.
    let _ = hosts::sh(Role::Far, "echo o > /proc/sysrq-trigger");
    Ok(())
}

fn of_both() -> Result<Vec<String>> {
    let mut all = Vec::new();
    for role in [Role::Near, Role::Far] {
        let lines = hosts::settings(role)?;
        all.extend(lines.iter().map(|line| format!("{}: {line}", role.name())));
    }
    Ok(all)
}
