//! The driver's counters of the endpoint's interface, as `ethtool -S` shows them.

use bitcost_sys::ethtool::statistics;

use crate::source::{Source, Target, source};

/// Absent if the driver has no counters.
pub fn open(target: &Target) -> Option<Source> {
    let device = target.device.clone();
    statistics(&device).ok().filter(|found| !found.is_empty())?;
    source(move |sample, _| {
        // Counters with the same name are summed.
        for (name, count) in statistics(&device).unwrap_or_default() {
            let sum = sample.driver.entry(name).or_default();
            *sum = sum.wrapping_add(count);
        }
    })
}
