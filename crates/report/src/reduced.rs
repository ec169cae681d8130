//! What is kept of a run once its records have been read.

use std::collections::BTreeMap;

use metrics::{METRICS, Method, Metric, RunView, Weak, attribute};
use model::record::Role;
use model::study::Label;

use crate::course::Course;
use crate::exclude;
use crate::in_force::{cached_metrics, foreign_datagrams, not_in_force, unread_segments};
use crate::rows;

/// A run of our own that has a result.
pub(crate) struct Reduced {
    /// The metrics that it has, in the order of [`METRICS`].
    pub figures: Vec<(&'static Metric, f64)>,
    /// Why it has no place in its cell.
    pub left_out: Option<String>,
    /// How the ends' CPU time was told apart, or why it was not.
    pub method: Result<Method, String>,
    /// Whether something else took much of the CPUs' time.
    pub is_disturbed: bool,
    /// Marks of its figures that say so.
    pub disturbances: usize,
    /// What its delay lines did wrong.
    pub line_trouble: Option<String>,
    /// What is true of it and of its cell.
    pub cell_notes: Vec<String>,
    /// What is true of it, whatever its cell.
    pub notes: Vec<String>,
    /// Its seconds, where the study's table asks for them.
    pub course: Option<Box<Course>>,
}

impl Reduced {
    pub fn of(run: u32, levels: &[(String, Label)], view: &RunView, each_second: bool) -> Reduced {
        let marks = metrics::marks(view);
        let marks = marks.iter().filter(|mark| mark.attributed);
        let disturbances = marks.clone().filter(|mark| mark.weak == Weak::Foreign).count();
        let cell_note = |mark: &metrics::Mark| {
            let end = mark.end.map_or("disturbed", Role::name);
            format!("{end}, {}", mark.weak.reason())
        };
        Reduced {
            figures: rows::figures(view),
            left_out: exclude::reason(view),
            method: attribute(view).map(|found| found.method).map_err(|reason| reason.to_string()),
            is_disturbed: metrics::foreign_pct(view).is_some(),
            disturbances,
            line_trouble: metrics::line_trouble(view).map(|trouble| trouble.kind()),
            cell_notes: marks.map(cell_note).collect(),
            notes: [not_in_force(view), unread_segments(view), foreign_datagrams(view), cached_metrics(view)].concat(),
            course: each_second.then(|| Box::new(Course::of(levels, run, view))),
        }
    }
}

/// Another program's run.
pub(crate) struct Imported {
    /// The metrics that it has, in the order of [`METRICS`].
    pub figures: Vec<(&'static Metric, f64)>,
    /// What a reader of the figures must know.
    pub notes: Vec<String>,
}

impl Imported {
    pub fn of(figures: &BTreeMap<String, f64>, notes: &[String]) -> Imported {
        let known = |metric: &'static Metric| Some((metric, *figures.get(metric.name)?));
        Imported { figures: METRICS.iter().filter_map(known).collect(), notes: notes.to_vec() }
    }
}
