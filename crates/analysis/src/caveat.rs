//! Caveats, and how much each can change an answer.

/// What may change how a figure is read, after its weight: an estimate of how much it can change the answer, as a share of
/// the figures (a difference that cannot be detected), of the runs (those that are disturbed), or of a CPU (foreign load).
pub type Caveat = (f64, String);

/// The sentences, the one that can change the answer most first.
pub fn by_weight(mut caveats: Vec<Caveat>) -> Vec<String> {
    caveats.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    caveats.into_iter().map(|(_, words)| words).collect()
}
