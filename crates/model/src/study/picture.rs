//! The pictures that a report can have, and what a study can ask of one.

use super::Label;

/// One kind of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureKind {
    /// A metric's median in each cell, beside the figure of the document.
    Medians,
    /// A metric at every percentile of the runs, a line per cell.
    Quantiles,
    /// A box per cell with every run as a dot.
    Boxes,
    /// A metric against a factor that is a number, with intervals.
    Curve,
    /// One run of each cell over time: throughput, segments sent again, window, round-trip time.
    Series,
    /// How busy each CPU was over time, in one run of each cell.
    Cpus,
    /// CPU time per message against message size, and the line through it.
    Cost,
    /// Every run in the order in which they were made.
    Order,
}

impl PictureKind {
    /// Every kind, in the order of a report.
    pub const ALL: [PictureKind; 8] = [
        PictureKind::Medians,
        PictureKind::Quantiles,
        PictureKind::Boxes,
        PictureKind::Curve,
        PictureKind::Cost,
        PictureKind::Series,
        PictureKind::Cpus,
        PictureKind::Order,
    ];

    /// The name that studies use.
    pub fn name(self) -> &'static str {
        match self {
            PictureKind::Medians => "medians",
            PictureKind::Quantiles => "quantiles",
            PictureKind::Boxes => "boxes",
            PictureKind::Curve => "curve",
            PictureKind::Series => "series",
            PictureKind::Cpus => "cpus",
            PictureKind::Cost => "cost",
            PictureKind::Order => "order",
        }
    }

    /// What a study can say of a picture of this kind, beside `kind`.
    pub(crate) fn keys(self) -> &'static [&'static str] {
        match self {
            PictureKind::Cost => &["title"],
            PictureKind::Series | PictureKind::Cpus => &["title", "of"],
            PictureKind::Curve => &["title", "of", "metrics", "bars", "x", "y"],
            _ => &["title", "of", "metrics"],
        }
    }
}

/// A picture as a study wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// What it shows.
    pub kind: PictureKind,
    /// What stands before its own title, such as the number of the document's figure.
    pub title: Option<String>,
    /// The metrics by name, a picture each; empty: those of the study's table.
    pub metrics: Vec<String>,
    /// Factors with the levels that are shown; of the others, all.
    pub of: Vec<(String, Vec<Label>)>,
    /// What the bars of a curve say.
    pub bars: Bars,
    /// How the horizontal axis of a curve runs; absent: as suits its levels.
    pub x: Option<Scale>,
    /// How its vertical axis runs; absent: as suits the values.
    pub y: Option<Scale>,
}

impl Picture {
    /// One of this kind with everything that suits it.
    pub fn plain(kind: PictureKind) -> Picture {
        Picture { kind, title: None, metrics: Vec::new(), of: Vec::new(), bars: Bars::Interval, x: None, y: None }
    }

    /// Whether it shows a cell of these levels.
    pub fn shows(&self, levels: &[(String, Label)]) -> bool {
        let wanted = |(factor, labels): &(String, Vec<Label>)| {
            levels.iter().any(|(name, label)| name == factor && labels.contains(label))
        };
        self.of.iter().all(wanted)
    }
}

/// What the bars of a curve say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bars {
    /// The median's 95 % interval.
    Interval,
    /// The least and the largest run.
    Range,
}

impl Bars {
    /// Every kind.
    pub const ALL: [Bars; 2] = [Bars::Interval, Bars::Range];

    /// The name that studies use.
    pub fn name(self) -> &'static str {
        match self {
            Bars::Interval => "interval",
            Bars::Range => "range",
        }
    }
}

/// How an axis runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps are equal differences.
    Linear,
    /// Equal steps are equal ratios.
    Log,
}

impl Scale {
    /// Every scale.
    pub const ALL: [Scale; 2] = [Scale::Linear, Scale::Log];

    /// The name that studies use.
    pub fn name(self) -> &'static str {
        match self {
            Scale::Linear => "linear",
            Scale::Log => "log",
        }
    }
}
