//! The number of soft interrupts and the times of some, from the timer of a run.

use std::fs::File;
use std::rc::Rc;

use bitcost_model::record::Sample;

use crate::read;
use crate::softirq_timer::SoftirqTimer;
use crate::source::{Detail, Source, Target};

struct Softirqs {
    timer: Rc<SoftirqTimer>,
    counts: File,
    buffer: Vec<u8>,
}

/// Opens the probe of a run that times soft interrupts.
pub(crate) fn open(target: &Target) -> Option<Box<dyn Source>> {
    Some(Box::new(Softirqs {
        timer: target.softirqs.clone()?,
        counts: File::open("/proc/softirqs").ok()?,
        buffer: Vec::new(),
    }))
}

impl Source for Softirqs {
    fn read(&mut self, sample: &mut Sample, _detail: Detail) {
        let Softirqs {
            timer,
            counts,
            buffer,
        } = self;
        sample.softirqs = read::whole(counts, buffer)
            .map(|text| timer.read(text))
            .unwrap_or_default();
    }
}
