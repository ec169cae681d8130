//! The data that is kept of a run once its records have been read.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::explain::{Kept, Regime, RunFigures, regimes};
use crate::metrics::{Figures, Method, RunView, SoftirqMeans, Weak, attribute, why_untimed};
use bitcost_model::Unavailable;
use bitcost_model::record::Role;
use bitcost_model::study::Label;

use super::caveats::caveats_of;
use super::exclude;
use super::in_effect::{cached_metrics, foreign_datagrams, not_in_effect, unread_segments};
use super::time_series::TimeSeries;

/// A run of our own that has a result.
#[derive(Clone)]
pub(crate) struct Reduced {
    /// The metrics that it has.
    pub figures: Figures,
    /// Why it is left out of its cell.
    pub left_out: Option<String>,
    /// How CPU time was attributed, or why it was not.
    pub method: Result<Method, Unavailable>,
    /// By which means the time of soft interrupts is known, where the method uses it.
    pub softirqs: Option<SoftirqMeans>,
    /// Whether other programs took much of the CPUs' time.
    pub is_disturbed: bool,
    /// The number of marks on its figures that say so.
    pub disturbances: usize,
    /// What went wrong in its link emulators.
    pub emulator_trouble: Option<String>,
    /// Notes on this run and its cell.
    pub cell_notes: Vec<String>,
    /// Requested settings that are not in effect, a sentence each.
    pub not_in_effect: Vec<String>,
    /// Other notes on this run that are independent of its cell.
    pub notes: Vec<String>,
    /// What may change how its figures are read, a sentence each.
    pub caveats: Vec<String>,
    /// Its seconds, if the study's table asks for them.
    pub time_series: Option<Box<TimeSeries>>,
    /// What its packets carried, in one regime or two.
    pub regimes: Vec<Regime>,
    /// What explains it.
    pub kept: Option<Rc<Kept>>,
}

impl Reduced {
    /// Reads the records of a run; with `is_kept`, what explains it is kept.
    pub fn of(
        run: u32,
        levels: &[(String, Label)],
        view: &RunView,
        (each_second, is_kept): (bool, bool),
    ) -> Reduced {
        let marks = crate::metrics::marks(view);
        let marks = marks.iter().filter(|mark| mark.attributed);
        let disturbances = marks
            .clone()
            .filter(|mark| matches!(mark.weak, Weak::Foreign | Weak::Unexplained))
            .count();
        let cell_note = |mark: &crate::metrics::Mark| {
            let end = mark.end.map_or("disturbed", Role::name);
            format!("{end}, {}", mark.weak.reason())
        };
        let attribution = attribute(view);
        let softirqs = attribution.as_ref().ok().and_then(|found| found.softirqs);
        let by_ticks = why_untimed(view)
            .filter(|_| softirqs == Some(SoftirqMeans::Ticks))
            .map(|reason| format!("the time of soft interrupts is by {reason}"));
        let figures = Figures::of(|metric| (metric.compute)(view));
        let kept = || {
            let number = u64::from(run) + 1;
            let figures = RunFigures::with(number, view.conditions, &figures);
            Rc::new(Kept::of(number, view, figures))
        };
        Reduced {
            kept: is_kept.then(kept),
            figures,
            left_out: exclude::reason(view),
            method: attribution.map(|found| found.method),
            softirqs,
            is_disturbed: crate::metrics::disturbance(view).is_some(),
            disturbances,
            emulator_trouble: crate::metrics::emulator_trouble(view).map(|trouble| trouble.kind()),
            cell_notes: marks.map(cell_note).collect(),
            not_in_effect: not_in_effect(view),
            caveats: caveats_of(view),
            notes: [
                unread_segments(view),
                foreign_datagrams(view),
                cached_metrics(view),
                by_ticks.into_iter().collect(),
            ]
            .concat(),
            regimes: regimes(view),
            time_series: each_second.then(|| Box::new(TimeSeries::of(levels, run, view))),
        }
    }
}

/// Another program's run.
#[derive(Clone)]
pub(crate) struct Imported {
    /// The metrics that it has.
    pub figures: Figures,
    /// Notes for the reader of the figures.
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
