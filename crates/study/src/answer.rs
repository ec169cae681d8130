//! The sentences in which a study answers its question: the cells that they compare, the metric, and
//! the words around the figures.

use crate::check::Levels;

/// The most sentences of an answer, so that it fits on a screen with its table.
pub const SENTENCES_MOST: usize = 2;

/// The most figures of a sentence: an absolute one, and another or the ratio.
pub const FIGURES_MOST: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// The metric by name; of several the sum is meant, such as the cost at both endpoints.
    pub metrics: Vec<String>,
    /// The cell that it is about: a level of each factor that varies.
    pub of: Levels,
    /// The cell that it is compared with.
    pub to: Option<Levels>,
    /// Its words, in order.
    pub words: Vec<Word>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    Text(String),
    Place(Place),
}

bitcost_model::words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Place {
        /// The median of the cell `of`.
        Of = "of",
        /// The median of the cell `to`.
        To = "to",
        /// The first ÷ the second, with its interval.
        Ratio = "ratio",
        /// What limited the cell `of`, and how sure that is.
        Bottleneck = "bottleneck",
    }
}
