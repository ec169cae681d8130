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

    /// Whether this study gives this plan with its seed and lengths.
    pub fn gives(&self, plan: &Plan) -> bool {
        let Some(lengths) = plan.lengths else {
            return false;
        };
        if self.check_lengths(lengths).is_err() {
            return false;
        }
        let given = self.plan(plan.seed, lengths);
        plan.blocks == given.blocks && plan.cells == given.cells && plan.runs == given.runs
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
