//! One run as the metrics see it, with the counts and windows that every formula divides by.

use model::conditions::Conditions;
use model::record::{Counts, EndRecord, Role};
use model::units::KIB;

/// What both ends of one run left behind.
#[derive(Clone, Copy, Debug)]
pub struct RunView<'a> {
    /// The sender's record.
    pub sender: &'a EndRecord,
    /// The receiver's record.
    pub receiver: &'a EndRecord,
    /// What the run was to do.
    pub conditions: &'a Conditions,
    /// True when both ends use the same CPUs.
    pub shared_cpus: bool,
    /// True when the receiver's interface was told to receive in kernel threads wherever it uses NAPI.
    pub napi_threaded: bool,
    /// What the path carried in calibration with the run's setting of it, in Mbit/s; absent where that is not known.
    pub ceiling_mbps: Option<f64>,
}

impl<'a> RunView<'a> {
    /// The record of one end.
    pub fn end(&self, role: Role) -> &'a EndRecord {
        match role {
            Role::Sender => self.sender,
            Role::Receiver => self.receiver,
        }
    }

    /// True where nothing else went on in the run: all CPU time was spent on what is counted.
    pub fn is_alone(&self) -> bool {
        self.sender.beside.is_empty()
    }

    /// What one end counted in the measured window.
    pub fn measured(&self, role: Role) -> &'a Counts {
        &self.end(role).counts.measured
    }

    /// Length of the window that an end's measured counts belong to, in seconds; absent where it is empty.
    ///
    /// A receiver counts by the sender's marks wherever there are any, so its window is the sender's.
    pub fn window_seconds(&self, role: Role) -> Option<f64> {
        let by_marks = self.conditions.workload.marks_window();
        let end = if by_marks { self.sender } else { self.end(role) };
        let ns = end.window_end_ns.checked_sub(end.window_begin_ns)?;
        (ns > 0).then(|| ns as f64 / 1e9)
    }

    /// User data of one end in the measured window, in KiB; absent where there was none.
    pub fn kib(&self, role: Role) -> Option<f64> {
        let bytes = self.measured(role).bytes;
        (bytes > 0).then(|| bytes as f64 / KIB)
    }

    /// User data of one end per second of its window, in KiB/s; absent where there was none.
    pub fn kib_per_second(&self, role: Role) -> Option<f64> {
        Some(self.kib(role)? / self.window_seconds(role)?)
    }
}
