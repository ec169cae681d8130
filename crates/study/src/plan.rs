//! From a study and a seed to every run in its order: randomised complete blocks, pure and
//! repeatable.

use std::collections::HashMap;

use bitcost_model::Invalid;
use bitcost_model::conditions::Conditions;
use bitcost_model::plan::{Lengths, Plan, PlannedRun};
use bitcost_model::study::{Cell, Label};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::definition::Study;
use crate::limits;

impl Study {
    /// The plan of a study: each block holds every cell once, in an order drawn from the seed. Where the study compares
    /// two levels, the two runs of a comparison follow each other, in turn the old and the new one first.
    ///
    /// The order of a block depends on the seed and the block's number only, so a longer plan
    /// begins with the shorter one. The generator is ChaCha8 with the block as its stream.
    ///
    /// A plan over the [limits], which only a log may name, has no runs.
    pub fn plan(&self, seed: u64, lengths: Lengths) -> Plan {
        let blocks = lengths.blocks.unwrap_or(self.blocks);
        let mut cells = self.cells();
        cells
            .iter_mut()
            .for_each(|cell| apply(lengths, &mut cell.conditions));
        if let Some(mesh) = &self.mesh {
            return mesh.plan(&cells, seed, lengths, blocks);
        }
        let blocks = limits::check_runs(cells.len(), blocks).map_or(0, |()| blocks);
        let units = self.units(&cells);
        let order = (0..blocks).flat_map(|block| {
            let in_turn = |unit: usize| -> Vec<usize> {
                match (block as usize + unit) % 2 {
                    0 => units[unit].clone(),
                    _ => units[unit].iter().rev().copied().collect(),
                }
            };
            let order = shuffled(units.len(), seed, block)
                .into_iter()
                .flat_map(in_turn);
            order.map(|cell| (block, cell)).collect::<Vec<_>>()
        });
        let runs = order
            .zip(0..)
            .map(|((block, cell), index)| PlannedRun { index, block, cell })
            .collect();
        Plan {
            seed,
            blocks,
            lengths: Some(lengths),
            is_profiled: self.is_profiled,
            cells,
            runs,
        }
    }

    /// The cells whose runs are made one after the other: each alone, but both sides of a comparison together.
    fn units(&self, cells: &[Cell]) -> Vec<Vec<usize>> {
        type Rest = Vec<(String, Label)>;
        let rest_of_side = |cell: &Cell| -> Option<Rest> {
            let compared = self.compare.as_ref()?;
            let is_side = |(factor, label): &&(String, Label)| {
                *factor == compared.factor && [&compared.old, &compared.new].contains(&label)
            };
            let side = cell.levels.iter().find(is_side)?;
            let rest = cell.levels.iter().filter(|level| *level != side);
            Some(rest.cloned().collect())
        };
        let (mut units, mut known): (Vec<Vec<usize>>, HashMap<Rest, usize>) = Default::default();
        for (place, cell) in cells.iter().enumerate() {
            let unit = match rest_of_side(cell) {
                Some(rest) => *known.entry(rest).or_insert(units.len()),
                None => units.len(),
            };
            match units.get_mut(unit) {
                Some(unit) => unit.push(place),
                None => units.push(vec![place]),
            }
        }
        units
    }

    /// Checks that a plan of this length is small enough to be made.
    pub fn check_lengths(&self, lengths: Lengths) -> Result<(), Invalid> {
        match self.mesh {
            // A plan may be shown that is too large to be made: see `check_mesh`.
            Some(_) => Ok(()),
            None => limits::check_runs(self.cell_count(), lengths.blocks.unwrap_or(self.blocks)),
        }
    }

    /// Checks that a mesh with these lengths is small enough to be made.
    pub fn check_mesh(&self, lengths: Lengths) -> Result<(), Invalid> {
        let (cells, blocks) = (self.cell_count(), lengths.blocks.unwrap_or(self.blocks));
        self.mesh
            .as_ref()
            .map_or(Ok(()), |mesh| mesh.check_runs(cells, blocks))
    }

    /// The first run in which `plan` differs from the plan that this study gives with its seed and
    /// lengths, in words.
    pub fn plan_difference(&self, plan: &Plan) -> Option<String> {
        let Some(lengths) = plan.lengths else {
            return Some("it has no lengths".to_owned());
        };
        if let Err(Invalid(why)) = self.check_lengths(lengths) {
            return Some(why);
        }
        let given = self.plan(plan.seed, lengths);
        let count = plan.runs.len().max(given.runs.len());
        let different =
            (0..count).find_map(|place| Some((place, run_difference(plan, &given, place)?)));
        let of_no_run = || {
            (plan.blocks != given.blocks || plan.cells != given.cells)
                .then_some("its cells or blocks differ")
        };
        match different {
            Some((place, words)) => Some(format!("run {} {words}", place + 1)),
            None => of_no_run().map(str::to_owned),
        }
    }
}

fn apply(lengths: Lengths, conditions: &mut Conditions) {
    conditions.duration_ms = lengths.duration_ms.unwrap_or(conditions.duration_ms);
    let Some(percent) = lengths.counts_pct else {
        return;
    };
    let counts = [&mut conditions.stop_bytes, &mut conditions.stop_messages];
    for count in counts.into_iter().flatten() {
        *count = (*count * u64::from(percent) / 100).max(1);
    }
    // No bounded run ends by its duration, which only serves the plan's estimate of time.
    if conditions.is_bounded() && lengths.duration_ms.is_none() {
        let length = u64::from(conditions.duration_ms) * u64::from(percent) / 100;
        conditions.duration_ms = u32::try_from(length).unwrap_or(u32::MAX).max(1);
    }
}

/// The difference between the run at a place of this plan and of the given one.
fn run_difference(plan: &Plan, given: &Plan, place: usize) -> Option<String> {
    let of = |plan: &Plan| {
        plan.runs
            .get(place)
            .and_then(|run| Some((*run, plan.cells.get(run.cell)?.clone())))
    };
    let (own, other) = match (of(plan), of(given)) {
        (Some(own), Some(other)) if own == other => return None,
        (None, None) if plan.runs.get(place) == given.runs.get(place) => return None,
        (None, _) => return Some("is not there".to_owned()),
        (Some(_), None) => return Some("is not among them".to_owned()),
        (Some(own), Some(other)) => (own, other),
    };
    let (name, instead) = (own.1.name(), other.1.name());
    if own.0 != other.0 || own.1.levels != other.1.levels {
        return Some(format!("is `{name}` and would be `{instead}`"));
    }
    let fields = |cell: &Cell| serde_json::to_value(&cell.conditions).unwrap_or_default();
    let (own, other) = (fields(&own.1), fields(&other.1));
    let mut names = own.as_object()?.keys().chain(other.as_object()?.keys());
    let field = names.find(|key| own.get(key) != other.get(key))?;
    let [is, would_be] = [&own, &other].map(|of| {
        let value = of.get(field);
        value.map_or("absent".to_owned(), ToString::to_string)
    });
    Some(format!(
        "(`{name}`) has {field} {is} and would have {would_be}"
    ))
}

/// The numbers below `count` in an order drawn from the seed and the block.
pub fn shuffled(count: usize, seed: u64, block: u32) -> Vec<usize> {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    generator.set_stream(u64::from(block));
    let mut order: Vec<usize> = (0..count).collect();
    shuffle(&mut order, &mut generator);
    order
}

pub(crate) fn shuffle<T>(items: &mut [T], generator: &mut ChaCha8Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(generator, last as u32 + 1) as usize);
    }
}

/// A number in `0..bound`, each equally likely (rejection of the incomplete last stretch).
fn below(generator: &mut ChaCha8Rng, bound: u32) -> u32 {
    let limit = u32::MAX - u32::MAX % bound;
    loop {
        let draw = generator.next_u32();
        if draw < limit {
            return draw % bound;
        }
    }
}
