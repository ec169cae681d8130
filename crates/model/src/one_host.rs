//! The settings that a run cannot ask for where both its endpoints are on one host, because each of
//! them would set them.

use crate::Invalid;
use crate::conditions::Conditions;
use crate::host_settings::{HostSetting, STRESS};
use crate::record::Role;

/// Checks that only one endpoint changes the host that both are on: that endpoint changes the host
/// and restores it.
pub fn check(conditions: &Conditions) -> Result<(), Invalid> {
    let of = |role: Role| {
        let mut settings = conditions.of_host(role).map(HostSetting::name);
        settings.find(|name| *name != STRESS.setting)
    };
    match of(Role::Sender).and(of(Role::Receiver)) {
        Some(setting) => Err(Invalid(format!(
            "both endpoints are on one host, and both would set its {setting}: set it for one endpoint, as in `sender: VALUE`"
        ))),
        None => Ok(()),
    }
}
