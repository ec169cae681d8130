//! The checks between two machines, one after the other. After each, the settings of both hosts are
//! compared with those before it.

mod failures;
mod hosts;
mod reach;
mod settings;
mod tested;

use anyhow::{Result, bail, ensure};

use super::port::{self, Check, Role};

pub use hosts::set_up;

/// All checks in their order, the first ones those of the short form; after the last one the far machine has forgotten all.
const CHECKS: &[Check] = &[
    ("tests over ssh", reach::over_ssh),
    ("tests over the service", reach::over_the_service),
    ("offloads at both hosts", settings::offloads),
    ("offloads that depend on others", settings::dependent),
    ("an offload that is fixed", settings::fixed),
    ("MTU 9000", settings::mtu),
    ("channels", settings::channels),
    ("coalescing", settings::coalescing),
    ("a sysctl", settings::sysctl),
    ("fq paces", settings::fq),
    ("netem delays", settings::netem),
    ("clocks an hour apart", reach::clocks),
    ("a link that is cut", failures::cut),
    ("a host that is powered off", failures::powered_off),
];
const SHORT: usize = 3;

/// Makes the wanted checks and has the far machine power off.
pub fn work() -> Result<()> {
    hosts::wait_for_far()?;
    let [near, far] = [Role::Near, Role::Far].map(|role| hosts::sh(role, "uname -r"));
    let (near, far) = (near?, far?);
    ensure!(near != far, "both are Linux {near}");
    let before = hosts::settings()?;
    let count = if port::is_short() {
        SHORT
    } else {
        CHECKS.len()
    };
    port::make(&CHECKS[..count], |found| {
        let changed = hosts::differences(&before, &hosts::settings()?).join("; ");
        if changed.is_empty() {
            return found;
        }
        bail!("{found:?}; the settings are not as before: {changed}")
    })?;
    hosts::power_off_far();
    Ok(())
}
