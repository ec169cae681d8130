//! The row of a run of our own that has a result, from its records.

use std::rc::Rc;

use bitcost_model::record::Role;

use super::caveats::interruption;
use super::exclude;
use super::in_effect::PartsInEffect;
use crate::cells::{RunRow, Status, Told};
use crate::explain::Kept;
use crate::metrics::{
    Figures, RunView, SoftirqMeans, Weak, attribute, disturbance, emulator_trouble, marks,
    why_untimed,
};

/// Reads the records of a run, with `is_kept` also what explains it.
pub(super) fn row_of(view: &RunView, is_kept: bool) -> RunRow {
    let (load, trouble, marks) = (disturbance(view), emulator_trouble(view), marks(view));
    let attribution = attribute(view);
    let found = attribution.as_ref().ok();
    let softirqs = found.and_then(|found| found.softirqs);
    let by_ticks = why_untimed(view).filter(|_| softirqs == Some(SoftirqMeans::Ticks));
    let by_ticks = by_ticks.map(|reason| format!("the time of soft interrupts is by {reason}"));
    let (reason, parts) = (exclude::reason(view), PartsInEffect::of(view));
    let of_trouble = trouble.map(|trouble| trouble.kind()).into_iter();
    let of_load = load
        .iter()
        .map(|load| format!("disturbed, {}", load.kind()));
    let mark = |(weak, role): &(Weak, Role)| format!("{}, {}", role.name(), weak.reason());
    let of_marks = marks.iter().map(mark);
    let figures = Figures::of(|metric| (metric.compute)(view));
    RunRow {
        status: match reason {
            None => Status::Used,
            Some(_) => Status::LeftOut,
        },
        reason,
        method: found.map(|found| found.method),
        softirqs,
        is_disturbed: load.is_some(),
        interrupted: interruption(view),
        told: Some(Rc::new(Told {
            unattributed: attribution.err().map(|why| why.0),
            notes: parts.notes.into_iter().chain(by_ticks).collect(),
            of_cell: of_trouble.chain(of_load).chain(of_marks).collect(),
        })),
        not_in_effect: parts.settings,
        kept: is_kept.then(|| Rc::new(Kept::of(view, &figures))),
        figures,
        ..RunRow::default()
    }
}
