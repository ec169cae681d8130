//! The checks between two machines, one after the other. After each, the settings of both hosts are
//! compared with those before it.

mod failures;
mod hosts;
mod reach;
mod settings;
pub mod table;
mod tested;

use anyhow::{Result, bail, ensure};

use super::port::{self, Check, Role};

pub use hosts::set_up;

/// All checks in their order, the first ones those of the short form; after the last one the far machine has forgotten all.
const CHECKS: &[Check] = &[
    ("tests over ssh", reach::over_ssh),
    ("tests over the service", reach::over_the_service),
    ("offloads at both hosts", settings::offloads),
    ("clocks an hour apart", reach::clocks),
    ("a link that is cut", failures::cut),
    ("a host that is powered off", failures::powered_off),
];
const SHORT: usize = 3;

/// Those for a row of docs/drivers.md.
const OF_SETTINGS: &[Check] = &[
    ("each setting alone", table::one_by_one),
    ("all settings that work, in a run", table::together),
    ("the same, with agents that are killed", table::killed),
    ("the study moderation", table::moderation),
];

/// Makes the wanted checks and has the far machine power off.
pub fn work() -> Result<()> {
    hosts::wait_for_far()?;
    let [near, far] = [Role::Near, Role::Far].map(|role| hosts::sh(role, "uname -r"));
    let (near, far) = (near?, far?);
    ensure!(near != far, "both are Linux {near}");
    let before = hosts::settings()?;
    let checks = match (port::is("table"), port::is("short")) {
        (true, _) => OF_SETTINGS,
        (_, true) => &CHECKS[..SHORT],
        _ => CHECKS,
    };
    port::make(checks, |found| {
        let changed = hosts::differences(&before, &hosts::settings()?).join("; ");
        if changed.is_empty() {
            return found;
        }
        bail!("{found:?}; the settings are not as before: {changed}")
    })?;
    hosts::power_off_far();
    Ok(())
}
