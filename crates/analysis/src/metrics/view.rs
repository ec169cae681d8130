//! One run as the metrics see it, with the counts and windows that every formula divides by.

use bitcost_model::conditions::{Conditions, Direction};
use bitcost_model::modes::Mode;
use bitcost_model::record::{Counts, EndpointRecord, Program, Role};
use bitcost_model::units::KIB;

/// The records of both endpoints of one run, with the facts that the formulas need.
#[derive(Clone, Copy, Debug)]
pub struct RunView<'a> {
    pub sender: &'a EndpointRecord,
    pub receiver: &'a EndpointRecord,
    pub conditions: &'a Conditions,
    /// True if both endpoints use the same CPUs.
    pub shared_cpus: bool,
    /// True if the receiver's interface was set to receive in kernel threads wherever it uses NAPI.
    pub napi_threaded: bool,
    /// The most user data that the lab's links let through, in bit/s; absent where they do not limit it, or there is no lab.
    pub shaped_bps: Option<f64>,
    /// Why the run ended before its time; absent where it did not.
    pub interrupted: Option<&'a str>,
}

impl<'a> RunView<'a> {
    pub fn end(&self, role: Role) -> &'a EndpointRecord {
        self.ends()[role as usize]
    }

    pub fn ends(&self) -> [&'a EndpointRecord; 2] {
        [self.sender, self.receiver]
    }

    /// Whether the counters of an endpoint were read: those of an iperf3 server, and of the other end of a program's
    /// connections, are not.
    pub fn is_read(&self, role: Role) -> bool {
        let (end, other) = (self.end(role), self.end(role.other()));
        end.iperf3.is_none() && (end.program.is_some() || other.program.is_none())
    }

    /// The ends that were read of other programs' connections, and the programs; none of bitcost's own traffic.
    pub fn programs(&self) -> impl Iterator<Item = (&'a EndpointRecord, &'a Program)> + use<'a> {
        let ends = self.ends().into_iter();
        ends.filter_map(|end| Some((end, end.program.as_deref()?)))
    }

    /// Whether other programs hold the connections.
    pub fn is_of_programs(&self) -> bool {
        self.programs().next().is_some()
    }

    /// True if an iperf3 server played one of the endpoints.
    pub fn is_with_iperf3(&self) -> bool {
        self.sender.iperf3.is_some() || self.receiver.iperf3.is_some()
    }

    /// True if the run has no background flows: all CPU time was spent on what is counted.
    pub fn is_alone(&self) -> bool {
        // The record of an end that was lost has no parts.
        let of = self.conditions;
        of.background.is_empty() && of.direction != Direction::Both
    }

    /// Datagrams of a packet at the receiver's socket: with `gro` each call takes one packet.
    pub fn datagrams_in_packet(&self) -> f64 {
        let counts = self.receiver.counts.total();
        match self.conditions.receive_mode {
            Mode::Gro if counts.calls > 0 => counts.messages as f64 / counts.calls as f64,
            _ => 1.0,
        }
    }

    pub fn measured(&self, role: Role) -> &'a Counts {
        &self.end(role).counts.measured
    }

    /// Length of the window that an endpoint's measured counts belong to, in seconds; absent where
    /// it is empty.
    ///
    /// A receiver counts by the sender's marks wherever there are any, so its window is the
    /// sender's.
    pub fn window_seconds(&self, role: Role) -> Option<f64> {
        // The record of a receiver that was lost may end before the sender's.
        let by_marks = self.conditions.workload.marks_window() && self.interrupted.is_none();
        let end = self.end(if by_marks { Role::Sender } else { role });
        Some(end.window_seconds()).filter(|seconds| *seconds > 0.0)
    }

    /// User data of one endpoint in the measured window, in KiB; absent where there was none.
    pub fn kib(&self, role: Role) -> Option<f64> {
        let bytes = self.measured(role).bytes;
        (bytes > 0).then(|| bytes as f64 / KIB)
    }

    /// User data of one endpoint per second of its window, in KiB/s; absent where there was none.
    pub fn kib_per_second(&self, role: Role) -> Option<f64> {
        Some(self.kib(role)? / self.window_seconds(role)?)
    }
}

/// A quotient; absent where it divides by nothing.
pub(super) fn quotient(above: f64, below: f64) -> Option<f64> {
    (below > 0.0).then(|| above / below)
}

/// A setting of an endpoint as it was read back.
pub fn actual<'a>(end: &'a EndpointRecord, name: &str) -> Option<&'a str> {
    let mut settings = end.in_effect.iter();
    let found = settings.find(|setting| setting.name == name)?;
    found.actual.as_deref()
}
