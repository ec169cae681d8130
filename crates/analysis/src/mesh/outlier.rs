//! A host or a pair of a mesh that is slower than the others.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    /// A host, as the sender and as the receiver.
    Host(usize),
    Sender(usize),
    Receiver(usize),
    Pair(usize, usize),
}

impl Named {
    /// Whether a run of this pair is one of its.
    pub fn has(self, pair: (usize, usize)) -> bool {
        match self {
            Named::Host(host) => pair.0 == host || pair.1 == host,
            Named::Sender(host) => pair.0 == host,
            Named::Receiver(host) => pair.1 == host,
            Named::Pair(sender, receiver) => pair == (sender, receiver),
        }
    }
}

/// A host or a pair that is slower than the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlier {
    pub named: Named,
    /// The difference in per cent of the others: below 0 where the metric is less.
    pub pct: f64,
    /// The difference in robust standard deviations of all hosts, or of all runs of a pair; below 0.
    pub score: f64,
    pub runs: usize,
    /// What limited most of its runs of which that is known; absent where it is known of none.
    pub limiter: Option<String>,
    /// The runs that it limited.
    pub limited: usize,
}
