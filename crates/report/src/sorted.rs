//! The runs of a plan, each in its cell or among those that are in none.

use metrics::{METRICS, Method, Metric, RunView, Weak, attribute};
use model::event::FailureKind;
use model::imported::ImportedRun;
use model::plan::{Plan, PlannedRun};
use model::record::Role;
use model::study::Cell;

use crate::course::Course;
use crate::exclude;
use crate::in_force::{not_in_force, unread_segments};
use crate::log::{Log, Outcome};
use crate::rows::{self, RunRow, Status};
use crate::summary::{CellSummary, ExcludedRun};
use crate::tally::Tally;

/// The used runs of one cell.
#[derive(Default)]
pub(crate) struct CellRuns {
    runs: usize,
    /// Block and value per metric, in the order of [`METRICS`].
    values: Vec<Vec<(u32, f64)>>,
    methods: Tally<Method>,
    unattributed: Tally<String>,
    disturbed: usize,
    line_troubled: usize,
    /// Throughput and course of each.
    courses: Vec<(f64, Course)>,
}

impl CellRuns {
    fn new() -> CellRuns {
        CellRuns { values: vec![Vec::new(); METRICS.len()], ..CellRuns::default() }
    }

    /// Number of runs.
    pub fn count(&self) -> usize {
        self.runs
    }

    /// Block and value of the metric at this place of [`METRICS`].
    pub fn values(&self, metric: usize) -> &[(u32, f64)] {
        &self.values[metric]
    }

    /// The course of the run whose throughput is the median, or the next below it.
    pub fn middle(&self) -> Option<Course> {
        let mut order: Vec<&(f64, Course)> = self.courses.iter().collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        order.get(order.len().checked_sub(1)? / 2).map(|(_, course)| course.clone())
    }

    /// Takes what a run has, in the order of [`METRICS`].
    fn add(&mut self, block: u32, figures: &[(&'static Metric, f64)]) {
        self.runs += 1;
        let mut figures = figures.iter().peekable();
        for (metric, values) in METRICS.iter().zip(&mut self.values) {
            let found = figures.next_if(|(of, _)| of.name == metric.name);
            values.extend(found.map(|(_, value)| (block, *value)));
        }
    }

    fn add_method(&mut self, view: &RunView) {
        match attribute(view) {
            Ok(attribution) => self.methods.add(attribution.method),
            Err(reason) => self.unattributed.add(reason.to_string()),
        }
    }

    pub fn summary(&self, cell: &Cell, seed: u64) -> CellSummary {
        let (mut figures, mut spreads) = (Vec::new(), Vec::new());
        for (metric, values) in METRICS.iter().zip(&self.values) {
            let values: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
            figures.extend(stats::median_interval(&values, seed).map(|interval| (metric.name, interval)));
            spreads.extend(stats::spread(&values).map(|spread| (metric.name, spread)));
        }
        CellSummary {
            levels: cell.levels.clone(),
            runs: self.runs,
            figures,
            spreads,
            expected: Vec::new(),
            methods: self.methods.0.clone(),
            unattributed: self.unattributed.0.clone(),
            disturbed: self.disturbed,
            line_troubled: self.line_troubled,
        }
    }
}

/// The runs of the plan, each in its cell or in one of the lists of those that are in none.
pub(crate) struct Runs {
    pub cells: Vec<CellRuns>,
    pub excluded: Vec<ExcludedRun>,
    /// Each with the cell that it is about.
    pub notes: Tally<(Option<String>, String)>,
    pub incomplete: Vec<u32>,
    pub rows: Vec<RunRow>,
    /// Whether the study's table wants each second of a run.
    each_second: bool,
}

impl Runs {
    /// `blocks` is how many were to be run: the stop rule may have been kept before the plan's end.
    pub fn sort(plan: &Plan, log: &Log, blocks: u32) -> Runs {
        let cells = plan.cells.iter().map(|_| CellRuns::new()).collect();
        let (excluded, notes, incomplete, rows) = (Vec::new(), Tally::default(), Vec::new(), Vec::new());
        let each_second = log.summary.study.table.each_second;
        let mut runs = Runs { cells, excluded, notes, incomplete, rows, each_second };
        for planned in &plan.runs {
            let Some(cell) = plan.cells.get(planned.cell) else { continue };
            match log.outcomes.get(&planned.index) {
                None if planned.block >= blocks => {}
                None => {
                    runs.incomplete.push(planned.index);
                    runs.row(planned, Status::Missing);
                }
                Some(Outcome::Failed(kind, reason)) => runs.failed(planned, cell, *kind, reason),
                Some(Outcome::Imported(imported)) => runs.imported(planned, imported),
                Some(Outcome::Ended { sender, receiver, place }) => {
                    let view = place.view([sender, receiver], &cell.conditions, log.ceiling_mbps(planned.cell));
                    runs.ended(planned, cell, &view);
                }
            }
        }
        runs
    }

    /// A row of its own for a run, still without figures.
    fn row(&mut self, planned: &PlannedRun, status: Status) -> &mut RunRow {
        let PlannedRun { index: run, block, cell } = *planned;
        let (reason, began_at, method, is_disturbed, figures) = (None, None, None, false, Vec::new());
        self.rows.push(RunRow { run, block, cell, status, reason, began_at, method, is_disturbed, figures });
        let last = self.rows.len() - 1;
        &mut self.rows[last]
    }

    fn failed(&mut self, planned: &PlannedRun, cell: &Cell, kind: FailureKind, reason: &str) {
        let (word, status) = match kind {
            FailureKind::Failed => ("failed", Status::Failed),
            FailureKind::Lost => ("lost", Status::Lost),
            FailureKind::Interrupted => ("interrupted", Status::Interrupted),
        };
        self.row(planned, status).reason = Some(reason.to_owned());
        self.exclude(planned, cell, format!("{word}: {reason}"));
        if kind == FailureKind::Interrupted {
            self.incomplete.push(planned.index);
        }
    }

    fn imported(&mut self, planned: &PlannedRun, imported: &ImportedRun) {
        let known = |metric: &'static Metric| Some((metric, *imported.figures.get(metric.name)?));
        let figures: Vec<_> = METRICS.iter().filter_map(known).collect();
        self.cells[planned.cell].add(planned.block, &figures);
        imported.notes.iter().for_each(|note| self.notes.add((None, note.clone())));
        self.row(planned, Status::Used).figures = figures;
    }

    fn ended(&mut self, planned: &PlannedRun, cell: &Cell, view: &RunView) {
        let left_out = exclude::reason(view);
        let status = if left_out.is_some() { Status::LeftOut } else { Status::Used };
        let row = self.row(planned, status);
        (row.figures, row.method, row.reason) = (rows::figures(view), rows::method(view), left_out.clone());
        row.is_disturbed = metrics::foreign_pct(view).is_some();
        let figures = row.figures.clone();
        if let Some(reason) = left_out {
            return self.exclude(planned, cell, reason);
        }
        self.cells[planned.cell].add(planned.block, &figures);
        self.cells[planned.cell].add_method(view);
        if self.each_second {
            let course = Course::of(&cell.levels, planned.index, view);
            self.cells[planned.cell].courses.push((course.mbps[1].unwrap_or(0.0), course));
        }
        for sentence in not_in_force(view).into_iter().chain(unread_segments(view)) {
            self.notes.add((None, sentence));
        }
        let runs = &mut self.cells[planned.cell];
        if let Some(trouble) = metrics::line_trouble(view) {
            runs.line_troubled += 1;
            self.notes.add((Some(cell.name()), trouble.kind()));
        }
        for mark in metrics::marks(view).iter().filter(|mark| mark.attributed) {
            runs.disturbed += usize::from(mark.weak == Weak::Foreign);
            let end = mark.end.map_or("disturbed", Role::name);
            self.notes.add((Some(cell.name()), format!("{end}, {}", mark.weak.reason())));
        }
    }

    fn exclude(&mut self, planned: &PlannedRun, cell: &Cell, reason: String) {
        let (run, block, levels) = (planned.index, planned.block, cell.levels.clone());
        self.excluded.push(ExcludedRun { run, block, levels, reason });
    }
}
