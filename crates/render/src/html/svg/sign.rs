//! The signs of marks, which distinguish them without colour.

bitcost_model::words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Sign {
        Circle = "circle",
        Square = "square",
        Diamond = "diamond",
        TriangleUp = "triangle-up",
        TriangleDown = "triangle-down",
        Cross = "cross",
        OpenCircle = "circle-open",
        OpenDiamond = "diamond-open",
        /// A line across the band of a name.
        Across = "across",
    }
}

impl Sign {
    /// The signs of the rounds through the colours.
    pub const ROUNDS: [Sign; 5] = [
        Sign::Circle,
        Sign::Square,
        Sign::Diamond,
        Sign::TriangleUp,
        Sign::TriangleDown,
    ];

    /// Its path around a place; `reach` is how far [`Sign::Across`] reaches to both sides.
    pub fn path(self, x: f64, y: f64, reach: f64) -> String {
        let at = format!("M{x:.1} {y:.1}");
        match self {
            Sign::Circle | Sign::OpenCircle => {
                format!("{at}m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z")
            }
            Sign::Square => format!("{at}m-4 -4h8v8h-8z"),
            Sign::Diamond | Sign::OpenDiamond => format!("{at}m0 -5.5l5 5.5l-5 5.5l-5 -5.5z"),
            Sign::TriangleUp => format!("{at}m0 -5l5 9h-10z"),
            Sign::TriangleDown => format!("{at}m0 5l5 -9h-10z"),
            Sign::Cross => format!("{at}m-4 -4l8 8m-8 0l8 -8"),
            Sign::Across => format!("{at}m0 {:.1}v{:.1}", -reach, 2.0 * reach),
        }
    }
}
