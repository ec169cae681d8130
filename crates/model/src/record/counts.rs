//! The counts of a traffic loop, and the results of sequence numbers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Structs of counters, each with its sum and its difference.
macro_rules! counters {
    ($($(#[$about:meta])* $name:ident { $($(#[$of:meta])* $counter:ident,)* })*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub struct $name {
            $($(#[$of])* pub $counter: u64,)*
        }

        impl $name {
            #[must_use]
            pub fn plus(&self, other: &$name) -> $name {
                $name { $($counter: self.$counter.saturating_add(other.$counter),)* }
            }

            /// The difference from an earlier reading of the same counters.
            #[must_use]
            pub fn since(&self, earlier: &$name) -> $name {
                $name { $($counter: self.$counter.saturating_sub(earlier.$counter),)* }
            }
        }
    )*};
}

counters! {
    /// The counts of a traffic loop.
    Counts {
        /// Send or receive calls that moved data.
        calls,
        /// Messages handed over whole (sender), or datagrams received (receiver); a TCP receiver cannot
        /// see messages. In transactional workloads: whole transactions, at both endpoints.
        messages,
        /// Bytes of user data. In transactional workloads: of requests and responses together, at both
        /// endpoints.
        bytes,
        /// Calls that moved less than was requested (TCP sender only).
        short_calls,
        /// Calls that failed and were not counted otherwise (full queues, refused datagrams).
        failed_calls,
        /// Requests that were given up without an answer; they are not among the messages.
        #[serde(default)]
        unanswered,
        /// Calls that found nothing to take (`EAGAIN`): those of a receiver that spins, and waits that
        /// timed out.
        #[serde(default)]
        empty_calls,
        /// Times that the loop itself slept: to keep its rate, or between receive calls where a run
        /// asks for that.
        #[serde(default)]
        sleeps,
        /// The total time of these sleeps, in ns; each is counted when it ends. Time blocked in send or
        /// in receive is not included.
        #[serde(default)]
        slept_ns,
    }

    /// Datagrams of the measured window that did not come in order and in time.
    Arrivals {
        /// Datagrams that came after a later one.
        reordered,
        /// Datagrams that came more than once.
        duplicated,
        /// Datagrams that came so late that it is unknown whether they are duplicates; they count as
        /// lost.
        late,
        /// Datagrams that came after the receiver's own window had ended; they count as received.
        after_window,
    }
}

/// The counts of a run, divided by the sender's clock, whose phase each datagram carries; a TCP
/// receiver divides them by its own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseCounts {
    /// Before and after the measured window.
    pub outside: Counts,
    pub measured: Counts,
}

impl PhaseCounts {
    /// The sum of two flows' counts.
    #[must_use]
    pub fn plus(&self, other: &PhaseCounts) -> PhaseCounts {
        PhaseCounts {
            outside: self.outside.plus(&other.outside),
            measured: self.measured.plus(&other.measured),
        }
    }

    pub fn total(&self) -> Counts {
        self.outside.plus(&self.measured)
    }
}

/// The results of the sequence numbers of a UDP flow at the receiver. They need messages of 8 bytes
/// or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sequence {
    /// Datagrams of the measured window that were sent, by the sender's count.
    pub measured_sent: u64,
    /// The number of these that never came.
    pub measured_lost: u64,
    /// Datagrams of the whole run that never came.
    pub total_lost: u64,
    /// Datagrams that came after a later one.
    pub reordered: u64,
    /// Datagrams that came more than once.
    pub duplicated: u64,
    /// Datagrams that came so late that it is unknown whether they are duplicates; they count as
    /// lost.
    #[serde(default)]
    pub late: u64,
    /// The same counts for the measured window alone; absent in logs of versions that did not count
    /// them.
    pub measured: Option<Arrivals>,
    /// Foreign datagrams: they came from the sender's address and port but did not belong to the
    /// run. No other count includes them.
    #[serde(default)]
    pub foreign: u64,
}

impl Sequence {
    /// The sum of two flows' results.
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
