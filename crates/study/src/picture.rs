//! The pictures that a report can have, and the options that a study can give one.

use bitcost_model::study::Label;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use crate::forms::{Level, Many, Metric, OfFactors};

/// Levels of each factor that is named.
type Cells = OfFactors<Many<Level>>;

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

/// One picture. `bars`, `x` and `y` are of a `curve`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "A picture of [report]")]
pub struct Picture {
    /// Its kind.
    pub kind: PictureKind,
    /// Text before its own title, such as the number of the document's figure.
    pub title: Option<String>,
    /// The levels that are shown (default: all).
    #[serde(default, deserialize_with = "levels")]
    #[schemars(with = "Option<Cells>", !default)]
    pub of: Vec<(String, Vec<Label>)>,
    /// The metrics, a picture each (default: those of the tables).
    #[serde(default, deserialize_with = "names")]
    #[schemars(with = "Option<Vec<Metric>>", !default)]
    pub metrics: Vec<String>,
    /// The bars of a curve: the median's interval, or the least and the largest run (default: interval).
    #[serde(default)]
    #[schemars(with = "Option<Bars>", !default)]
    pub bars: Bars,
    /// The scale of the horizontal axis of a curve (default: as fits).
    pub x: Option<Scale>,
    /// The scale of its vertical axis (default: as fits).
    pub y: Option<Scale>,
}

fn levels<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(String, Vec<Label>)>, D::Error> {
    let all = |Many(levels)| Vec::into_iter(levels).map(|level: Level| level.0).collect();
    Ok(Cells::deserialize(from)?.map(all))
}

/// Metrics by name.
pub fn names<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let metrics = Vec::<Metric>::deserialize(from)?.into_iter();
    Ok(metrics.map(|metric| metric.0).collect())
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
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Bars {
        /// The median's 95 % interval.
        #[default]
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
