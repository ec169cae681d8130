//! Caveats, and how much each can change an answer.

/// What may change how a figure is read, with its weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Caveat {
    /// An estimate of how much it can change the answer: a share of the figures (a difference that
    /// cannot be detected), of the runs (those that are disturbed), or of a CPU (foreign load).
    pub weight: f64,
    pub words: String,
}

impl Caveat {
    pub fn new(weight: f64, words: impl Into<String>) -> Caveat {
        Caveat {
            weight,
            words: words.into(),
        }
    }

    /// The sentences, the one that can change the answer most first.
    pub fn by_weight(mut caveats: Vec<Caveat>) -> Vec<String> {
        caveats.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        caveats.into_iter().map(|caveat| caveat.words).collect()
    }
}
