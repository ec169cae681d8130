//! What a traffic loop counted, and what sequence numbers told it.

use serde::{Deserialize, Serialize};

/// What a traffic loop counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Send or receive calls that moved data.
    pub calls: u64,
    /// Messages handed over whole (sender), or datagrams received (receiver); a TCP receiver cannot see
    /// messages. Where the sender asks: whole transactions, at both ends.
    pub messages: u64,
    /// Bytes of user data. Where the sender asks: of requests and responses together, at both ends.
    pub bytes: u64,
    /// Calls that moved less than was asked (TCP sender only).
    pub short_calls: u64,
    /// Calls that failed and were not counted otherwise (full queues, refused datagrams).
    pub failed_calls: u64,
    /// Requests that were given up without an answer; they are not among the messages.
    #[serde(default)]
    pub unanswered: u64,
    /// Calls that found nothing to take (`EAGAIN`): those of a receiver that spins, waits that timed out, and
    /// where flows share threads also send calls that found no room.
    #[serde(default)]
    pub empty_calls: u64,
    /// Calls that asked which flows are ready (`epoll_wait`), where flows share threads; counted at the
    /// first flow of each thread.
    #[serde(default)]
    pub wait_calls: u64,
    /// Times that the loop itself went to sleep: to keep its rate, or between receive calls where a run asks for that.
    #[serde(default)]
    pub sleeps: u64,
    /// How long these took together, in ns; each is counted when it ends. Sleeps within a send or receive call are not
    /// among them.
    #[serde(default)]
    pub slept_ns: u64,
}

impl Counts {
    /// The sum of two counts.
    #[must_use]
    pub fn plus(&self, other: &Counts) -> Counts {
        Counts {
            calls: self.calls + other.calls,
            messages: self.messages + other.messages,
            bytes: self.bytes + other.bytes,
            short_calls: self.short_calls + other.short_calls,
            failed_calls: self.failed_calls + other.failed_calls,
            unanswered: self.unanswered + other.unanswered,
            empty_calls: self.empty_calls + other.empty_calls,
            wait_calls: self.wait_calls + other.wait_calls,
            sleeps: self.sleeps + other.sleeps,
            slept_ns: self.slept_ns + other.slept_ns,
        }
    }

    /// What came after an earlier reading of the same counters.
    #[must_use]
    pub fn since(&self, earlier: &Counts) -> Counts {
        Counts {
            calls: self.calls - earlier.calls,
            messages: self.messages - earlier.messages,
            bytes: self.bytes - earlier.bytes,
            short_calls: self.short_calls - earlier.short_calls,
            failed_calls: self.failed_calls - earlier.failed_calls,
            unanswered: self.unanswered - earlier.unanswered,
            empty_calls: self.empty_calls - earlier.empty_calls,
            wait_calls: self.wait_calls - earlier.wait_calls,
            sleeps: self.sleeps - earlier.sleeps,
            slept_ns: self.slept_ns - earlier.slept_ns,
        }
    }
}

/// The counts of a run, divided by the sender's clock, whose phase each datagram carries; a TCP receiver
/// divides by its own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseCounts {
    /// Before and after the measured window.
    pub outside: Counts,
    /// The measured window.
    pub measured: Counts,
}

impl PhaseCounts {
    /// The sum of two flows' counts.
    #[must_use]
    pub fn plus(&self, other: &PhaseCounts) -> PhaseCounts {
        PhaseCounts { outside: self.outside.plus(&other.outside), measured: self.measured.plus(&other.measured) }
    }

    /// All that was counted.
    pub fn total(&self) -> Counts {
        self.outside.plus(&self.measured)
    }
}

/// What the sequence numbers of a UDP flow told the receiver. Needs messages of 8 bytes or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    /// Datagrams of the measured window that were sent, by the sender's count.
    pub measured_sent: u64,
    /// Of these, how many never came.
    pub measured_lost: u64,
    /// Datagrams of the whole run that never came.
    pub total_lost: u64,
    /// Datagrams that came after a later one.
    pub reordered: u64,
    /// Datagrams that came more than once.
    pub duplicated: u64,
    /// Datagrams that came so late that it cannot be told whether they came before; they count as lost.
    #[serde(default)]
    pub late: u64,
    /// Those of the measured window alone; absent in logs of versions that did not count them.
    #[serde(default)]
    pub measured: Option<Arrivals>,
    /// Datagrams that came from the sender's address and port and were not of the run; they are in no other count.
    #[serde(default)]
    pub foreign: u64,
}

/// Datagrams of the measured window that did not come in order and in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Came after a later one.
    pub reordered: u64,
    /// Came more than once.
    pub duplicated: u64,
    /// Came so late that it cannot be told whether they came before; they count as lost.
    pub late: u64,
    /// Came after the receiver's own window had ended; they count as received.
    pub after_window: u64,
}

impl Arrivals {
    /// The sum of two flows' counts.
    #[must_use]
    pub fn plus(&self, other: &Arrivals) -> Arrivals {
        Arrivals {
            reordered: self.reordered + other.reordered,
            duplicated: self.duplicated + other.duplicated,
            late: self.late + other.late,
            after_window: self.after_window + other.after_window,
        }
    }
}

impl Sequence {
    /// The sum of two flows' numbers.
    #[must_use]
    pub fn plus(&self, other: &Sequence) -> Sequence {
        Sequence {
            measured_sent: self.measured_sent + other.measured_sent,
            measured_lost: self.measured_lost + other.measured_lost,
            total_lost: self.total_lost + other.total_lost,
            reordered: self.reordered + other.reordered,
            duplicated: self.duplicated + other.duplicated,
            late: self.late + other.late,
            measured: self.measured.zip(other.measured).map(|(a, b)| a.plus(&b)),
            foreign: self.foreign + other.foreign,
        }
    }
}
