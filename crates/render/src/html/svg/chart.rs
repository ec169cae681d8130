//! What a chart consists of: panels, axes, traces and marks.

use bitcost_analysis::statistics::Interval;

use super::axis::Axis;
use super::sign::Sign;

/// Width of a chart in its own units, which are CSS pixels where there is room.
pub(crate) const WIDTH: f64 = 800.0;

/// About the width of a letter.
pub(crate) const LETTER: f64 = 7.2;

/// Height of a line of text.
pub(super) const LINE: f64 = 18.0;

/// Height of the band of a name.
pub(crate) const BAND: f64 = 26.0;

/// Panels one above the other, which share their horizontal axis.
pub(crate) struct Chart {
    /// What it shows, for those who do not see it.
    pub label: String,
    pub width: f64,
    pub panels: Vec<Panel>,
    pub legend: Legend,
}

/// What is under a chart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Legend {
    None,
    /// A line for each trace.
    Traces,
}

pub(crate) struct Panel {
    pub x: Axis,
    pub x_title: String,
    pub y: Scale,
    pub y_title: String,
    /// Height without the words around it.
    pub height: f64,
    pub traces: Vec<Trace>,
    /// Values of the horizontal axis at which a line stands.
    pub rules: Vec<f64>,
    /// Columns right of the bands of names.
    pub columns: Vec<Column>,
}

/// Words for each name.
pub(crate) struct Column {
    pub title: String,
    pub width: f64,
    pub cells: Vec<ColumnCell>,
}

pub(crate) struct ColumnCell {
    /// The length of a small bar before the words.
    pub value: Option<f64>,
    pub words: String,
    /// What the pointer shows.
    pub title: String,
}

impl Column {
    /// A column as wide as its longest words, within these widths.
    pub fn wide(title: &str, (least, most): (f64, f64), cells: Vec<ColumnCell>) -> Column {
        let longest = cells.iter().map(|cell| cell.words.chars().count()).max();
        Column {
            title: title.to_owned(),
            width: (LETTER * longest.unwrap_or(0) as f64).clamp(least, most),
            cells,
        }
    }
}

/// The vertical axis: numbers from below, or a band for each name from above.
pub(crate) enum Scale {
    Numbers(Axis),
    Names(Vec<String>),
}

/// Marks of one name, colour and sign.
pub(crate) struct Trace {
    pub name: String,
    pub ink: Ink,
    pub sign: Sign,
    /// The number of its dashes, from 0, which is a solid line.
    pub dash: usize,
    pub slot: Slot,
    pub marks: Marks,
    /// Whether the legend names it.
    pub is_named: bool,
}

/// A colour: one of a series, or one that the style sheet has under this name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    Series(usize),
    Named(&'static str),
}

/// The part of a name's band in which marks are, as shares of it.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    pub centre: f64,
    pub width: f64,
}

pub(crate) enum Marks {
    /// A sign at each place.
    Points(Vec<Mark>),
    /// A sign at each place and a line through them.
    Line(Vec<Mark>),
    /// A line without signs.
    Curve(Vec<(f64, f64)>),
    /// A bar from `Mark::from` to each place.
    Bars(Vec<Mark>),
    Boxes(Vec<Quartiles>),
}

/// A place with the bounds of its value: along the vertical axis, or along the horizontal one where
/// the vertical one has names.
#[derive(Clone, Default)]
pub(crate) struct Mark {
    pub x: f64,
    pub y: f64,
    pub from: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub title: String,
}

impl Mark {
    /// A mark at a place, with the bounds of its value where that has some.
    pub fn at(x: f64, y: f64, of: Option<&Interval>, title: String) -> Mark {
        Mark {
            x,
            y,
            from: 0.0,
            low: of.and_then(|of| of.low),
            high: of.and_then(|of| of.high),
            title,
        }
    }
}

/// A box along the horizontal axis: whisker, quartile, median, quartile, whisker.
pub(crate) struct Quartiles {
    pub y: f64,
    pub five: [f64; 5],
    pub title: String,
}

impl Trace {
    /// The marks of the series with this number; those after the last colour have other signs and
    /// dashes.
    pub fn new(name: &str, series: usize, marks: Marks) -> Trace {
        let round = series / COLOURS;
        Trace {
            name: name.to_owned(),
            ink: Ink::Series(series),
            sign: Sign::ROUNDS[round % Sign::ROUNDS.len()],
            dash: round % DASHES,
            slot: Slot::WHOLE,
            marks,
            is_named: true,
        }
    }
}

/// The number of colours and of dashes in the style sheet.
const COLOURS: usize = 8;
const DASHES: usize = 5;

impl Slot {
    pub const WHOLE: Slot = Slot {
        centre: 0.0,
        width: 0.7,
    };

    /// Part `place` of `count` next to each other.
    pub fn part(place: usize, count: usize) -> Slot {
        let width = 0.8 / count as f64;
        Slot {
            centre: (place as f64 + 0.5) * width - 0.4,
            width: 0.85 * width,
        }
    }
}

impl Ink {
    /// Its class in the style sheet.
    pub(super) fn class(self) -> String {
        match self {
            Ink::Series(number) => format!("c{}", number % COLOURS),
            Ink::Named(name) => name.to_owned(),
        }
    }
}
