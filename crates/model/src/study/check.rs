//! What a document states, as figures of our own runs with the bounds between which they must lie for it to be true.

use super::Label;

/// Factor and level, for as many factors as are named.
pub type Levels = Vec<(String, Label)>;

/// A statement and what must hold for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The statement in words, with where it stands.
    pub statement: String,
    /// All of these must hold.
    pub claims: Vec<Claim>,
}

/// One figure and its bounds. A factor that it does not name is matched: the figure is computed, and must hold, at each
/// combination of such factors' levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The metric, by name.
    pub metric: String,
    /// What is computed of its medians.
    pub figure: Figure,
    /// Lower bound.
    pub at_least: Option<f64>,
    /// Upper bound.
    pub at_most: Option<f64>,
}

/// What is computed of a metric's medians.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// The median itself.
    Value(Levels),
    /// One median ÷ another. Both sides name the same factors.
    Ratio(Levels, Levels),
    /// One median − another. Both sides name the same factors.
    Difference(Levels, Levels),
    /// The median ÷ the goodput in Mbit/s of a link at this rate in bit/s, were each message a segment of its own.
    OverSingle(Levels, u64),
    /// The largest ÷ the smallest median along a factor.
    Spread(Along),
    /// The smallest ratio of a median to the one before it along a factor.
    Step(Along),
    /// The size, a factor's level, from which the first side is within 95 % of its largest median ÷ that of the second side,
    /// between levels by straight lines. Both sides name the same factors.
    Saturation(Along, Levels, Levels),
}

/// A way through the levels of one factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Along {
    /// The factor.
    pub factor: String,
    /// Its levels, in this order.
    pub levels: Vec<Label>,
    /// Levels of other factors.
    pub at: Levels,
}

/// The share of the largest median from which a curve counts as saturated.
pub const SATURATED: f64 = 0.95;

impl Figure {
    /// The key that studies use.
    pub fn key(&self) -> &'static str {
        match self {
            Figure::Value(_) => "value",
            Figure::Ratio(..) => "ratio",
            Figure::Difference(..) => "difference",
            Figure::OverSingle(..) => "over_single",
            Figure::Spread(_) => "spread_over",
            Figure::Step(_) => "step_over",
            Figure::Saturation(..) => "saturation_over",
        }
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
