//! The host's settings for one run: applied before it, read back, restored after it.

use host::{FeatureState, Set};
use model::conditions::Offloads;
use model::record::OffloadsInForce;

/// What was changed. Dropping it restores the host.
pub struct Knobs {
    device: String,
    before: FeatureState,
    changed: bool,
    /// Offloads as asked and as read back.
    pub offloads: OffloadsInForce,
}

impl Knobs {
    /// Sets what the run asks for and reads it back.
    ///
    /// # Errors
    /// A sentence when the interface cannot be read or written; a bit that did not take is no error,
    /// it is named in [`OffloadsInForce::mismatched`].
    pub fn apply(device: &str, offloads: Offloads) -> Result<Knobs, String> {
        let set = match offloads {
            Offloads::On => Set::On,
            Offloads::Off => Set::Off,
            Offloads::AsFound => Set::AsFound,
        };
        let before = host::observe(device).map_err(|error| error.to_string())?;
        let plan = host::plan(&before, set);
        let shown = if set == Set::AsFound { host::plan(&before, Set::On) } else { plan.clone() };
        let applied = host::apply(device, &plan).map_err(|error| error.to_string())?;
        let of_interest = |(name, _): &(&String, &bool)| shown.asked.contains_key(*name);
        let active = applied.active.iter().filter(of_interest).map(|(name, on)| (name.clone(), *on)).collect();
        let offloads =
            OffloadsInForce { device: device.to_owned(), asked: applied.asked, active, mismatched: applied.mismatched };
        Ok(Knobs { device: device.to_owned(), before, changed: !plan.asked.is_empty(), offloads })
    }
}

impl Drop for Knobs {
    fn drop(&mut self) {
        if !self.changed {
            return;
        }
        let left = match host::restore(&self.device, &self.before) {
            Ok(differences) if differences.is_empty() => return,
            Ok(differences) => format!("{differences:?}"),
            Err(error) => error.to_string(),
        };
        eprintln!("bitcost agent: features of {} could not be restored: {left}", self.device);
    }
}
