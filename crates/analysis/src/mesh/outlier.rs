//! A host or a pair of a mesh that is slower than the others.

/// What is slower.
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

/// A host or a pair that is slower than the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlier {
    /// Which.
    pub named: Named,
    /// The difference from the others in per cent of theirs, with its 95 % interval, of a pair without one: below 0
    /// where the metric is less.
    pub pct: f64,
    /// The lower and the upper bound.
    pub interval: Option<(f64, f64)>,
    /// Its runs.
    pub runs: usize,
    /// What limited most of its runs.
    pub limiter: Option<String>,
}
