//! An execution reduced to the cells and metrics that the study wants in one picture.

use std::borrow::Cow;

use bitcost_analysis::findings::Findings;
use bitcost_study::Picture;

/// The execution with only the cells and metrics of the picture.
pub(crate) fn narrowed<'a>(execution: &'a Findings, picture: &Picture) -> Cow<'a, Findings> {
    if picture.of.is_empty() && picture.metrics.is_empty() {
        return Cow::Borrowed(execution);
    }
    let mut execution = execution.clone();
    let summary = &mut execution.summary;
    let mut places = vec![None; summary.cells.len()];
    let shown = places
        .iter_mut()
        .zip(&summary.cells)
        .filter(|(_, cell)| picture.shows(&cell.levels));
    shown
        .enumerate()
        .for_each(|(kept, (place, _))| *place = Some(kept));
    summary.cells.retain(|cell| picture.shows(&cell.levels));
    summary
        .runs
        .retain_mut(|run| match places.get(run.cell).copied().flatten() {
            Some(place) => {
                run.cell = place;
                true
            }
            None => false,
        });
    if !picture.metrics.is_empty() {
        summary.study.table.metrics.clone_from(&picture.metrics);
        for cell in &mut summary.cells {
            cell.figures
                .retain(|(name, _)| picture.metrics.iter().any(|wanted| wanted == name));
        }
    }
    Cow::Owned(execution)
}
