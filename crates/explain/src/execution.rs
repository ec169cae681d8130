//! An execution read from its events, and explained: verdicts, cost models, modes, doubts.

use std::collections::BTreeMap;

use metrics::RunView;
use model::conditions::Conditions;
use model::event::{EndDescription, Event};
use model::plan::{Plan, PlannedRun};
use model::record::{EndRecord, Role};
use model::study::{Cell, Label};

use crate::cells::{ExplainedCell, ExplainedRun};
use crate::cost::{CostModel, cost_models, no_cost_model, per_byte_share};
use crate::decide::explain_run;
use crate::explanation::Explanation;
use crate::figures::RunFigures;
use crate::lints::{self, Study};

/// Why an execution cannot be explained.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExplainError {
    /// The plan is missing.
    #[error("the log holds no plan (no `planned` event): the execution stopped before its first run")]
    NoPlan,
}

/// The two records of a run with its place.
struct Ended<'a> {
    sender: &'a EndRecord,
    receiver: &'a EndRecord,
    shared_cpus: bool,
    napi_threaded: bool,
}

/// What the events of an execution tell.
struct Execution<'a> {
    title: String,
    plan: &'a Plan,
    ends: &'a [EndDescription],
    ended: BTreeMap<u32, Ended<'a>>,
}

impl<'a> Execution<'a> {
    fn read(events: &'a [Event]) -> Result<Execution<'a>, ExplainError> {
        let plan = events.iter().find_map(|event| match event {
            Event::Planned { plan } => Some(plan),
            _ => None,
        });
        let mut read = Execution {
            title: String::new(),
            plan: plan.ok_or(ExplainError::NoPlan)?,
            ends: &[],
            ended: BTreeMap::new(),
        };
        let mut place = (false, false);
        for event in events {
            match event {
                Event::ExecutionBegan { study, at, .. } => read.title = format!("{study}, {at}"),
                Event::Prepared { ends, shared_cpus, .. } => {
                    let receiver = ends.iter().find(|end| end.role == Role::Receiver);
                    let napi_threaded = receiver.and_then(|end| end.host.device.napi_threaded) == Some(true);
                    (read.ends, place) = (ends, (*shared_cpus, napi_threaded));
                }
                Event::RunBegan { run, .. } => {
                    read.ended.remove(run);
                }
                Event::RunEnded { run, sender, receiver, .. } => {
                    let (shared_cpus, napi_threaded) = place;
                    read.ended.insert(*run, Ended { sender, receiver, shared_cpus, napi_threaded });
                }
                _ => {}
            }
        }
        Ok(read)
    }

    fn view(&self, planned: &PlannedRun) -> Option<RunView<'a>> {
        let Ended { sender, receiver, shared_cpus, napi_threaded } = *self.ended.get(&planned.index)?;
        let conditions = &self.plan.cells.get(planned.cell)?.conditions;
        Some(RunView { sender, receiver, conditions, shared_cpus, napi_threaded, ceiling_mbps: None })
    }

    /// The runs of a cell with their numbers from 1.
    fn views(&self, cell: usize) -> Vec<(u64, RunView<'a>)> {
        let of_cell = self.plan.runs.iter().filter(|planned| planned.cell == cell);
        of_cell.filter_map(|planned| Some((u64::from(planned.index) + 1, self.view(planned)?))).collect()
    }
}

/// Explains all runs that have a result.
///
/// # Errors
/// When the log holds no plan.
pub fn explain_execution(events: &[Event]) -> Result<Explanation, ExplainError> {
    let execution = Execution::read(events)?;
    let plan = execution.plan;
    let views: Vec<Vec<(u64, RunView)>> = (0..plan.cells.len()).map(|cell| execution.views(cell)).collect();
    let figures: Vec<Vec<RunFigures>> =
        views.iter().map(|runs| runs.iter().map(|(number, view)| RunFigures::of(*number, view)).collect()).collect();
    let groups = same_but_size(&plan.cells);
    let costs: Vec<(&Group, Vec<CostModel>)> = groups
        .iter()
        .map(|group| {
            let runs: Vec<RunFigures> = group.cells.iter().flat_map(|cell| figures[*cell].clone()).collect();
            (group, cost_models(&runs, plan.seed))
        })
        .collect();
    let cells = plan.cells.iter().enumerate().map(|(index, cell)| {
        let models = costs.iter().find(|(group, _)| group.cells.contains(&index)).map_or(&[][..], |(_, models)| models);
        let run = |((_, view), figures): (&(u64, RunView), &RunFigures)| ExplainedRun {
            verdicts: explain_run(view, per_byte_share(models, figures)),
            figures: figures.clone(),
        };
        let runs = views[index].iter().zip(&figures[index]).map(run).collect();
        ExplainedCell::new(name(cell), runs, plan.seed)
    });
    let cells: Vec<ExplainedCell> = cells.collect();
    let study = Study { cells: &plan.cells, runs: &views, figures: &figures, ends: execution.ends, seed: plan.seed };
    let named = |(group, models): (&Group, Vec<CostModel>)| {
        let name = group.name.clone();
        models.into_iter().map(move |model| (name.clone(), model))
    };
    let lints = lints::lints(&study);
    let costs: Vec<_> = costs.into_iter().flat_map(named).collect();
    let remarks = no_cost_model(&costs, figures.iter().flatten()).into_iter().collect();
    Ok(Explanation { title: execution.title.clone(), cells, costs, lints, remarks })
}

/// The cell's name, with the factor's where that is a number alone; or what it does where a study has no factors.
pub(crate) fn name(cell: &Cell) -> String {
    match cell.levels.as_slice() {
        [] => cell.conditions.phrase(),
        [(factor, Label::Number(number))] => format!("{factor} {number}"),
        _ => cell.name(),
    }
}

/// Cells that differ in the size of messages alone.
struct Group {
    name: String,
    cells: Vec<usize>,
}

fn same_but_size(cells: &[Cell]) -> Vec<Group> {
    let mut groups: Vec<(Conditions, Group)> = Vec::new();
    for (index, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.conditions.workload.is_transactional()) {
        let key = Conditions { message_size_bytes: 0, ..cell.conditions.clone() };
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.cells.push(index),
            None => groups.push((key, Group { name: String::new(), cells: vec![index] })),
        }
    }
    let mut groups: Vec<Group> = groups.into_iter().map(|(_, group)| group).collect();
    groups.iter_mut().for_each(|group| group.name = common_levels(cells, &group.cells));
    groups
}

/// The levels that all cells of a group share.
fn common_levels(cells: &[Cell], group: &[usize]) -> String {
    let Some(first) = group.first().map(|index| &cells[*index]) else { return String::new() };
    let common = first.levels.iter().filter(|level| group.iter().all(|index| cells[*index].levels.contains(level)));
    let labels: Vec<String> = common.map(|(_, label)| label.to_string()).collect();
    if labels.is_empty() { first.conditions.workload.name().to_owned() } else { labels.join(" · ") }
}
