//! The CPU time of each cell by layer, over its profiled runs.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use bitcost_model::profile::Layer;
use bitcost_model::record::Role;
use bitcost_model::study::{Label, phrase};
use bitcost_stats::{Interval, Side, estimate_interval, geometric_interval};

use super::account::{EndProfile, RunProfile};
use super::activity::Activity;
use super::twin::ProfiledRun;
use crate::cells::{RunRow, Status};
use crate::metrics::WITH_INTERVAL;
use crate::summary::{ImprovementSummary, Summary};

/// The CPU time of every profiled cell.
#[derive(Clone, Debug)]
pub struct Profiled {
    /// The cells with a profiled run, in the order of the plan.
    pub cells: Vec<ProfiledCell>,
    /// What the study's new level pays more than its old one, at each combination of the other levels
    /// that has both, with the two levels and the others in words.
    pub improvements: Vec<(String, Vec<EndChange>)>,
    /// What sampling did to a metric: profiled ÷ measured twins, over all cells.
    pub costs: Vec<(&'static str, Interval)>,
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
    /// Its profiled runs.
    pub runs: Vec<(u32, Rc<ProfiledRun>)>,
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
    /// The first ÷ the second, less 1, in per cent.
    pub difference_pct: Option<Interval>,
    /// By layer and activity, means over the runs.
    pub activities: Vec<((Layer, Activity), f64)>,
    /// Functions below no anchor, with the mean of their time, the largest first.
    pub unclassified: Vec<(String, f64)>,
    seed: u64,
    values: BTreeMap<Layer, Vec<(u32, f64)>>,
}

/// The CPU time of the cells by layer; absent where no run was profiled.
pub fn profiled(summary: &Summary) -> Option<Profiled> {
    let rows = || summary.runs.iter().filter(|row| row.profiled.is_some());
    rows().next()?;
    let mut left_out: BTreeMap<String, usize> = BTreeMap::new();
    for reason in rows().filter_map(|row| row.profiled.as_ref()?.profile.as_ref().err()) {
        *left_out.entry(reason.0.clone()).or_default() += 1;
    }
    let of_cell = |cell: usize| ProfiledCell::of(summary, cell);
    let cells: Vec<ProfiledCell> = (0..summary.cells.len()).filter_map(of_cell).collect();
    Some(Profiled {
        improvements: improvements(summary, &cells),
        cells,
        costs: costs(summary),
        left_out: left_out.into_iter().collect(),
    })
}

/// What the study's improvement changes in each pair of its cells.
fn improvements(summary: &Summary, cells: &[ProfiledCell]) -> Vec<(String, Vec<EndChange>)> {
    let of_pair = |pair: &ImprovementSummary| {
        let at = |label: &Label| {
            let is_at = |cell: &&ProfiledCell| {
                let levels = &summary.cells[cell.cell].levels;
                levels.contains(&(pair.factor.clone(), label.clone()))
                    && pair.levels.iter().all(|level| levels.contains(level))
            };
            cells.iter().find(is_at)
        };
        let changes = layer_changes(at(&pair.from)?, at(&pair.to)?);
        let others = match pair.levels.is_empty() {
            true => String::new(),
            false => format!("{}: ", phrase(&pair.levels)),
        };
        let name = format!("{others}{} → {}", pair.from, pair.to);
        (!changes.is_empty()).then_some((name, changes))
    };
    summary.improvements.iter().filter_map(of_pair).collect()
}

impl Profiled {
    /// The cell with this index.
    pub fn cell(&self, cell: usize) -> Option<&ProfiledCell> {
        self.cells.iter().find(|found| found.cell == cell)
    }
}

impl ProfiledCell {
    fn of(summary: &Summary, cell: usize) -> Option<ProfiledCell> {
        let good = |row: &&RunRow| {
            let profiled = row.profiled.as_ref();
            row.cell == cell && profiled.is_some_and(|run| run.profile.is_ok())
        };
        let runs: Vec<(u32, Rc<ProfiledRun>)> = summary
            .runs
            .iter()
            .filter(good)
            .filter_map(|row| Some((row.block, row.profiled.clone()?)))
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

    /// The profiles of its runs.
    fn profiles(&self) -> impl Iterator<Item = &RunProfile> {
        let runs = self.runs.iter();
        runs.filter_map(|(_, run)| run.profile.as_ref().ok())
    }

    /// The event that was sampled, as perf(1) names it.
    pub fn event(&self) -> Option<&'static str> {
        self.profiles().next().map(|run| run.event.name())
    }

    /// CPU seconds per second of the lab's wire, and of other programs with bitcost's agents: means
    /// over the runs.
    pub fn others(&self) -> (f64, f64) {
        let count = self.runs.len().max(1) as f64;
        self.profiles().fold((0.0, 0.0), |(wire, other), run| {
            (wire + run.wire_cpus / count, other + run.other_cpus / count)
        })
    }

    /// The share of samples requested of busy CPUs that were not taken, the largest of a run.
    pub fn missed(&self) -> f64 {
        self.profiles().map(|run| run.missed).fold(0.0, f64::max)
    }

    /// The share of samples that was lost, and whose chain was cut, each the largest of a run.
    pub fn losses(&self) -> (f64, f64) {
        self.profiles().fold((0.0, 0.0), |(lost, cut), run| {
            (f64::max(lost, run.lost), f64::max(cut, run.cut))
        })
    }
}

impl EndLayers {
    fn of(end: Role, runs: &[(u32, Rc<ProfiledRun>)], seed: u64) -> Option<EndLayers> {
        let profile = |run: &'_ Rc<ProfiledRun>| run.profile.as_ref().ok()?.end(end).cloned();
        let ends: Vec<(u32, EndProfile)> = runs
            .iter()
            .filter_map(|(block, run)| Some((*block, profile(run)?)))
            .collect();
        let median =
            |side: Side| estimate_interval(&[side], seed, |medians| medians.first().copied());
        let values_of = |value: &dyn Fn(&EndProfile) -> Option<f64>| -> Vec<(u32, f64)> {
            let values = ends.iter().map(|(block, end)| Some((*block, value(end)?)));
            values.flatten().collect()
        };
        let values: BTreeMap<Layer, Vec<(u32, f64)>> = Layer::ALL
            .into_iter()
            .filter(|layer| ends.iter().any(|(_, end)| end.layers.contains_key(layer)))
            .map(|layer| {
                let of_layer =
                    |end: &EndProfile| Some(end.layers.get(&layer).copied().unwrap_or(0.0));
                (layer, values_of(&of_layer))
            })
            .collect();
        let difference = |end: &EndProfile| {
            let accounted = end.accounted.filter(|accounted| *accounted > 0.0)?;
            Some(100.0 * (end.sum() / accounted - 1.0))
        };
        let known = values
            .iter()
            .map(|(layer, values)| Some((*layer, median(values)?)));
        Some(EndLayers {
            end,
            layers: known.collect::<Option<_>>()?,
            absent: ends
                .iter()
                .flat_map(|(_, end)| end.absent.iter().copied())
                .collect(),
            sum: median(&values_of(&|end| Some(end.sum())))?,
            accounted: median(&values_of(&|end| end.accounted)),
            difference_pct: median(&values_of(&difference)),
            activities: means(&ends, |end| end.activities.clone().into_iter().collect()),
            unclassified: means(&ends, |end| end.unclassified.clone()),
            seed,
            values,
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

    /// The layer with the most time, of those that are the end's own.
    pub fn largest(&self) -> Option<(Layer, f64)> {
        let own = self.layers.iter().filter(|(layer, _)| {
            !matches!(
                layer,
                Layer::Wire | Layer::OtherPrograms | Layer::OtherKernel
            )
        });
        let largest = own.max_by(|(_, one), (_, other)| one.value.total_cmp(&other.value));
        largest.map(|(layer, _)| (*layer, self.share(*layer)))
    }
}

/// Means over the runs, the largest first.
fn means<K: Ord + Clone>(
    ends: &[(u32, EndProfile)],
    of: impl Fn(&EndProfile) -> Vec<(K, f64)>,
) -> Vec<(K, f64)> {
    let mut sums: BTreeMap<K, f64> = BTreeMap::new();
    for (key, value) in ends.iter().flat_map(|(_, end)| of(end)) {
        *sums.entry(key).or_default() += value / ends.len() as f64;
    }
    let mut found: Vec<(K, f64)> = sums.into_iter().collect();
    found.sort_by(|one, other| other.1.total_cmp(&one.1));
    found
}

/// Values of a metric in profiled and in measured runs, each with its block.
type Twins = [Vec<(u32, f64)>; 2];

/// Profiled ÷ measured of each metric that says what sampling costs, over all cells.
fn costs(summary: &Summary) -> Vec<(&'static str, Interval)> {
    let of_metric = |name: &'static str| {
        let mut cells: Vec<Twins> = vec![Twins::default(); summary.cells.len()];
        for row in summary.runs.iter().filter(|row| row.status == Status::Used) {
            let pair = row
                .profiled
                .as_ref()
                .and_then(|profiled| profiled.figures.get(name).zip(row.figures.get(name)));
            if let Some((with, without)) = pair
                && let Some(twins) = cells.get_mut(row.cell)
            {
                twins[0].push((row.block, with));
                twins[1].push((row.block, without));
            }
        }
        cells.retain(|twins| !twins[0].is_empty());
        let sides: Vec<(Side, Side)> = cells.iter().map(|[a, b]| (&a[..], &b[..])).collect();
        Some((name, geometric_interval(&sides, summary.seed)?))
    };
    WITH_INTERVAL.into_iter().filter_map(of_metric).collect()
}

/// What a layer adds at an end from one cell to another.
#[derive(Clone, Debug)]
pub struct LayerChange {
    /// The layer.
    pub layer: Layer,
    /// The new time less the old one, in ns.
    pub ns: Interval,
}

/// What an end pays more in one cell than in another, by layer.
#[derive(Clone, Debug)]
pub struct EndChange {
    /// The end.
    pub end: Role,
    /// What is paid for.
    pub of: &'static str,
    /// The new sum less the old one, in ns.
    pub sum: Interval,
    /// The layers, the largest change first.
    pub layers: Vec<LayerChange>,
}

/// What each end pays more in `new` than in `old`; without the ends that one of them lacks.
pub fn layer_changes(old: &ProfiledCell, new: &ProfiledCell) -> Vec<EndChange> {
    if old.of != new.of {
        return Vec::new();
    }
    let of_end = |role: Role| {
        let (before, after) = (old.end(role)?, new.end(role)?);
        let seed = before.seed;
        let change = |layer: Layer| {
            let is_seen = before.values.contains_key(&layer) || after.values.contains_key(&layer);
            let ns =
                is_seen.then(|| difference(&before.side(layer), &after.side(layer), seed))??;
            Some(LayerChange { layer, ns })
        };
        let mut layers: Vec<LayerChange> = Layer::ALL.into_iter().filter_map(change).collect();
        layers.sort_by(|one, other| other.ns.value.abs().total_cmp(&one.ns.value.abs()));
        Some(EndChange {
            end: role,
            of: old.of,
            sum: difference(&before.sums(), &after.sums(), seed)?,
            layers,
        })
    };
    let ends = [Role::Sender, Role::Receiver].into_iter();
    ends.filter_map(of_end).collect()
}

impl EndLayers {
    /// The time of each run in all.
    fn sums(&self) -> Vec<(u32, f64)> {
        let mut sums: Vec<(u32, f64)> = Vec::new();
        for values in self.values.values() {
            sums.resize(values.len(), (0, 0.0));
            for (sum, (block, value)) in sums.iter_mut().zip(values) {
                *sum = (*block, sum.1 + value);
            }
        }
        sums
    }

    /// The time of each run in a layer, 0 where none was seen.
    fn side(&self, layer: Layer) -> Vec<(u32, f64)> {
        let none = || self.sums().iter().map(|(block, _)| (*block, 0.0)).collect();
        self.values.get(&layer).cloned().unwrap_or_else(none)
    }
}

fn difference(old: Side, new: Side, seed: u64) -> Option<Interval> {
    estimate_interval(&[old, new], seed, |medians| Some(medians[1] - medians[0]))
}
