//! The pictures: bars, curves, percentiles, boxes, and runs over time.

mod bars;
mod boxes;
mod cells;
mod curve;
mod picture;
mod quantiles;
mod runs;

use std::borrow::Cow;

use bitcost_analysis::findings::Findings;
use bitcost_analysis::metrics::Metric;
use bitcost_model::study::Label;
use bitcost_study::{Picture as Wanted, PictureKind as Kind};

use crate::words::{around, factor_words};
pub(crate) use picture::Picture;

/// The heading above the pictures of each kind, in the order of [`Kind::ALL`].
const HEADINGS: [&str; 5] = [
    "Compared with the document",
    "Percentiles",
    "Spread",
    "Curves",
    "Within a run",
];

/// What a chapter opens with: of one cell a run over time; of several the curve that the study names first, or else its
/// cells.
pub(crate) fn first(execution: &Findings) -> Option<Picture> {
    let of_test = Wanted::plain(Kind::Series);
    let is_curve = |wanted: &&Wanted| matches!(wanted.kind, Kind::Curve);
    let own = execution.summary.study.pictures.as_ref();
    let own = own.and_then(|all| all.first()).filter(is_curve);
    let own = execution.single().map(|_| &of_test).or(own);
    let own = own.and_then(|wanted| drawn(execution, wanted).into_iter().next());
    own.or_else(|| cells::first(execution))
}

fn drawn(execution: &Findings, wanted: &Wanted) -> Vec<Picture> {
    let of = &narrowed(execution, wanted);
    let mut drawn = match wanted.kind {
        Kind::Bars => cells::compared(of),
        Kind::Quantiles => each_metric(of, quantiles::draw),
        Kind::Boxes => each_metric(of, boxes::draw),
        Kind::Curve => each_metric(of, |of, metric| curve::draw(of, wanted, metric)),
        Kind::Series => runs::draw(of),
    };
    let level = |(factor, labels): &(String, Vec<Label>)| {
        let labels: Vec<String> = labels.iter().map(ToString::to_string).collect();
        format!("{} {}", factor_words(factor), labels.join(" or "))
    };
    let only = wanted.of.iter().map(level).collect::<Vec<_>>().join(", ");
    for picture in &mut drawn {
        match &wanted.title {
            Some(title) => picture.title = format!("{title}. {}", picture.title),
            None => picture.caption += &around(" With ", &only, "."),
        }
    }
    drawn
}

/// The pictures that the study wants, each with its heading; if it names none, every kind that has something to show.
pub(crate) fn all(execution: &Findings) -> Vec<(&'static str, Picture)> {
    let wanted = execution.summary.study.pictures.clone();
    let wanted = wanted.unwrap_or_else(|| Kind::ALL.map(Wanted::plain).to_vec());
    let mut pictures: Vec<(&'static str, Picture)> = Vec::new();
    for wanted in &wanted {
        let drawn = drawn(execution, wanted).into_iter();
        pictures.extend(drawn.map(|picture| (HEADINGS[wanted.kind as usize], picture)));
    }
    pictures
}

fn each_metric(
    execution: &Findings,
    draw: impl Fn(&Findings, &'static Metric) -> Option<Picture>,
) -> Vec<Picture> {
    let metrics = bitcost_analysis::summary::measured(&execution.summary).into_iter();
    metrics
        .filter_map(|metric| draw(execution, metric))
        .collect()
}

/// The execution with only the cells and metrics of the picture.
fn narrowed<'a>(execution: &'a Findings, picture: &Wanted) -> Cow<'a, Findings> {
    if picture.of.is_empty() && picture.metrics.is_empty() {
        return Cow::Borrowed(execution);
    }
    let mut execution = execution.clone();
    let summary = &mut execution.summary;
    let mut places = Vec::new();
    let mut kept = 0;
    for cell in &summary.cells {
        let is_shown = picture.shows(&cell.levels);
        places.push(is_shown.then_some(kept));
        kept += usize::from(is_shown);
    }
    summary.cells.retain(|cell| picture.shows(&cell.levels));
    summary.runs.retain_mut(|run| {
        let place = places.get(run.cell).copied().flatten();
        run.cell = place.unwrap_or(run.cell);
        place.is_some()
    });
    // A factor of which one level is left says nothing in the names of cells.
    let first = summary.cells.first().map(|cell| cell.levels.clone());
    for level in first.iter().flatten().filter(|_| kept > 1) {
        let cells = &mut summary.cells;
        if cells.iter().all(|cell| cell.levels.contains(level)) {
            cells
                .iter_mut()
                .for_each(|cell| cell.levels.retain(|one| one != level));
        }
    }
    if !picture.metrics.is_empty() {
        summary.study.table.metrics.clone_from(&picture.metrics);
        for cell in &mut summary.cells {
            cell.figures
                .retain(|name, _| picture.metrics.iter().any(|wanted| wanted == name));
        }
    }
    Cow::Owned(execution)
}
