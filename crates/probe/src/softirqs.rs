//! Soft interrupts of a run that times them: their number, and the times of some.

use crate::read::Kept;
use crate::source::{Source, Target, source};

pub(crate) fn open(target: &Target) -> Option<Source> {
    let timer = target.softirqs.clone()?;
    let mut counts = Kept::open("/proc/softirqs")?;
    source(move |sample, _| {
        sample.softirqs = counts
            .text()
            .map(|text| timer.read(text))
            .unwrap_or_default();
    })
}
