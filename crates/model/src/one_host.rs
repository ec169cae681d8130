//! The settings that a run cannot ask for where both its endpoints are on one host, because each of
//! them would set them.

use crate::Invalid;
use crate::conditions::{Conditions, Offloads};
use crate::host_settings::STRESS;
use crate::record::Role;

/// Checks that only one endpoint changes the host that both are on: that endpoint changes the host
/// and restores it.
///
/// # Errors
/// A sentence that says what was found and what to do.
pub fn check(conditions: &Conditions) -> Result<(), Invalid> {
    let requests = conditions
        .host_settings
        .iter()
        .filter(|request| request.setting != STRESS);
    let of = |role: Role| {
        requests
            .clone()
            .find(|request| request.is_of(role))
            .map(|request| request.setting.as_str())
    };
    let of_both = if conditions.offloads == Offloads::AsFound {
        None
    } else {
        Some("offloads")
    };
    match of_both.or_else(|| of(Role::Sender).and(of(Role::Receiver))) {
        Some(setting) => Err(Invalid(format!(
            "both endpoints are on one host, and both would set its {setting}: set it for one endpoint, as in `sender: VALUE`"
        ))),
        None => Ok(()),
    }
}
