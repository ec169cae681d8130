//! The pictures: one call per kind over the frame of an execution.

mod boxes;
mod changes;
mod cost;
mod curve;
mod document;
mod drawing;
mod hero;
mod medians;
mod narrow;
mod point;
mod quantiles;
mod series;

use crate::csv::csv;
use bitcost_analysis::compare::Comparison;
use bitcost_analysis::explain::Explanation;
use bitcost_analysis::findings::Findings;
use bitcost_study::{Picture as Wanted, PictureKind as Kind};

use crate::html::svg::{Chart, Trace};
pub(crate) use drawing::{Drawn, figure as figures};
use narrow::narrowed;

/// One picture with the numbers behind it.
pub(crate) struct Picture {
    /// Its name in the page.
    pub id: String,
    /// Its file's name without the ending.
    pub file: String,
    /// The heading above the pictures of its kind.
    pub heading: &'static str,
    pub title: String,
    /// How to read it.
    pub caption: String,
    pub chart: Chart,
    /// The numbers as a file.
    pub csv: String,
    /// A note, if not every point is drawn.
    pub sampled: Option<String>,
}

/// A kind's heading and how it is drawn.
type Row = (
    Kind,
    &'static str,
    fn(&Findings, &Wanted, &Explanation) -> Vec<Drawn>,
);

/// The heading of the pictures and tables with the document's figures.
pub(crate) const DOCUMENT: &str = "Compared with the document";

const KINDS: [Row; 6] = [
    (Kind::Medians, DOCUMENT, medians::draw),
    (Kind::Quantiles, "Percentiles", quantiles::draw),
    (Kind::Boxes, "Spread", boxes::draw),
    (Kind::Curve, "Against size", curve::draw),
    (Kind::Cost, "Cost of a message", cost::draw),
    (Kind::Series, "Within a run", series::draw),
];

/// The pictures that the study wants; if it names none, every kind that has something to show.
/// Their numbers start at `first`.
pub(crate) fn all(execution: &Findings, explanation: &Explanation, first: usize) -> Vec<Picture> {
    let wanted = execution
        .summary
        .study
        .pictures
        .clone()
        .unwrap_or_else(|| Kind::ALL.map(Wanted::plain).to_vec());
    let mut pictures: Vec<Picture> = Vec::new();
    for wanted in &wanted {
        let Some((_, heading, draw)) = KINDS.iter().find(|(kind, ..)| *kind == wanted.kind) else {
            continue;
        };
        for mut drawn in draw(&narrowed(execution, wanted), wanted, explanation) {
            if let Some(title) = &wanted.title {
                drawn.title = format!("{title}. {}", drawn.title);
            }
            let same = pictures
                .iter()
                .filter(|known| known.file.split(' ').next() == Some(&drawn.file))
                .count();
            if same > 0 {
                drawn.file = format!("{} {}", drawn.file, same + 1);
            }
            pictures.push(finish(first + pictures.len(), heading, drawn));
        }
    }
    pictures
}

/// The picture that a chapter opens with; `number` is that of its next picture.
pub(crate) fn hero(
    execution: &Findings,
    explanation: &Explanation,
    number: usize,
) -> Option<Picture> {
    let mut picture = finish(number, "", hero::draw(execution, explanation)?);
    picture.id = format!("cells{number}");
    Some(picture)
}

/// A picture per metric of a comparison. Their numbers start at `first`.
pub(crate) fn of_changes(comparison: &Comparison, first: usize) -> Vec<Picture> {
    let drawn = changes::draw(comparison).into_iter().enumerate();
    drawn
        .map(|(place, drawn)| finish(first + place, "Changes", drawn))
        .collect()
}

/// A picture of bars in a band for each name, from 0 on.
pub(crate) fn bars(label: &str, unit: &str, names: Vec<String>, traces: Vec<Trace>) -> Chart {
    let axis = drawing::from_zero(&drawing::reach(&traces));
    drawing::rows(label, (axis, unit), names, traces)
}

pub(crate) fn finish(number: usize, heading: &'static str, drawn: Drawn) -> Picture {
    let Drawn {
        file,
        title,
        caption,
        chart,
        numbers,
        sampled,
    } = drawn;
    let (numbers, rows) = crate::html::sampled::sampled(numbers);
    let cut = rows.map(|rows| {
        format!(
            "The file holds {} of {rows} rows, evenly chosen.",
            crate::html::sampled::ROWS
        )
    });
    let sampled = sampled
        .into_iter()
        .chain(cut)
        .reduce(|a, b| format!("{a} {b}"));
    let (id, csv) = (format!("p{number}"), csv(&numbers));
    Picture {
        id,
        file,
        heading,
        title,
        caption,
        chart,
        csv,
        sampled,
    }
}
