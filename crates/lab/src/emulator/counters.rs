//! Counters of the packets of one direction, by what happened to them.

use std::ops::{Deref, DerefMut};

use bitcost_model::counters::LinkEmulator;

use crate::emulator::lateness::Lateness;

#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Without what is known when they are read: the device, its times and its rate.
    counted: LinkEmulator,
    /// How long after its due time each packet departed.
    pub lateness: Lateness,
}

impl Counters {
    pub fn reading(&self, device: &str, cpu_ns: u64, rate_bps: Option<u64>) -> LinkEmulator {
        LinkEmulator {
            device: device.to_owned(),
            cpu_ns,
            rate_bps,
            late: self.lateness.buckets(),
            ..self.counted.clone()
        }
    }
}

impl Deref for Counters {
    type Target = LinkEmulator;

    fn deref(&self) -> &LinkEmulator {
        &self.counted
    }
}

impl DerefMut for Counters {
    fn deref_mut(&mut self) -> &mut LinkEmulator {
        &mut self.counted
    }
}
