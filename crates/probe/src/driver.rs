//! The driver's counters of the endpoint's interface, as `ethtool -S` shows them.

use bitcost_model::record::Sample;

use crate::source::{Detail, Source, Target};

struct Driver(String);

/// Opens the interface; absent if its driver has no counters.
pub fn open(target: &Target) -> Option<Box<dyn Source>> {
    let has_any =
        bitcost_sys::ethtool::statistics(&target.device).is_ok_and(|found| !found.is_empty());
    has_any.then(|| Box::new(Driver(target.device.clone())) as Box<dyn Source>)
}

impl Source for Driver {
    /// Counters with the same name are summed.
    fn read(&mut self, sample: &mut Sample, _detail: Detail) {
        for (name, count) in bitcost_sys::ethtool::statistics(&self.0).unwrap_or_default() {
            let sum = sample.driver.entry(name).or_default();
            *sum = sum.wrapping_add(count);
        }
    }
}
