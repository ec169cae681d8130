//! The CPU time of each cell by layer, over its profiled runs.

use std::collections::{BTreeMap, BTreeSet};

use bitcost_model::profile::Layer;
use bitcost_model::record::Role;
use bitcost_stats::{Interval, Side, estimate_interval};
use serde::Serialize;

use super::account::EndProfile;
use crate::summary::Summary;

#[derive(Clone, Debug, Serialize)]
pub struct Profiled {
    /// The cells with a profiled run, in the order of the plan.
    pub cells: Vec<ProfiledCell>,
    /// Profiles that are left out: each reason with its number of runs.
    pub left_out: BTreeMap<String, usize>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ProfiledCell {
    pub cell: String,
    /// What is paid for: `KiB` or `transaction`.
    pub of: &'static str,
    pub runs: usize,
    pub ends: BTreeMap<Role, EndLayers>,
}

/// The CPU time of an end by layer, in ns.
#[derive(Clone, Debug, Serialize)]
pub struct EndLayers {
    pub layers: BTreeMap<Layer, LayerTime>,
    pub sum: Interval,
    /// The CPU time of the same runs by their own account.
    pub accounted: Option<Interval>,
}

#[derive(Clone, Debug, Serialize)]
pub struct LayerTime {
    #[serde(flatten)]
    pub time: Interval,
    pub share_pct: f64,
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
        left_out,
    })
}

impl ProfiledCell {
    fn of(summary: &Summary, cell: usize) -> Option<ProfiledCell> {
        let mut runs = 0;
        let mut ends: BTreeMap<Role, Vec<(u32, &EndProfile)>> = BTreeMap::new();
        for row in summary.runs.iter().filter(|row| row.cell == cell) {
            if let Some(Ok(profile)) = &row.profiled {
                runs += 1;
                for (role, end) in &**profile {
                    ends.entry(*role).or_default().push((row.block, end));
                }
            }
        }
        let of_end = |(role, runs): (_, Vec<_>)| Some((role, EndLayers::of(&runs, summary.seed)?));
        let planned = summary.planned.get(cell)?;
        let found = ProfiledCell {
            cell: planned.name(),
            of: match planned.conditions.workload.is_transactional() {
                true => "transaction",
                false => "KiB",
            },
            runs,
            ends: ends.into_iter().filter_map(of_end).collect(),
        };
        (!found.ends.is_empty()).then_some(found)
    }
}

impl EndLayers {
    /// The medians of an end over its runs, each with its block.
    fn of(runs: &[(u32, &EndProfile)], seed: u64) -> Option<EndLayers> {
        let median = |value: &dyn Fn(&EndProfile) -> Option<f64>| -> Option<Interval> {
            let values = runs.iter().map(|(block, end)| Some((*block, value(end)?)));
            let values: Vec<(u32, f64)> = values.flatten().collect();
            let side: Side = &values;
            estimate_interval(&[side], seed, |medians| medians.first().copied())
        };
        let sum = median(&|end| Some(end.sum()))?;
        let seen = runs.iter().flat_map(|(_, end)| end.layers.keys().copied());
        let of_layer = |layer: Layer| {
            let time = median(&|end| Some(end.layers.get(&layer).copied().unwrap_or(0.0)))?;
            let share_pct = 100.0 * time.value / sum.value;
            Some((layer, LayerTime { time, share_pct }))
        };
        let seen: BTreeSet<Layer> = seen.collect();
        Some(EndLayers {
            layers: seen.into_iter().map(of_layer).collect::<Option<_>>()?,
            accounted: median(&|end| end.accounted),
            sum,
        })
    }
}
