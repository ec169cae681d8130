//! The driver's own counters of the end's interface, what `ethtool -S` shows.

use model::record::Sample;

use crate::source::{Detail, Source, Target};

struct Driver(String);

/// Names the interface; absent where its driver has no counters.
pub fn open(target: &Target) -> Option<Box<dyn Source>> {
    let has_any = sys::ethtool::statistics(&target.device).is_ok_and(|found| !found.is_empty());
    has_any.then(|| Box::new(Driver(target.device.clone())) as Box<dyn Source>)
}

impl Source for Driver {
    /// Of counters with the same name the sum is told.
    fn read(&mut self, sample: &mut Sample, _detail: Detail) {
        for (name, count) in sys::ethtool::statistics(&self.0).unwrap_or_default() {
            let sum = sample.driver.entry(name).or_default();
            *sum = sum.wrapping_add(count);
        }
    }
}
