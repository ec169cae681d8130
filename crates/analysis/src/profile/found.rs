//! The CPU time of each cell by layer, over its profiled runs.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use bitcost_model::profile::Layer;
use bitcost_model::record::Role;
use bitcost_stats::{Interval, Side, estimate_interval};

use super::account::{EndProfile, RunProfile};
use crate::summary::Summary;

/// The CPU time of every profiled cell.
#[derive(Clone, Debug)]
pub struct Profiled {
    /// The cells with a profiled run, in the order of the plan.
    pub cells: Vec<ProfiledCell>,
    /// Profiles that are left out: each reason with its number of runs.
    pub left_out: Vec<(String, usize)>,
}

/// The CPU time of a cell by layer.
#[derive(Clone, Debug)]
pub struct ProfiledCell {
    /// The cell, as an index into [`Summary::cells`].
    pub cell: usize,
    /// Its name.
    pub name: String,
    /// What is paid for: `KiB` or `transaction`.
    pub of: &'static str,
    /// Its profiled runs, each with its block.
    pub runs: Vec<(u32, Rc<RunProfile>)>,
    /// Sender and receiver; absent where the end was not profiled.
    pub ends: [Option<EndLayers>; 2],
}

/// The CPU time of an end by layer, in ns.
#[derive(Clone, Debug)]
pub struct EndLayers {
    /// The end.
    pub end: Role,
    /// The layers on which time was spent, in the order of tables.
    pub layers: Vec<(Layer, Interval)>,
    /// Layers of which the kernel has no entry point, so that their time is in others.
    pub absent: BTreeSet<Layer>,
    /// All of them together.
    pub sum: Interval,
    /// The CPU time of the same runs by their own account.
    pub accounted: Option<Interval>,
    /// Functions below no anchor, with the mean of their time, the largest first.
    pub unclassified: Vec<(String, f64)>,
}

/// The CPU time of the cells by layer; absent where no run was profiled.
pub fn profiled(summary: &Summary) -> Option<Profiled> {
    let profiles = || summary.runs.iter().filter_map(|row| row.profiled.as_ref());
    profiles().next()?;
    let mut left_out: BTreeMap<String, usize> = BTreeMap::new();
    for reason in profiles().filter_map(|profile| profile.as_ref().err()) {
        *left_out.entry(reason.0.clone()).or_default() += 1;
    }
    let of_cell = |cell: usize| ProfiledCell::of(summary, cell);
    Some(Profiled {
        cells: (0..summary.cells.len()).filter_map(of_cell).collect(),
        left_out: left_out.into_iter().collect(),
    })
}

impl ProfiledCell {
    fn of(summary: &Summary, cell: usize) -> Option<ProfiledCell> {
        let rows = summary.runs.iter().filter(|row| row.cell == cell);
        let runs: Vec<(u32, Rc<RunProfile>)> = rows
            .filter_map(|row| Some((row.block, row.profiled.as_ref()?.as_ref().ok()?.clone())))
            .collect();
        let planned = summary.planned.get(cell)?;
        let ends =
            [Role::Sender, Role::Receiver].map(|end| EndLayers::of(end, &runs, summary.seed));
        ends.iter().flatten().next()?;
        Some(ProfiledCell {
            cell,
            name: planned.name(),
            of: match planned.conditions.workload.is_transactional() {
                true => "transaction",
                false => "KiB",
            },
            runs,
            ends,
        })
    }

    /// An end; absent where it was not profiled.
    pub fn end(&self, role: Role) -> Option<&EndLayers> {
        self.ends[usize::from(role == Role::Receiver)].as_ref()
    }

    /// The largest of a share over the profiled runs.
    pub fn largest(&self, share: fn(&RunProfile) -> f64) -> f64 {
        let shares = self.runs.iter().map(|(_, run)| share(run));
        shares.fold(0.0, f64::max)
    }
}

impl EndLayers {
    fn of(end: Role, runs: &[(u32, Rc<RunProfile>)], seed: u64) -> Option<EndLayers> {
        let ends = runs.iter();
        let ends: Vec<(u32, &EndProfile)> = ends
            .filter_map(|(block, run)| Some((*block, run.end(end)?)))
            .collect();
        let median = |value: &dyn Fn(&EndProfile) -> Option<f64>| -> Option<Interval> {
            let values = ends.iter().map(|(block, end)| Some((*block, value(end)?)));
            let values: Vec<(u32, f64)> = values.flatten().collect();
            let side: Side = &values;
            estimate_interval(&[side], seed, |medians| medians.first().copied())
        };
        let is_seen = |layer: &Layer| ends.iter().any(|(_, end)| end.layers.contains_key(layer));
        let of_layer = |layer: Layer| {
            let time = |end: &EndProfile| Some(end.layers.get(&layer).copied().unwrap_or(0.0));
            Some((layer, median(&time)?))
        };
        let absent = ends.iter().flat_map(|(_, end)| end.absent.iter().copied());
        Some(EndLayers {
            end,
            layers: Layer::ALL
                .into_iter()
                .filter(is_seen)
                .map(of_layer)
                .collect::<Option<_>>()?,
            absent: absent.collect(),
            sum: median(&|end| Some(end.sum()))?,
            accounted: median(&|end| end.accounted),
            unclassified: unclassified(&ends),
        })
    }

    /// The time of a layer, in ns; absent where none was seen.
    pub fn layer(&self, layer: Layer) -> Option<&Interval> {
        let found = self.layers.iter().find(|(of, _)| *of == layer);
        found.map(|(_, time)| time)
    }

    /// The share of a layer in the whole.
    pub fn share(&self, layer: Layer) -> f64 {
        self.layer(layer)
            .map_or(0.0, |time| time.value / self.sum.value)
    }
}

/// Functions below no anchor, with the mean of their time over the runs, the largest first.
fn unclassified(ends: &[(u32, &EndProfile)]) -> Vec<(String, f64)> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, ns) in ends.iter().flat_map(|(_, end)| &end.unclassified) {
        *sums.entry(name).or_default() += ns / ends.len() as f64;
    }
    let mut found: Vec<(String, f64)> = sums
        .into_iter()
        .map(|(name, ns)| (name.to_owned(), ns))
        .collect();
    found.sort_by(|one, other| other.1.total_cmp(&one.1));
    found
}
