//! What a chart consists of. It becomes an SVG element that needs no script: the page's style sheet has the colours,
//! and each mark carries its words as a `title`.

mod axis;
mod draw;

use bitcost_analysis::statistics::Interval;

pub(crate) use axis::Axis;

const BAND: f64 = 26.0;

/// The most lines or clouds that a legend names; with more, only the pointer shows the name of a line.
const LEGEND: usize = 40;

/// The number of colours and of dashes in the style sheet.
const COLOURS: usize = 8;
const DASHES: usize = 5;

/// Panels one above the other, which share their horizontal axis.
#[derive(Default)]
pub(crate) struct Chart {
    pub panels: Vec<Panel>,
    pub has_legend: bool,
}

#[derive(Default)]
pub(crate) struct Panel {
    pub x: Axis,
    pub x_title: String,
    pub y: Scale,
    pub y_title: String,
    pub height: f64,
    pub traces: Vec<Trace>,
    /// Words right of the bands of names, each column with its title.
    pub columns: Vec<(String, Vec<String>)>,
}

/// The vertical axis: numbers from below, or a band for each name from above.
pub(crate) enum Scale {
    Numbers(Axis),
    Names(Vec<String>),
}

impl Default for Scale {
    fn default() -> Scale {
        Scale::Names(Vec::new())
    }
}

pub(crate) struct Trace {
    pub name: String,
    pub class: String,
    /// The number of its dashes, from 0, which is a solid line.
    dash: usize,
    /// The middle and the height of the part of a name's band in which marks are, as shares of it.
    pub slot: (f64, f64),
    pub marks: Marks,
}

pub(crate) enum Marks {
    Dots(Vec<Mark>),
    Open(Vec<Mark>),
    /// Lines across the band of a name: figures of a document.
    Across(Vec<Mark>),
    /// A line, with a dot at each place if there are few.
    Line(Vec<Mark>),
    /// A bar from `Mark::from` to each place.
    Bars(Vec<Mark>),
    Boxes(Vec<Quartiles>),
}

/// A place with the bounds of its value: along the vertical axis, or along the horizontal one where the vertical one
/// has names.
#[derive(Clone)]
pub(crate) struct Mark {
    pub x: f64,
    pub y: f64,
    pub from: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub title: String,
}

impl Marks {
    pub fn all(&self) -> &[Mark] {
        match self {
            Marks::Dots(marks)
            | Marks::Open(marks)
            | Marks::Across(marks)
            | Marks::Line(marks)
            | Marks::Bars(marks) => marks,
            Marks::Boxes(_) => &[],
        }
    }
}

impl Mark {
    /// A mark at a place, with the bounds of its value where that has some.
    pub fn at(x: f64, y: f64, of: &Interval, title: String) -> Mark {
        Mark {
            x,
            y,
            from: 0.0,
            low: of.low,
            high: of.high,
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
    /// The marks of the series with this number; those after the last colour have other dashes.
    pub fn new(name: &str, series: usize, marks: Marks) -> Trace {
        Trace {
            name: name.to_owned(),
            class: format!("c{}", series % COLOURS),
            dash: series / COLOURS % DASHES,
            slot: (0.0, 0.7),
            marks,
        }
    }
}

impl Chart {
    pub fn plain(x: (Axis, &str), y: (Axis, &str), traces: Vec<Trace>) -> Chart {
        Chart::of(Panel {
            x: x.0,
            x_title: x.1.to_owned(),
            y: Scale::Numbers(y.0),
            y_title: y.1.to_owned(),
            height: 300.0,
            traces,
            ..Panel::default()
        })
    }

    /// One panel with a band for each name; `y_title` stands above the names.
    pub fn rows(x: (Axis, &str), y_title: String, names: Vec<String>, traces: Vec<Trace>) -> Chart {
        Chart::of(Panel {
            x: x.0,
            x_title: x.1.to_owned(),
            height: BAND * names.len() as f64,
            y_title,
            y: Scale::Names(names),
            traces,
            ..Panel::default()
        })
    }

    fn of(panel: Panel) -> Chart {
        Chart {
            has_legend: (2..=LEGEND).contains(&panel.traces.len()),
            panels: vec![panel],
        }
    }
}
