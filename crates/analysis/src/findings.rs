//! All that is known of an execution, found once, when its log is read. Every form of output, exit
//! code, event and page takes nothing else.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use bitcost_model::event::{Event, Events};
use bitcost_model::study::Cell;
use bitcost_stats::Interval;
use indexmap::IndexSet;

use crate::cells::{CellSummary, RunRow, Status};
use crate::compare::Comparison;
use crate::experiment::{Base, Ladder, advised, apply, of_black_hole};
use crate::explain::{ExplainedCell, Explanation, Limiter, Proof, explanation};
use crate::log::{FirstRun, LogError, PlaceFacts, Reader};
use crate::mesh::{MeshFindings, mesh};
use crate::metrics::{Metric, RunView};
use crate::profile::{Profiled, profiled};
use crate::summary::{Summary, complete};

#[derive(Clone, Debug)]
pub struct Findings {
    pub name: String,
    /// The file of its log; absent where it was kept in memory alone.
    pub log: Option<LogPlace>,
    pub events: Rc<dyn Events>,
    pub summary: Summary,
    pub explanation: Explanation,
    /// The comparison that its study asks for, once it was made ([`crate::compare::of_study`]).
    pub comparison: Option<Comparison>,
    /// Where the time goes, where runs were profiled.
    pub profiled: Option<Profiled>,
    /// What makes the test faster or cheaper, where changes were tried.
    pub ladder: Option<Ladder>,
    /// The searches for fast options (`mode = "auto"`), one for each cell that asks for it.
    pub searches: Vec<Ladder>,
    /// What the runs between many hosts show, where the study has a mesh.
    pub mesh: Option<MeshFindings>,
    /// The first run of the only cell.
    pub first_run: Option<Rc<FirstRun>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPlace {
    pub path: PathBuf,
    pub bytes: u64,
}

impl Base {
    /// The test of these findings; absent where it has several cells, or no run that is used.
    pub fn of(findings: &Findings) -> Option<Base> {
        let planned = findings.summary.planned.len();
        let [cell] = &findings.explanation.cells[..] else {
            return None;
        };
        let used = findings.summary.used().into_iter().next()?;
        let base = Base::of_cell(&findings.summary, cell, (0, used));
        base.filter(|base| planned == 1 && base.rate > 0.0)
    }
}

/// The factor of a test, which has one level.
const TEST: &str = "test";

/// An execution of a single cell, such as a test.
#[derive(Clone, Copy, Debug)]
pub struct Single<'a> {
    pub first: RunView<'a>,
    pub cell: &'a CellSummary,
    /// What limited it; absent where no run can be explained.
    pub limiter: Option<&'a ExplainedCell>,
}

impl LogPlace {
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }
}

impl Single<'_> {
    /// The median of a metric with its interval; of a run that is left out, its value.
    pub fn figure(&self, metric: &Metric) -> Option<Interval> {
        if self.cell.runs > 0 {
            return self.cell.figure(metric.name);
        }
        Some(Interval::alone((metric.compute)(&self.first)?))
    }
}

impl Findings {
    /// What the events that a reader took say, which can be read again from `events`.
    pub fn of(name: String, events: Rc<dyn Events>, reader: Reader) -> Result<Findings, LogError> {
        let (mut log, plan) = reader.finish()?;
        let first_run = log.first_run.take();
        let (proof, ladder) = (log.proof.take(), log.ladder.take());
        let searches = std::mem::take(&mut log.searches);
        let summary = complete(log, plan);
        let profiled = profiled(&summary);
        let mut found = Findings {
            explanation: explanation(&summary),
            profiled,
            name,
            log: None,
            events,
            summary,
            comparison: None,
            ladder,
            searches,
            mesh: None,
            first_run,
        };
        match proof {
            Some(proof) => found.prove(proof),
            None => found.advise(),
        }
        found.mesh = mesh(&found.summary, &|cell| found.limiter(cell));
        Ok(found)
    }

    /// Adds what experiments show of the verdict of a test.
    pub fn prove(&mut self, proof: Proof) {
        if let Some(cell) = self.explanation.cells.first_mut() {
            apply(cell, proof);
        }
        self.advise();
    }

    /// Adds what to do about what limits each cell.
    fn advise(&mut self) {
        // Options of a test are no remedy for another program.
        let mut kept = self.summary.runs.iter().filter_map(|row| row.kept.as_ref());
        if kept.any(|kept| kept.signals.is_foreign()) {
            return;
        }
        let used = self.summary.used().into_iter().enumerate();
        for (cell, used) in self.explanation.cells.iter_mut().zip(used) {
            let base = Base::of_cell(&self.summary, cell, used);
            let own = of_black_hole(cell);
            cell.remedies = match base {
                Some(base) if own.is_empty() => advised(&base, cell),
                _ => own,
            };
        }
    }

    /// What these events say.
    pub fn of_events(name: String, events: Vec<Event>) -> Result<Findings, LogError> {
        let mut reader = Reader::default();
        for (place, event) in events.iter().enumerate() {
            reader.take(place, event);
        }
        Findings::of(name, Rc::new(events), reader)
    }

    /// The execution as one of a single cell that no factor distinguishes, such as a test; absent for
    /// any other, and where no run has a result.
    pub fn single(&self) -> Option<Single<'_>> {
        let [cell] = &self.summary.cells[..] else {
            return None;
        };
        let is_test = cell.levels.iter().all(|(factor, _)| factor == TEST);
        is_test.then_some(Single {
            first: self.first_run.as_deref()?.view(),
            cell,
            limiter: self.explanation.cells.first(),
        })
    }

    /// The runs that a text of a single cell is about: those that are used, or those left out where
    /// none is.
    pub fn shown_runs(&self) -> impl Iterator<Item = &RunRow> {
        let status = match self.summary.has_used() {
            true => Status::Used,
            false => Status::LeftOut,
        };
        let runs = self.summary.runs.iter();
        runs.filter(move |row| row.status == status)
    }

    /// Sentences about the shown runs, each once.
    pub fn of_runs<'a>(&'a self, said: fn(&'a RunRow) -> &'a [String]) -> Vec<&'a str> {
        let sentences = self.shown_runs().flat_map(said).map(String::as_str);
        sentences.collect::<IndexSet<&str>>().into_iter().collect()
    }

    /// What limited the cell with this index; absent where it is not planned.
    pub fn limiter_of(&self, cell: usize) -> Option<&ExplainedCell> {
        self.explanation.cells.get(cell)
    }

    /// What limited most of the cell with this index; absent where that is unknown.
    fn limiter(&self, cell: usize) -> Option<Limiter> {
        let leading = self.limiter_of(cell)?.leading().into_iter().next();
        Some(leading?.0).filter(|limiter| !limiter.is_unknown())
    }

    /// The row of the run at this place in the order; absent where it is not planned.
    pub fn row(&self, run: u32) -> Option<&RunRow> {
        let runs = &self.summary.runs;
        let at = runs.binary_search_by_key(&run, |row| row.run).ok()?;
        Some(&runs[at])
    }

    /// Passes on the wanted runs that have a result of our own, one at a time, each with its row
    /// and its cell. If a run was tried more than once, the last try is used.
    pub fn each_run(
        &self,
        wanted: impl Fn(&RunRow) -> bool,
        take: &mut dyn FnMut(&RunRow, &Cell, &RunView),
    ) {
        let summary = &self.summary;
        let place = PlaceFacts::new(summary.shared_cpus, &summary.ends, summary.lab.as_deref());
        let is_wanted = |run| self.row(run).is_some_and(&wanted);
        self.events.each(&is_wanted, &mut |at, event| {
            let Event::RunEnded {
                run,
                interrupted,
                sender,
                receiver,
                ..
            } = event
            else {
                return;
            };
            let row = self.row(*run).filter(|row| row.event == Some(at));
            let both = row.and_then(|row| Some((row, summary.planned.get(row.cell)?)));
            if let Some((row, cell)) = both {
                let view = place.view([sender, receiver], &cell.conditions, interrupted.as_deref());
                take(row, cell, &view);
            }
        });
    }
}
