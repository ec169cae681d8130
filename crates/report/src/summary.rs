//! From events to figures per cell: medians with intervals, improvements, and what was left out and why.

use std::collections::{BTreeMap, HashMap};

use metrics::{Better, METRICS, Method, Metric, RunView, Weak, attribute, metric};
use model::calibration::Calibration;
use model::conditions::Conditions;
use model::event::{EndDescription, Event, FailureKind};
use model::imported::ImportedRun;
use model::plan::{Plan, PlannedRun};
use model::record::{EndRecord, Role};
use model::study::{Cell, LabSpec, Label, Study, StudyError, phrase};
use stats::{Interval, Spread};

use crate::checks::{self, CheckSummary};
use crate::course::Course;
use crate::exclude;
use crate::precision::Precision;
use crate::rows::{self, RunRow, Status};
use crate::tally::{Tally, not_in_force};
use crate::why::Why;

/// Name of the receive service demand by bytes received.
pub const RECEIVE_DEMAND: &str = "receive_service_demand_us_per_kib";

/// Name of the receive service demand by bytes sent, as netperf divides.
pub const RECEIVE_DEMAND_BY_SENT: &str = "receive_service_demand_per_kib_sent_us";

/// Why a log cannot be reported on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// The first line is missing.
    #[error("the log does not say which study it is of (no `execution_began` event); was its begin cut off?")]
    NoStudy,
    /// The plan is missing.
    #[error("the log holds no plan (no `planned` event): the execution stopped before its first run")]
    NoPlan,
    /// The study in the log cannot be read.
    #[error("the study in the log cannot be read: {0}")]
    Study(#[from] StudyError),
}

/// The figures of one cell.
#[derive(Clone, Debug)]
pub struct CellSummary {
    /// Factor and level.
    pub levels: Vec<(String, Label)>,
    /// Number of runs that the figures come from.
    pub runs: usize,
    /// Metric name, median over runs and its interval; metrics without values are absent.
    pub figures: Vec<(&'static str, Interval)>,
    /// Metric name, and how its values over runs lie; those of `figures`.
    pub spreads: Vec<(&'static str, Spread)>,
    /// Metric name and value as the question's author printed it.
    pub expected: Vec<(String, f64)>,
    /// How the ends' CPU time was told apart, and in how many runs.
    pub methods: Vec<(Method, usize)>,
    /// Why it was not, and in how many runs.
    pub unattributed: Vec<(String, usize)>,
    /// Runs during which something else used the CPUs.
    pub disturbed: usize,
    /// Runs whose delay line was late, or dropped what it should have carried.
    pub line_troubled: usize,
}

impl CellSummary {
    /// The figure of a metric.
    pub fn figure(&self, name: &str) -> Option<&Interval> {
        self.figures.iter().find(|(known, _)| *known == name).map(|(_, interval)| interval)
    }

    /// How the values of a metric lie.
    pub fn spread(&self, name: &str) -> Option<&Spread> {
        self.spreads.iter().find(|(known, _)| *known == name).map(|(_, spread)| spread)
    }

    /// The author's figure of a metric.
    pub fn expected(&self, name: &str) -> Option<f64> {
        self.expected.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// The levels in one short phrase: `1024 · UDP`.
    pub fn name(&self) -> String {
        phrase(&self.levels)
    }
}

/// How much better one level of a factor is than another, at given levels of the others.
#[derive(Clone, Debug)]
pub struct ImprovementSummary {
    /// The factor.
    pub factor: String,
    /// The level that is improved upon.
    pub from: Label,
    /// The level that improves.
    pub to: Label,
    /// Levels of the other factors.
    pub levels: Vec<(String, Label)>,
    /// Metric name and ratio of medians, above 1 where `to` is better; metrics without a better side are absent.
    pub figures: Vec<(&'static str, Interval)>,
    /// Metric name and ratio by the author's figures.
    pub expected: Vec<(String, f64)>,
}

/// A run that has no place in the cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExcludedRun {
    /// Its place in the order, from 0.
    pub run: u32,
    /// Its block, from 0.
    pub block: u32,
    /// Its cell.
    pub levels: Vec<(String, Label)>,
    /// Why.
    pub reason: String,
}

/// Something that a reader of the figures must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The cell that it is about, by its name; absent: not of one cell alone.
    pub cell: Option<String>,
    /// One sentence.
    pub text: String,
    /// How many of the used runs it is true of.
    pub runs: usize,
}

/// All that the log tells.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The study, read again from the log.
    pub study: Study,
    /// Seed of the order of runs.
    pub seed: u64,
    /// Planned blocks.
    pub blocks: u32,
    /// Version of bitcost that wrote the log.
    pub bitcost_version: String,
    /// Local time of the begin, with offset (RFC 3339).
    pub began_at: String,
    /// The command line.
    pub command_line: Vec<String>,
    /// The embedded lab; absent on real hosts.
    pub lab: Option<Box<LabSpec>>,
    /// The rate of the link between the ends, in bit/s, where it is known: that of the lab's narrowest, or what a report is
    /// told.
    pub link_rate_bps: Option<u64>,
    /// Whether the runs are other programs', read from their files.
    pub is_imported: bool,
    /// Whether both ends run on the same CPUs.
    pub shared_cpus: bool,
    /// Both ends; empty where the execution stopped before it found them.
    pub ends: Vec<EndDescription>,
    /// Every cell of the plan.
    pub cells: Vec<CellSummary>,
    /// The study's improvement at each combination of the other factors' levels.
    pub improvements: Vec<ImprovementSummary>,
    /// What the runs say to the study's statements.
    pub checks: Vec<CheckSummary>,
    /// The course of each cell's middle run, where the study's table asks for each second.
    pub courses: Vec<Course>,
    /// Why the level that improves, or worsens, does: where cells set the limit of a queue that delays.
    pub why: Why,
    /// Runs that have no place in the cells.
    pub excluded: Vec<ExcludedRun>,
    /// What was asked of the place and is not so, in words.
    pub place_notes: Vec<String>,
    /// What the lab's path carried before the first run; absent on real hosts, and in older logs.
    pub calibration: Option<Box<Calibration>>,
    /// What was asked for but not in force.
    pub notes: Vec<Note>,
    /// What came of the study's stop rule; absent where it has none.
    pub precision: Option<Precision>,
    /// Planned runs without a result that did not fail: not begun, broken off or interrupted.
    pub incomplete: Vec<u32>,
    /// Every planned run by itself, in order.
    pub runs: Vec<RunRow>,
    /// Where each cell is, by its levels in the order of their factors' names.
    places: HashMap<Vec<(String, Label)>, usize>,
}

impl Summary {
    /// Reads a log. Of a run that was tried again the last outcome counts.
    ///
    /// # Errors
    /// When the log does not hold a study and a plan.
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Result<Summary, ReportError> {
        let log = Log::read(events)?;
        let plan = log.plan.ok_or(ReportError::NoPlan)?;
        let blocks = log.enough_blocks.unwrap_or(plan.blocks);
        let runs = Runs::sort(plan, &log, blocks);
        let mut summary = log.summary;
        (summary.seed, summary.blocks) = (plan.seed, blocks);
        summary.runs = runs.rows;
        for row in &mut summary.runs {
            row.began_at = log.began.get(&row.run).map(|at| (*at).to_owned());
        }
        summary.cells = plan.cells.iter().zip(&runs.cells).map(|(cell, runs)| runs.summary(cell, plan.seed)).collect();
        for cell in &mut summary.cells {
            cell.expected = expected(&summary.study, &cell.levels);
        }
        summary.places =
            summary.cells.iter().enumerate().rev().map(|(place, cell)| (sorted(&cell.levels), place)).collect();
        summary.improvements = improvements(&summary, &runs.cells);
        let limit = |cell: &Cell| (cell.name(), cell.conditions.emulator_queue_limit);
        summary.why = Why::of(&summary, &plan.cells.iter().map(limit).collect::<Vec<_>>());
        if summary.study.table.each_second {
            summary.courses = runs.cells.iter().filter_map(CellRuns::middle).collect();
        }
        if let Some(rule) = &summary.study.until {
            let cells: Vec<_> = plan.cells.iter().map(Cell::name).zip(&runs.cells).collect();
            summary.precision = Some(Precision::of(rule, &cells, plan.seed));
        }
        let cells: Vec<_> = plan.cells.iter().map(|cell| &cell.levels).zip(&runs.cells).collect();
        summary.checks = checks::checks(&summary.study.checks, &cells, plan.seed);
        summary.excluded = runs.excluded;
        summary.notes = runs.notes.0.into_iter().map(|((cell, text), runs)| Note { cell, text, runs }).collect();
        summary.incomplete = runs.incomplete;
        Ok(summary)
    }

    /// The first cell that has these levels.
    pub fn cell(&self, levels: &[(String, Label)]) -> Option<&CellSummary> {
        let whole = self.places.get(&sorted(levels)).map(|place| &self.cells[*place]);
        let is_whole = self.cells.first().is_some_and(|first| first.levels.len() == levels.len());
        if is_whole { whole } else { self.cells.iter().find(|cell| has(&cell.levels, levels)) }
    }

    /// The first improvement that has these levels of the other factors.
    pub fn improvement(&self, levels: &[(String, Label)]) -> Option<&ImprovementSummary> {
        self.improvements.iter().find(|improvement| has(&improvement.levels, levels))
    }
}

fn sorted(levels: &[(String, Label)]) -> Vec<(String, Label)> {
    let mut sorted = levels.to_vec();
    sorted.sort();
    sorted
}

fn has(levels: &[(String, Label)], wanted: &[(String, Label)]) -> bool {
    wanted.iter().all(|level| levels.contains(level))
}

/// The author's figures for a cell.
fn expected(study: &Study, levels: &[(String, Label)]) -> Vec<(String, f64)> {
    let cells = study.expect.iter().flat_map(|expect| &expect.cells);
    cells.filter(|cell| has(levels, &cell.levels)).flat_map(|cell| cell.figures.clone()).collect()
}

/// What the formulas must know of the place of a run.
#[derive(Clone, Copy, Default)]
pub(crate) struct PlaceFacts {
    shared_cpus: bool,
    napi_threaded: bool,
}

impl PlaceFacts {
    /// A run of a cell as its formulas see it.
    fn view<'a>(self, ends: [&'a EndRecord; 2], conditions: &'a Conditions, ceiling_mbps: Option<f64>) -> RunView<'a> {
        let (PlaceFacts { shared_cpus, napi_threaded }, [sender, receiver]) = (self, ends);
        RunView { sender, receiver, conditions, shared_cpus, napi_threaded, ceiling_mbps }
    }
}

/// How a run ended.
pub(crate) enum Outcome<'a> {
    Ended {
        sender: &'a EndRecord,
        receiver: &'a EndRecord,
        place: PlaceFacts,
    },
    Failed(FailureKind, &'a str),
    /// Another program's figures.
    Imported(&'a ImportedRun),
}

/// The log's events, each where it belongs.
pub(crate) struct Log<'a> {
    summary: Summary,
    pub plan: Option<&'a Plan>,
    pub outcomes: BTreeMap<u32, Outcome<'a>>,
    /// When each run began.
    began: BTreeMap<u32, &'a str>,
    /// Blocks after which the stop rule was kept.
    pub enough_blocks: Option<u32>,
}

impl<'a> Log<'a> {
    pub fn read(events: impl IntoIterator<Item = &'a Event>) -> Result<Log<'a>, ReportError> {
        let mut events = events.into_iter();
        let first = events.find(|event| matches!(event, Event::ExecutionBegan { .. })).ok_or(ReportError::NoStudy)?;
        let (outcomes, began) = (BTreeMap::new(), BTreeMap::new());
        let mut log = Log { summary: begun(first)?, plan: None, outcomes, began, enough_blocks: None };
        let mut place = PlaceFacts::default();
        for event in events {
            match event {
                Event::Planned { plan } => log.plan = Some(plan),
                Event::Prepared { lab, ends, shared_cpus, notes, .. } => {
                    log.summary.place_notes.clone_from(notes);
                    log.summary.lab.clone_from(lab);
                    let path = lab.as_ref().and_then(|lab| lab.path());
                    log.summary.link_rate_bps = path.and_then(|path| path.rate_bps());
                    log.summary.ends.clone_from(ends);
                    log.summary.shared_cpus = *shared_cpus;
                    let receiver = ends.iter().find(|end| end.role == Role::Receiver);
                    let napi_threaded = receiver.and_then(|end| end.host.device.napi_threaded) == Some(true);
                    place = PlaceFacts { shared_cpus: *shared_cpus, napi_threaded };
                }
                Event::Calibrated { calibration } => log.summary.calibration = Some(calibration.clone()),
                Event::RunEnded { run, sender, receiver, .. } => {
                    log.outcomes.insert(*run, Outcome::Ended { sender, receiver, place });
                }
                Event::RunFailed { run, kind, reason } => {
                    log.outcomes.insert(*run, Outcome::Failed(*kind, reason));
                }
                Event::RunImported { run, imported } => {
                    log.summary.is_imported = true;
                    log.outcomes.insert(*run, Outcome::Imported(imported));
                }
                Event::RunBegan { run, at } => {
                    log.outcomes.remove(run);
                    log.began.insert(*run, at);
                }
                Event::ExecutionEnded { enough_blocks, .. } => log.enough_blocks = *enough_blocks,
                Event::ExecutionBegan { .. }
                | Event::Resumed { .. }
                | Event::Progress { .. }
                | Event::Reconnecting { .. } => {}
            }
        }
        Ok(log)
    }

    /// What the path carried in calibration with a cell's setting of it, in Mbit/s.
    fn ceiling_mbps(&self, cell: usize) -> Option<f64> {
        self.summary.calibration.as_ref()?.of_cell(cell)?.mbps()
    }
}

/// Every run that has a result of our own, with its cell, in the order of the plan.
///
/// # Errors
/// When the log does not hold a study and a plan.
pub fn run_views(events: &[Event]) -> Result<Vec<(PlannedRun, &Cell, RunView<'_>)>, ReportError> {
    let log = Log::read(events)?;
    let plan = log.plan.ok_or(ReportError::NoPlan)?;
    let view = |planned: &PlannedRun| {
        let cell = plan.cells.get(planned.cell)?;
        match log.outcomes.get(&planned.index)? {
            Outcome::Ended { sender, receiver, place } => {
                let ceiling = log.ceiling_mbps(planned.cell);
                Some((*planned, cell, place.view([sender, receiver], &cell.conditions, ceiling)))
            }
            _ => None,
        }
    };
    Ok(plan.runs.iter().filter_map(view).collect())
}

fn begun(first: &Event) -> Result<Summary, ReportError> {
    let Event::ExecutionBegan { bitcost_version, at, command_line, study, study_text, .. } = first else {
        return Err(ReportError::NoStudy);
    };
    let mut study_read = Study::parse(&format!("{study}.toml"), study_text)?;
    study_read.name.clone_from(study);
    Ok(Summary {
        study: study_read,
        seed: 0,
        blocks: 0,
        bitcost_version: bitcost_version.clone(),
        began_at: at.clone(),
        command_line: command_line.clone(),
        lab: None,
        link_rate_bps: None,
        is_imported: false,
        shared_cpus: false,
        ends: Vec::new(),
        cells: Vec::new(),
        places: HashMap::new(),
        improvements: Vec::new(),
        checks: Vec::new(),
        courses: Vec::new(),
        why: Why::default(),
        excluded: Vec::new(),
        place_notes: Vec::new(),
        calibration: None,
        notes: Vec::new(),
        precision: None,
        incomplete: Vec::new(),
        runs: Vec::new(),
    })
}

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
    fn middle(&self) -> Option<Course> {
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

    fn summary(&self, cell: &Cell, seed: u64) -> CellSummary {
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
    excluded: Vec<ExcludedRun>,
    /// Each with the cell that it is about.
    notes: Tally<(Option<String>, String)>,
    incomplete: Vec<u32>,
    rows: Vec<RunRow>,
}

impl Runs {
    /// `blocks` is how many were to be run: the stop rule may have been kept before the plan's end.
    pub fn sort(plan: &Plan, log: &Log, blocks: u32) -> Runs {
        let cells = plan.cells.iter().map(|_| CellRuns::new()).collect();
        let (excluded, notes, incomplete, rows) = (Vec::new(), Tally::default(), Vec::new(), Vec::new());
        let mut runs = Runs { cells, excluded, notes, incomplete, rows };
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
        let course = Course::of(&cell.levels, planned.index, view);
        self.cells[planned.cell].courses.push((course.mbps[1].unwrap_or(0.0), course));
        for sentence in not_in_force(view) {
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

/// The study's improvement at each combination of the other factors' levels.
fn improvements(summary: &Summary, runs: &[CellRuns]) -> Vec<ImprovementSummary> {
    let Some(asked) = &summary.study.table.improvement else { return Vec::new() };
    let mut found = Vec::new();
    for (from_index, from) in summary.cells.iter().enumerate() {
        if !from.levels.contains(&(asked.factor.clone(), asked.from.clone())) {
            continue;
        }
        let levels: Vec<_> = from.levels.iter().filter(|(factor, _)| *factor != asked.factor).cloned().collect();
        let mut other = levels.clone();
        other.push((asked.factor.clone(), asked.to.clone()));
        let Some(to_index) = summary.cells.iter().position(|cell| has(&cell.levels, &other)) else { continue };
        found.push(ImprovementSummary {
            factor: asked.factor.clone(),
            from: asked.from.clone(),
            to: asked.to.clone(),
            expected: expected_improvement(&summary.study, &levels, from, &summary.cells[to_index]),
            levels,
            figures: ratios(&runs[from_index], &runs[to_index], summary.seed),
        });
    }
    found
}

fn ratios(from: &CellRuns, to: &CellRuns, seed: u64) -> Vec<(&'static str, Interval)> {
    let ratio = |(index, metric): (usize, &metrics::Metric)| {
        let (from, to) = (&from.values[index], &to.values[index]);
        let (above, below) = oriented(metric.better, from, to)?;
        Some((metric.name, stats::ratio_interval(above, below, seed)?))
    };
    METRICS.iter().enumerate().filter_map(ratio).collect()
}

/// The author's own ratios where they are printed, else those of the author's figures.
fn expected_improvement(
    study: &Study,
    levels: &[(String, Label)],
    from: &CellSummary,
    to: &CellSummary,
) -> Vec<(String, f64)> {
    let printed = study.expect.iter().flat_map(|expect| &expect.improvements);
    match printed.into_iter().find(|improvement| has(levels, &improvement.levels)) {
        Some(improvement) => improvement.figures.clone(),
        None => expected_ratios(from, to),
    }
}

fn expected_ratios(from: &CellSummary, to: &CellSummary) -> Vec<(String, f64)> {
    let ratio = |(name, value): &(String, f64)| {
        let (above, below) = oriented(metric(name)?.better, *value, to.expected(name)?)?;
        (below != 0.0).then(|| (name.clone(), above / below))
    };
    from.expected.iter().filter_map(ratio).collect()
}

/// What stands above and below the line, so that a ratio over 1 is an improvement.
fn oriented<T>(better: Better, from: T, to: T) -> Option<(T, T)> {
    match better {
        Better::Higher => Some((to, from)),
        Better::Lower => Some((from, to)),
        Better::Neither => None,
    }
}
