//! Times of single messages: transactions and calls, delays, and a sender's own pacing.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Times of the answered transactions of the measured window, or of a stream's send calls: an
/// HdrHistogram of three significant digits, from 1 ns to 60 s.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Sum of all times, exact, in ns.
    pub sum_ns: u64,
    /// The longest time, exact, in ns.
    pub max_ns: u64,
    /// Longest time of each bucket that is not empty, in ns, with how many times fell into it;
    /// shortest first. Times over 60 s are in the last bucket.
    pub buckets: Vec<(u64, u64)>,
}

impl Latency {
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    /// The merged times of two flows.
    #[must_use]
    pub fn plus(&self, other: &Latency) -> Latency {
        let mut buckets: BTreeMap<u64, u64> = self.buckets.iter().copied().collect();
        for (value_ns, count) in &other.buckets {
            *buckets.entry(*value_ns).or_default() += count;
        }
        Latency {
            sum_ns: self.sum_ns.saturating_add(other.sum_ns),
            max_ns: self.max_ns.max(other.max_ns),
            buckets: buckets.into_iter().collect(),
        }
    }
}

/// The differences of one-way delays from datagram to datagram, in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DelayVariation {
    /// Absolute differences of delay between datagrams that were sent and received consecutively
    /// (RFC 3393).
    pub differences: Latency,
    /// Interarrival jitter after the last datagram (RFC 3550, 6.4.1), in ns; of several flows the
    /// greatest.
    pub jitter_ns: u64,
}

impl DelayVariation {
    /// The merged differences of two flows.
    #[must_use]
    pub fn plus(&self, other: &DelayVariation) -> DelayVariation {
        DelayVariation {
            differences: self.differences.plus(&other.differences),
            jitter_ns: self.jitter_ns.max(other.jitter_ns),
        }
    }
}

/// The measurements of a sender that paces itself, over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pacing {
    pub burst_messages: u64,
    pub bursts: u64,
    /// Time from the first burst to the end, in ns.
    pub elapsed_ns: u64,
    /// CPU time of the waiting itself, in ns.
    pub cpu_ns: u64,
}

impl Pacing {
    /// The sum of two flows: counts and times are added, except for the elapsed time, whose longest
    /// is kept.
    #[must_use]
    pub fn plus(&self, other: &Pacing) -> Pacing {
        Pacing {
            burst_messages: self.burst_messages,
            bursts: self.bursts + other.bursts,
            elapsed_ns: self.elapsed_ns.max(other.elapsed_ns),
            cpu_ns: self.cpu_ns + other.cpu_ns,
        }
    }
}
