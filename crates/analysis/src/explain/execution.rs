//! An execution explained run by run: verdicts, cost models, modes, warnings. Only numbers are kept
//! of each run.

use std::rc::Rc;

use crate::metrics::RunView;
use bitcost_model::conditions::Conditions;
use bitcost_model::constants::{HostConstants, MachineConstants};
use bitcost_model::event::EndpointDescription;
use bitcost_model::record::Role;
use bitcost_model::study::{Cell, Label};

use crate::explain::cells::{ExplainedCell, ExplainedRun};
use crate::explain::cost::{CostModel, cost_models, no_cost_model, packet_cost};
use crate::explain::decide::RunSignals;
use crate::explain::explanation::Explanation;
use crate::explain::figures::RunFigures;
use crate::explain::load::Load;
use crate::explain::warnings::{self, RunFacts, Study};

/// Executions with more runs than this are explained by figures alone.
pub(crate) const MANY: usize = 3000;

/// Takes the runs of an execution one after the other, and explains them together.
pub struct Explainer<'a> {
    title: String,
    cells: &'a [Cell],
    ends: &'a [EndpointDescription],
    /// The constants of the sender's host.
    constants: Option<&'a HostConstants>,
    seed: u64,
    /// The runs of each cell.
    runs: Vec<Vec<Rc<Kept>>>,
}

/// What is kept of a run: numbers only, no samples.
#[derive(Debug)]
pub(crate) struct Kept {
    figures: RunFigures,
    facts: RunFacts,
    signals: RunSignals,
    /// What it had of each resource.
    pub(crate) load: Load,
}

impl<'a> Explainer<'a> {
    /// An explainer of an execution with these cells, endpoints and host constants; `seed` is that of its order.
    pub fn new(
        title: String,
        cells: &'a [Cell],
        ends: &'a [EndpointDescription],
        machines: &'a [MachineConstants],
        seed: u64,
    ) -> Explainer<'a> {
        let sender = |machine: &&MachineConstants| machine.roles.contains(&Role::Sender);
        let constants = machines.iter().find(sender);
        Explainer {
            title,
            cells,
            ends,
            constants: constants.and_then(|machine| machine.host.as_ref()),
            seed,
            runs: cells.iter().map(|_| Vec::new()).collect(),
        }
    }

    /// Takes a run of the cell with this index; `number` is the run's number in the order of
    /// execution, from 1. A run of an unknown cell is ignored.
    pub fn add(&mut self, cell: usize, number: u64, view: &RunView) {
        let figures = RunFigures::of(number, view);
        self.push(cell, Rc::new(Kept::of(number, view, figures)));
    }

    /// Takes what was kept of a run of the cell with this index.
    pub(super) fn push(&mut self, cell: usize, kept: Rc<Kept>) {
        if let Some(runs) = self.runs.get_mut(cell) {
            runs.push(kept);
        }
    }

    /// Explains all runs that were taken.
    pub fn explain(self) -> Explanation {
        let Explainer {
            title,
            cells,
            ends,
            constants,
            seed,
            mut runs,
        } = self;
        runs.iter_mut()
            .for_each(|runs| runs.sort_by_key(|run| run.figures.run));
        let groups = same_but_size(cells);
        let models = |group: &Group| {
            let runs = group
                .cells
                .iter()
                .flat_map(|cell| &runs[*cell])
                .map(|run| run.figures.clone());
            cost_models(&runs.collect::<Vec<_>>(), seed)
        };
        let costs: Vec<(&Group, Vec<CostModel>)> =
            groups.iter().map(|group| (group, models(group))).collect();
        let (mut explained, mut facts) = (Vec::new(), Vec::new());
        for (index, (cell, runs)) in cells.iter().zip(runs).enumerate() {
            let own = costs.iter().find(|(group, _)| group.cells.contains(&index));
            let own = own.map_or(&[][..], |(_, models)| models);
            let (of_cell, runs) = runs.iter().map(|run| run.explained(own, constants)).unzip();
            facts.push(of_cell);
            explained.push(ExplainedCell::new(cell_name(cell), runs));
        }
        let warnings = warnings::warnings(&Study {
            cells,
            runs: &facts,
            explained: &explained,
            ends,
            seed,
        });
        let named = |(group, models): (&Group, Vec<CostModel>)| {
            let name = group.name.clone();
            models.into_iter().map(move |model| (name.clone(), model))
        };
        let costs: Vec<_> = costs.into_iter().flat_map(named).collect();
        let figures = explained
            .iter()
            .flat_map(|cell| &cell.runs)
            .map(|run| &run.figures);
        let remarks = no_cost_model(&costs, figures).into_iter().collect();
        Explanation {
            title,
            cells: explained,
            costs,
            warnings,
            remarks,
        }
    }
}

impl Kept {
    /// What is kept of a run with these figures; `number` is as in [`Explainer::add`].
    pub fn of(number: u64, view: &RunView, figures: RunFigures) -> Kept {
        Kept {
            figures,
            facts: RunFacts::of(number, view),
            signals: RunSignals::of(view),
            load: Load::of(view),
        }
    }

    fn explained(
        &self,
        models: &[CostModel],
        host: Option<&HostConstants>,
    ) -> (RunFacts, ExplainedRun) {
        let cost = packet_cost(models, &self.figures);
        let verdicts = self.signals.clone().verdicts(cost, host);
        let figures = self.figures.clone();
        let explained = ExplainedRun {
            verdicts,
            figures,
            in_effect: Some(self.signals.in_effect.clone()),
        };
        (self.facts.clone(), explained)
    }
}

/// The cell's name, preceded by the factor's name where the cell's name is only a number; the
/// cell's conditions where a study has no factors.
fn cell_name(cell: &Cell) -> String {
    match cell.levels.as_slice() {
        [] => cell.conditions.phrase(),
        [(factor, Label::Number(number))] => format!("{factor} {number}"),
        _ => cell.name(),
    }
}

/// Cells that differ only in the size of messages.
struct Group {
    name: String,
    cells: Vec<usize>,
}

fn same_but_size(cells: &[Cell]) -> Vec<Group> {
    let mut groups: Vec<(Conditions, Group)> = Vec::new();
    for (index, cell) in cells
        .iter()
        .enumerate()
        .filter(|(_, cell)| !cell.conditions.workload.is_transactional())
    {
        let key = Conditions {
            message_size_bytes: 0,
            ..cell.conditions.clone()
        };
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.cells.push(index),
            None => groups.push((
                key,
                Group {
                    name: String::new(),
                    cells: vec![index],
                },
            )),
        }
    }
    let mut groups: Vec<Group> = groups.into_iter().map(|(_, group)| group).collect();
    groups
        .iter_mut()
        .for_each(|group| group.name = common_levels(cells, &group.cells));
    groups
}

fn common_levels(cells: &[Cell], group: &[usize]) -> String {
    let Some(first) = group.first().map(|index| &cells[*index]) else {
        return String::new();
    };
    let common = first.levels.iter().filter(|level| {
        group
            .iter()
            .all(|index| cells[*index].levels.contains(level))
    });
    let labels: Vec<String> = common.map(|(_, label)| label.to_string()).collect();
    if labels.is_empty() {
        first.conditions.workload.name().to_owned()
    } else {
        labels.join(" · ")
    }
}
