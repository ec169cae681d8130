//! Warnings, and the data that their checks use.

use std::collections::BTreeMap;

use bitcost_model::event::EndpointDescription;
use bitcost_model::record::{EndpointRecord, Role, Sample};
use bitcost_model::study::Cell;

use crate::explain::cells::ExplainedCell;
use crate::explain::figures::RunFigures;
use crate::explain::regime::{Regime, regimes};
use crate::metrics::{EmulatorTrouble, RunView, wire_load};

/// A warning about a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Warning {
    /// Which check found it.
    pub name: &'static str,
    /// The names of its cells; empty where the warning concerns all of them.
    pub cells: Vec<String>,
    /// How much it can change the answer: the share of the figures or of the runs that it concerns, an
    /// estimate.
    pub weight: f64,
    /// What was found, with its numbers.
    pub found: String,
    /// What to do.
    pub remedy: &'static str,
    /// The line for a first screen, where the warning changes what the figures mean.
    pub headline: Option<String>,
}

/// The facts of a run that the checks need in addition to its figures.
#[derive(Clone, Debug)]
pub struct RunFacts {
    /// Its number in the order of execution, from 1.
    pub(super) number: u64,
    /// The active offload bits of sender and receiver.
    pub(super) active: [BTreeMap<String, bool>; 2],
    /// How far a CPU's frequency changed at each endpoint, as a share; only for endpoints that
    /// report it.
    pub(super) frequency_changes: Vec<f64>,
    /// Whether other programs took much of the CPUs' time.
    pub(super) is_disturbed: bool,
    /// Whether most of the work on an endpoint's full CPU was the wire's.
    pub(super) is_limited_by_wire: bool,
    /// What its packets carried, in one regime or two.
    pub(super) regimes: Vec<Regime>,
    /// What went wrong in the lab's link emulators.
    pub(super) emulator_trouble: Option<EmulatorTrouble>,
}

impl RunFacts {
    /// The facts of a run.
    pub fn of(number: u64, view: &RunView) -> RunFacts {
        let ends = [view.sender, view.receiver];
        RunFacts {
            number,
            active: ends.map(|end| end.offloads.active.clone()),
            frequency_changes: ends.into_iter().filter_map(frequency_change).collect(),
            is_disturbed: crate::metrics::disturbance(view).is_some(),
            is_limited_by_wire: [Role::Sender, Role::Receiver]
                .into_iter()
                .any(|role| wire_load(view, role).is_some_and(|load| load.limits())),
            regimes: regimes(view),
            emulator_trouble: crate::metrics::emulator_trouble(view),
        }
    }
}

/// The data that the checks use.
pub struct Study<'a> {
    /// Its cells.
    pub cells: &'a [Cell],
    /// The runs of each cell in the order of execution.
    pub runs: &'a [Vec<RunFacts>],
    /// The cells with the figures of their runs.
    pub explained: &'a [ExplainedCell],
    /// Both endpoints.
    pub ends: &'a [EndpointDescription],
    /// The seed of the execution.
    pub seed: u64,
}

impl Study<'_> {
    pub(super) fn figures(&self, cell: usize) -> impl Iterator<Item = &RunFigures> {
        self.explained[cell].runs.iter().map(|run| &run.figures)
    }

    pub(super) fn name(&self, cell: usize) -> String {
        self.explained[cell].name.clone()
    }

    /// Names of cells; none where it is all of them.
    pub(super) fn names(&self, cells: &[usize]) -> Vec<String> {
        if cells.len() == self.cells.len() {
            return Vec::new();
        }
        cells.iter().map(|cell| self.name(*cell)).collect()
    }
}

/// The greatest change of a CPU's frequency between the first and the last sample, as a share.
fn frequency_change(end: &EndpointRecord) -> Option<f64> {
    let change = |first: &Sample, last: &Sample| {
        let pairs = first.frequencies.iter().filter_map(|before| {
            let after = last
                .frequencies
                .iter()
                .find(|after| after.cpu == before.cpu)?;
            Some((after.khz as f64 / before.khz.max(1) as f64 - 1.0).abs())
        });
        pairs.max_by(f64::total_cmp)
    };
    change(end.samples.first()?, end.samples.last()?)
}
