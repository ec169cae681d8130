//! The pictures that a report can have, and the options that a study can give one.

use bitcost_model::study::Label;
use schemars::JsonSchema;
use serde::Deserialize;

bitcost_model::words! {
    /// One kind of picture; the order is that of a report.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum PictureKind {
        /// A metric's median in each cell as a bar, next to the figure of the document.
        Bars = "bars",
        /// A metric at every percentile of the runs, a line per cell.
        Quantiles = "quantiles",
        /// A box per cell with every run as a dot.
        Boxes = "boxes",
        /// A metric against a factor that is a number, with intervals.
        Curve = "curve",
        /// One run of each cell over time: throughput, segments retransmitted, window, round-trip time.
        Series = "series",
    }
}

impl PictureKind {
    /// The keys that a study can give for a picture of this kind, in addition to `kind`.
    pub(crate) fn keys(self) -> &'static [&'static str] {
        match self {
            PictureKind::Series => &["title", "of"],
            PictureKind::Curve => &["title", "of", "metrics", "bars", "x", "y"],
            _ => &["title", "of", "metrics"],
        }
    }
}

/// A picture as a study requests it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub kind: PictureKind,
    /// The text before its own title, such as the number of the document's figure.
    pub title: Option<String>,
    /// The metrics by name, a picture each; empty: those of the study's table.
    pub metrics: Vec<String>,
    /// Factors with the levels that are shown; all levels of the other factors are shown.
    pub of: Vec<(String, Vec<Label>)>,
    pub bars: Bars,
    /// The scale of the horizontal axis of a curve; absent: it fits the levels.
    pub x: Option<Scale>,
    /// The scale of its vertical axis; absent: it fits the values.
    pub y: Option<Scale>,
}

impl Picture {
    /// A picture of this kind with defaults for everything else.
    pub fn plain(kind: PictureKind) -> Picture {
        Picture {
            kind,
            title: None,
            metrics: Vec::new(),
            of: Vec::new(),
            bars: Bars::Interval,
            x: None,
            y: None,
        }
    }

    pub fn shows(&self, levels: &[(String, Label)]) -> bool {
        let wanted = |(factor, labels): &(String, Vec<Label>)| {
            levels
                .iter()
                .any(|(name, label)| name == factor && labels.contains(label))
        };
        self.of.iter().all(wanted)
    }
}

bitcost_model::words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Bars {
        /// The median's 95 % interval.
        Interval = "interval",
        /// The least and the largest run.
        Range = "range",
    }
}

bitcost_model::words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Scale {
        /// Equal steps are equal differences.
        Linear = "linear",
        /// Equal steps are equal ratios.
        Log = "log",
    }
}
