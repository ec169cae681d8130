//! The data that is kept of a run once its records have been read.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::cells::{RunRow, Status};
use crate::explain::{Kept, RunFigures};
use crate::metrics::{Figures, Mark, Method, RunView, SoftirqMeans, Weak, attribute, why_untimed};
use bitcost_model::Unavailable;
use bitcost_model::plan::PlannedRun;
use bitcost_model::record::Role;
use bitcost_model::study::Label;

use super::caveats::caveats_of;
use super::exclude;
use super::in_effect::{cached_metrics, foreign_datagrams, not_in_effect, unread_segments};
use super::time_series::TimeSeries;

/// A run of our own that has a result.
#[derive(Clone)]
pub(crate) struct Reduced {
    /// Its row, still without what its cell's other runs say of it.
    pub row: RunRow,
    /// How CPU time was attributed, or why it was not.
    pub method: Result<Method, Unavailable>,
    /// By which means the time of soft interrupts is known, where the method uses it.
    pub softirqs: Option<SoftirqMeans>,
    /// The number of marks on its figures that say that other programs took much of the CPUs' time.
    pub disturbances: usize,
    pub emulator_trouble: Option<String>,
    pub cell_notes: Vec<String>,
    /// Other notes on this run that are independent of its cell.
    pub notes: Vec<String>,
    /// Its seconds, if the study's table asks for them.
    pub time_series: Option<Box<TimeSeries>>,
}

impl Reduced {
    /// Reads the records of a run; with `is_kept`, what explains it is kept.
    pub fn of(
        planned: &PlannedRun,
        levels: &[(String, Label)],
        view: &RunView,
        (each_second, is_kept): (bool, bool),
    ) -> Reduced {
        let marks = crate::metrics::marks(view);
        let marks = marks.iter();
        let is_disturbance = |mark: &&Mark| matches!(mark.weak, Weak::Foreign | Weak::Unexplained);
        let disturbances = marks.clone().filter(is_disturbance).count();
        let cell_note = |mark: &Mark| {
            let end = mark.end.map_or("disturbed", Role::name);
            format!("{end}, {}", mark.weak.reason())
        };
        let attribution = attribute(view);
        let softirqs = attribution.as_ref().ok().and_then(|found| found.softirqs);
        let by_ticks = why_untimed(view)
            .filter(|_| softirqs == Some(SoftirqMeans::Ticks))
            .map(|reason| format!("the time of soft interrupts is by {reason}"));
        let method = attribution.map(|found| found.method);
        let left_out = exclude::reason(view);
        let status = match left_out {
            None => Status::Used,
            Some(_) => Status::LeftOut,
        };
        let figures = Figures::of(|metric| (metric.compute)(view));
        let number = u64::from(planned.index) + 1;
        let kept = || {
            Kept::of(
                number,
                view,
                RunFigures::with(number, view.conditions, &figures),
            )
        };
        Reduced {
            row: RunRow {
                kept: is_kept.then(|| Rc::new(kept())),
                reason: left_out,
                method: method.as_ref().ok().copied(),
                is_disturbed: crate::metrics::disturbance(view).is_some(),
                not_in_effect: not_in_effect(view),
                caveats: caveats_of(view),
                figures,
                ..RunRow::new(planned, status)
            },
            method,
            softirqs,
            disturbances,
            emulator_trouble: crate::metrics::emulator_trouble(view).map(|trouble| trouble.kind()),
            cell_notes: marks.map(cell_note).collect(),
            notes: [
                unread_segments(view),
                foreign_datagrams(view),
                cached_metrics(view),
                by_ticks.into_iter().collect(),
            ]
            .concat(),
            time_series: each_second.then(|| Box::new(TimeSeries::of(levels, planned.index, view))),
        }
    }
}

#[derive(Clone)]
pub(crate) struct Imported {
    pub figures: Figures,
    pub notes: Vec<String>,
}

impl Imported {
    pub fn of(figures: &BTreeMap<String, f64>, notes: &[String]) -> Imported {
        Imported {
            figures: Figures::of(|metric| figures.get(metric.name).copied()),
            notes: notes.to_vec(),
        }
    }
}
