//! The kinds of pictures that a report can have.

/// One kind of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picture {
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

impl Picture {
    /// Every kind, in the order of a report.
    pub const ALL: [Picture; 7] = [
        Picture::Quantiles,
        Picture::Boxes,
        Picture::Curve,
        Picture::Cost,
        Picture::Series,
        Picture::Cpus,
        Picture::Order,
    ];

    /// The name that studies use.
    pub fn name(self) -> &'static str {
        match self {
            Picture::Quantiles => "quantiles",
            Picture::Boxes => "boxes",
            Picture::Curve => "curve",
            Picture::Series => "series",
            Picture::Cpus => "cpus",
            Picture::Cost => "cost",
            Picture::Order => "order",
        }
    }
}
