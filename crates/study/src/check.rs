//! The statements of a document, as figures of bitcost's runs with the bounds between which they
//! must lie.

use bitcost_model::study::Label;

/// Factor and level, for as many factors as are named.
pub type Levels = Vec<(String, Label)>;

#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The statement in words, with its place in the document.
    pub statement: String,
    pub claims: Vec<Claim>,
}

/// One figure and its bounds. A factor that the claim does not name is matched: the figure is
/// computed, and must hold, at each combination of such factors' levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    pub metric: String,
    pub figure: Figure,
    pub at_least: Option<f64>,
    pub at_most: Option<f64>,
}

/// A figure of the medians of one cell, or of two that name the same factors.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub kind: FigureKind,
    pub sides: Vec<Levels>,
}

bitcost_model::words! {
    /// What a figure is, by its key in studies.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FigureKind {
        Value = "value",
        /// One median ÷ another.
        Ratio = "ratio",
        /// One median − another.
        Difference = "difference",
    }
}

impl Claim {
    /// The bounds in words: `2 to 6`, `at least 1`, `at most 1.25`.
    pub fn bounds(&self) -> String {
        match (self.at_least, self.at_most) {
            (Some(low), Some(high)) => format!("{low} to {high}"),
            (Some(low), None) => format!("at least {low}"),
            (None, Some(high)) => format!("at most {high}"),
            (None, None) => String::new(),
        }
    }
}
