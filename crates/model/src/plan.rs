//! From a study and a seed to every run in its order: randomised complete blocks, pure and repeatable.

use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::conditions::Conditions;
use crate::study::{Cell, Length, Study};

/// What the command line changes of a study's lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lengths {
    /// Blocks, instead of the study's.
    pub blocks: Option<u32>,
    /// Measured window of each run, in milliseconds, instead of the study's.
    pub duration_ms: Option<u32>,
    /// Counts after which bounded runs end, in per cent of the study's.
    pub counts_pct: Option<u32>,
}

impl From<Length> for Lengths {
    fn from(length: Length) -> Lengths {
        let Length { blocks, duration_ms, counts_pct } = length;
        Lengths { blocks: Some(blocks), duration_ms, counts_pct }
    }
}

impl Lengths {
    fn apply(self, conditions: &mut Conditions) {
        conditions.duration_ms = self.duration_ms.unwrap_or(conditions.duration_ms);
        let Some(percent) = self.counts_pct else { return };
        let counts = [&mut conditions.stop_bytes, &mut conditions.stop_messages, &mut conditions.stop_transactions];
        for count in counts.into_iter().flatten() {
            *count = (*count * u64::from(percent) / 100).max(1);
        }
        // No bounded run ends by its length: it is what the plan reckons with.
        if conditions.is_bounded() && self.duration_ms.is_none() {
            let length = u64::from(conditions.duration_ms) * u64::from(percent) / 100;
            conditions.duration_ms = u32::try_from(length).unwrap_or(u32::MAX).max(1);
        }
    }
}

/// One run of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedRun {
    /// Its place in the order, from 0.
    pub index: u32,
    /// The block that it belongs to, from 0.
    pub block: u32,
    /// Which of [`Plan::cells`] it runs.
    pub cell: usize,
}

/// Every run of an execution, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The seed of the order.
    pub seed: u64,
    /// Number of complete blocks.
    pub blocks: u32,
    /// Every cell of the study.
    pub cells: Vec<Cell>,
    /// The runs in the order of execution.
    pub runs: Vec<PlannedRun>,
}

/// Time that a run takes beside its traffic: settings, connections, a last look.
pub const RUN_OVERHEAD: Duration = Duration::from_millis(350);

impl Plan {
    /// The plan of a study: each block holds every cell once, in an order drawn from the seed.
    ///
    /// The order of a block depends on the seed and the block's number only, so a longer plan begins
    /// with the shorter one. The generator is ChaCha8 with the block as its stream.
    pub fn new(study: &Study, seed: u64, lengths: Lengths) -> Plan {
        let blocks = lengths.blocks.unwrap_or(study.blocks);
        let mut cells = study.cells();
        cells.iter_mut().for_each(|cell| lengths.apply(&mut cell.conditions));
        let order =
            (0..blocks).flat_map(|block| shuffled(cells.len(), seed, block).into_iter().map(move |cell| (block, cell)));
        let runs = order.zip(0..).map(|((block, cell), index)| PlannedRun { index, block, cell }).collect();
        Plan { seed, blocks, cells, runs }
    }

    /// How long one run of a cell takes.
    pub fn run_time(&self, cell: usize) -> Duration {
        let conditions = &self.cells[cell].conditions;
        Duration::from_millis(u64::from(conditions.warmup_ms + conditions.duration_ms)) + RUN_OVERHEAD
    }

    /// How long all runs take, with the stretch before each block.
    pub fn total_time(&self) -> Duration {
        let runs: Duration = self.runs.iter().map(|run| self.run_time(run.cell)).sum();
        runs + self.idle_baseline() * self.blocks
    }

    /// How long the idle hosts are measured before each block: the longest that any cell has.
    pub fn idle_baseline(&self) -> Duration {
        self.cells.iter().map(|cell| cell.conditions.idle_baseline()).max().unwrap_or_default()
    }
}

/// The most blocks that fit a budget, at least one.
///
/// # Errors
/// A sentence when not even one block fits.
pub fn blocks_within(study: &Study, lengths: Lengths, budget: Duration) -> Result<u32, String> {
    let one = Plan::new(study, 0, Lengths { blocks: Some(1), ..lengths }).total_time();
    let blocks = budget.as_nanos() / one.as_nanos().max(1);
    if blocks == 0 {
        return Err(format!(
            "a budget of {} is too short: one block takes {}; allow more, or shorten the runs with --duration",
            crate::units::show_duration(budget),
            crate::units::show_duration(one)
        ));
    }
    Ok(blocks.min(100_000) as u32)
}

/// The numbers below `count` in an order drawn from the seed and the block.
pub(crate) fn shuffled(count: usize, seed: u64, block: u32) -> Vec<usize> {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    generator.set_stream(u64::from(block));
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, below(&mut generator, last as u32 + 1) as usize);
    }
    order
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
