//! The runs of a plan, each in its cell or among the excluded ones.

use crate::explain::{Regime, Regimes};
use crate::metrics::{FULL_PACKETS, Figures, METRICS, Method, SoftirqMeans};
use bitcost_model::Unavailable;
use bitcost_model::event::FailureKind;
use bitcost_model::harmless;
use bitcost_model::plan::{Plan, PlannedRun};
use bitcost_model::study::{Cell, Label};
use bitcost_stats::Interval;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::cell::CellSummary;
use super::row::{RunRow, Status};
use super::tally::Tally;
use crate::log::{Imported, Log, Outcome, Reduced, TimeSeries, Unfinished};

#[derive(Default)]
pub(crate) struct CellRuns {
    /// The block and the figures of each run, and whether it is of the cell's main regime.
    runs: Vec<(u32, Figures, bool)>,
    methods: Tally<Method>,
    softirqs: Tally<SoftirqMeans>,
    unattributed: Tally<String>,
    disturbed: usize,
    emulator_troubled: usize,
    regimes: Option<Regimes>,
    /// Whether most runs had full packets.
    has_full_packets: Option<bool>,
    /// Throughput and time series of each run.
    time_series: Vec<(f64, TimeSeries)>,
}

impl CellRuns {
    /// The cell of runs, each given by its number from 1 and its regimes, still without them.
    fn new(runs: &[(u64, Vec<Regime>)]) -> CellRuns {
        let parts: Vec<&Regime> = runs.iter().flat_map(|(_, parts)| parts).collect();
        let full = parts.iter().filter(|part| part.is_full).count();
        CellRuns {
            regimes: Regimes::of(runs),
            has_full_packets: (!parts.is_empty()).then_some(2 * full > parts.len()),
            ..CellRuns::default()
        }
    }

    /// Number of runs.
    pub fn count(&self) -> usize {
        self.runs.len()
    }

    /// Block and value of the metric at this place of [`METRICS`]: of the runs of the main regime, and the share of
    /// full packets of all.
    pub fn values(&self, metric: usize) -> Vec<(u32, f64)> {
        let is_of_all = METRICS[metric].name == FULL_PACKETS;
        let runs = self
            .runs
            .iter()
            .filter(|(.., is_main)| *is_main || is_of_all);
        runs.filter_map(|(block, figures, _)| Some((*block, figures.at(metric)?)))
            .collect()
    }

    /// The time series of the run with the median throughput, or with the next lower one.
    pub fn middle(&self) -> Option<TimeSeries> {
        let mut order: Vec<&(f64, TimeSeries)> = self.time_series.iter().collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        order
            .get(order.len().checked_sub(1)? / 2)
            .map(|(_, series)| series.clone())
    }

    /// Whether the cell's figures are of this run's regime.
    fn is_of_main_regime(&self, run: u32) -> bool {
        let main = |regimes: &Regimes| {
            let main = regimes.main()?;
            Some(main.runs.contains(&(u64::from(run) + 1)))
        };
        self.regimes.as_ref().and_then(main).unwrap_or(true)
    }

    fn has_full_packets(&self, run: u32) -> Option<bool> {
        match &self.regimes {
            Some(regimes) => regimes.is_full(u64::from(run) + 1),
            None => self.has_full_packets,
        }
    }

    fn add_method(&mut self, method: Result<Method, Unavailable>) {
        match method {
            Ok(method) => self.methods.add(method),
            Err(reason) => self.unattributed.add(reason.0),
        }
    }

    /// The interval without bounds where each run had both regimes of its cell.
    fn of_one_regime(&self, found: Interval) -> Interval {
        let is_mixed = self
            .regimes
            .as_ref()
            .is_some_and(|both| both.main().is_none());
        let (low, high) = match is_mixed {
            true => (None, None),
            false => (found.low, found.high),
        };
        Interval { low, high, ..found }
    }

    /// The figures of the cell; where it is a pair of many hosts, medians without intervals, which the model of all
    /// pairs has instead.
    pub fn summary(&self, cell: &Cell, is_pair: bool, seed: u64) -> CellSummary {
        let (mut figures, mut spreads) = (Vec::new(), Vec::new());
        for (place, metric) in METRICS.iter().enumerate() {
            let values = self.values(place).into_iter();
            let values: Vec<f64> = values.map(|(_, value)| value).collect();
            let found = match metric.name == FULL_PACKETS {
                true => mean(&values),
                false if is_pair => bitcost_stats::median(&values).map(Interval::alone),
                false => bitcost_stats::median_interval(&values, seed),
            };
            figures.extend(found.map(|found| (metric.name, self.of_one_regime(found))));
            spreads.extend(bitcost_stats::spread(&values).map(|spread| (metric.name, spread)));
        }
        CellSummary {
            levels: cell.levels.clone(),
            runs: self.count(),
            regimes: self.regimes.clone(),
            figures,
            spreads,
            expected: Vec::new(),
            methods: self.methods.0.clone(),
            softirqs: self.softirqs.0.clone(),
            unattributed: self.unattributed.0.clone(),
            disturbed: self.disturbed,
            emulator_troubled: self.emulator_troubled,
        }
    }
}

/// The mean without an interval, for a share that is nearly all or nothing in each run.
fn mean(values: &[f64]) -> Option<Interval> {
    bitcost_stats::spread(values).map(|spread| Interval::alone(spread.mean))
}

/// A run that is in no cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExcludedRun {
    /// Its place in the order, from 0.
    pub run: u32,
    /// Its block, from 0.
    pub block: u32,
    /// The levels of its cell.
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "std::collections::BTreeMap<String, Label>")]
    pub levels: Vec<(String, Label)>,
    /// Why the run is in no cell.
    pub reason: String,
}

fn as_map<S: Serializer>(levels: &[(String, Label)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(levels.iter().map(|(factor, label)| (factor, label)))
}

/// The runs of the plan, each in its cell or in one of the lists of excluded runs.
pub(crate) struct Runs {
    pub cells: Vec<CellRuns>,
    pub excluded: Vec<ExcludedRun>,
    /// Notes, each with the name of the cell that it concerns, if it concerns a single one.
    pub notes: Tally<(Option<String>, String)>,
    pub incomplete: Vec<u32>,
    pub rows: Vec<RunRow>,
}

impl Runs {
    /// `blocks` is the number of blocks to be run: the stop rule may have been met before the
    /// plan's end.
    pub fn sort(plan: &Plan, log: &mut Log, blocks: u32) -> Runs {
        let (excluded, notes, incomplete, rows) =
            (Vec::new(), Tally::default(), Vec::new(), Vec::new());
        let cells = regimes(plan, log);
        let mut runs = Runs {
            cells,
            excluded,
            notes,
            incomplete,
            rows,
        };
        for planned in &plan.runs {
            let Some(cell) = plan.cells.get(planned.cell) else {
                continue;
            };
            let (event, outcome) = log.outcomes.remove(&planned.index).unzip();
            match outcome {
                None if planned.block >= blocks => continue,
                None => {
                    runs.incomplete.push(planned.index);
                    runs.row(planned, Status::Missing);
                }
                Some(Outcome::Failed(failed)) => runs.failed(planned, cell, &failed),
                Some(Outcome::Imported(imported)) => runs.imported(planned, imported),
                Some(Outcome::Ended(run)) => runs.ended(planned, cell, *run),
            }
            if let Some(row) = runs.rows.last_mut() {
                (row.event, row.began_at) = (event, log.began.remove(&planned.index));
                row.profiled = log.profiled.remove(&planned.index);
            }
        }
        runs
    }

    /// Adds the row of a run, still without figures.
    fn row(&mut self, planned: &PlannedRun, status: Status) -> &mut RunRow {
        let PlannedRun {
            index: run,
            block,
            cell,
        } = *planned;
        self.rows.push(RunRow::new(run, block, cell, status));
        let last = self.rows.len() - 1;
        &mut self.rows[last]
    }

    fn failed(&mut self, planned: &PlannedRun, cell: &Cell, failed: &Unfinished) {
        let (word, status) = match failed.kind {
            FailureKind::Failed => ("failed", Status::Failed),
            FailureKind::Lost => ("lost", Status::Lost),
            FailureKind::Interrupted => ("interrupted", Status::Interrupted),
        };
        let reason = harmless(&failed.reason);
        let row = self.row(planned, status);
        (row.reason, row.host_lacks) = (Some(reason.clone()), failed.host_lacks);
        self.exclude(planned, cell, format!("{word}: {reason}"));
        if failed.kind == FailureKind::Interrupted {
            self.incomplete.push(planned.index);
        }
    }

    fn imported(&mut self, planned: &PlannedRun, imported: Imported) {
        let run = (planned.block, imported.figures.clone(), true);
        self.cells[planned.cell].runs.push(run);
        imported
            .notes
            .into_iter()
            .for_each(|note| self.notes.add((None, harmless(&note))));
        self.row(planned, Status::Used).figures = imported.figures;
    }

    fn ended(&mut self, planned: &PlannedRun, cell: &Cell, run: Reduced) {
        let reason = run.left_out;
        let is_used = reason.is_none();
        let status = if is_used {
            Status::Used
        } else {
            Status::LeftOut
        };
        let cell_runs = &mut self.cells[planned.cell];
        let has_full_packets = cell_runs.has_full_packets(planned.index);
        let is_of_main_regime = cell_runs.is_of_main_regime(planned.index);
        if is_used {
            let run = (planned.block, run.figures.clone(), is_of_main_regime);
            cell_runs.runs.push(run);
        }
        let row = self.row(planned, status);
        let method = run.method.as_ref().ok().copied();
        (row.figures, row.method, row.reason) = (run.figures, method, reason.clone());
        (row.is_disturbed, row.kept) = (run.is_disturbed, run.kept);
        (row.has_full_packets, row.is_of_main_regime) = (has_full_packets, is_of_main_regime);
        (row.not_in_effect, row.caveats) = (run.not_in_effect.clone(), run.caveats);
        if let Some(reason) = reason {
            return self.exclude(planned, cell, reason);
        }
        let runs = &mut self.cells[planned.cell];
        runs.add_method(run.method);
        if let Some(means) = run.softirqs {
            runs.softirqs.add(means);
        }
        runs.time_series.extend(
            run.time_series
                .map(|series| (series.mbps[1].unwrap_or(0.0), *series)),
        );
        runs.disturbed += run.disturbances;
        runs.emulator_troubled += usize::from(run.emulator_trouble.is_some());
        let notes = run.not_in_effect.into_iter().chain(run.notes);
        notes.for_each(|note| self.notes.add((None, note)));
        for note in run.emulator_trouble.into_iter().chain(run.cell_notes) {
            self.notes.add((Some(cell.name()), note));
        }
    }

    fn exclude(&mut self, planned: &PlannedRun, cell: &Cell, reason: String) {
        let (run, block, levels) = (planned.index, planned.block, cell.levels.clone());
        self.excluded.push(ExcludedRun {
            run,
            block,
            levels,
            reason,
        });
    }
}

/// The cells without runs, each with its two regimes if the runs that are to be used have two.
fn regimes(plan: &Plan, log: &Log) -> Vec<CellRuns> {
    let mut found: Vec<Vec<(u64, Vec<Regime>)>> = vec![Vec::new(); plan.cells.len()];
    for planned in &plan.runs {
        let Some((_, Outcome::Ended(run))) = log.outcomes.get(&planned.index) else {
            continue;
        };
        if let Some(cell) = found.get_mut(planned.cell)
            && run.left_out.is_none()
        {
            cell.push((u64::from(planned.index) + 1, run.regimes.clone()));
        }
    }
    found.iter().map(|runs| CellRuns::new(runs)).collect()
}
