//! A host or a pair of a mesh that is worse than the others.

/// What is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    /// A host, as the sender and as the receiver.
    Host(usize),
    /// A host that sends.
    Sender(usize),
    /// A host that receives.
    Receiver(usize),
    /// A sender and a receiver.
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

/// How it is worse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Worse {
    /// The difference from the others in per cent of theirs, with its 95 % interval, of a pair without one: below 0
    /// where the metric is less.
    Slow {
        /// The difference.
        pct: f64,
        /// The lower and the upper bound.
        interval: Option<(f64, f64)>,
    },
    /// The medians of the lost data of its runs and of the others, in per cent.
    Loses {
        /// Of its runs.
        pct: f64,
        /// Of the runs without it.
        others_pct: f64,
    },
}

/// A host or a pair that is worse than the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlier {
    /// Which.
    pub named: Named,
    /// How.
    pub worse: Worse,
    /// Its runs.
    pub runs: usize,
    /// What limited most of its runs of which that is known; absent where it is known of none.
    pub limiter: Option<String>,
    /// The runs that it limited.
    pub limited: usize,
}
