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

/// Most runs of a plan: its list of runs alone has some hundred MB in the log then.
const RUNS_MOST: u64 = 10_000_000;

impl Lengths {
    /// Whether a plan of this length is small enough to be made.
    ///
    /// # Errors
    /// A sentence with the number of runs and the limit.
    pub fn check(self, study: &Study) -> Result<(), String> {
        let cells = study.cells().len() as u64;
        let blocks = self.blocks.unwrap_or(study.blocks);
        let runs = cells.saturating_mul(blocks.into());
        if runs <= RUNS_MOST {
            return Ok(());
        }
        Err(format!(
            "{cells} cells in {blocks} blocks are {runs} runs; allowed: at most {RUNS_MOST}; ask for fewer blocks with --blocks"
        ))
    }

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
    /// What the command line changed of the study's lengths; absent in plans of earlier formats, and where no study made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lengths: Option<Lengths>,
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
        Plan { seed, blocks, lengths: Some(lengths), cells, runs }
    }

    /// The plan of one run under these conditions, which no study gives.
    pub fn of_one(conditions: Conditions) -> Plan {
        let cells = vec![Cell { levels: Vec::new(), conditions }];
        let runs = vec![PlannedRun { index: 0, block: 0, cell: 0 }];
        Plan { seed: 0, blocks: 1, lengths: None, cells, runs }
    }

    /// The first run in which this plan is not the one that the study gives with this plan's seed and lengths, in words.
    ///
    /// A plan without lengths may have any: neither they nor the counts of bounded runs are compared.
    pub fn difference(&self, study: &Study) -> Option<String> {
        let is_known = self.lengths.is_some();
        let lengths = self.lengths.unwrap_or(Lengths { blocks: Some(self.blocks), ..Lengths::default() });
        let mut given = Plan::new(study, self.seed, lengths);
        for (cell, own) in given.cells.iter_mut().zip(&self.cells).filter(|_| !is_known) {
            let Conditions { duration_ms, stop_bytes, stop_messages, stop_transactions, .. } = own.conditions;
            cell.conditions =
                Conditions { duration_ms, stop_bytes, stop_messages, stop_transactions, ..cell.conditions.clone() };
        }
        let count = self.runs.len().max(given.runs.len());
        let different = (0..count).find_map(|place| Some((place, self.run_difference(&given, place)?)));
        let of_no_run =
            || (self.blocks != given.blocks || self.cells != given.cells).then_some("its cells or blocks differ");
        match different {
            Some((place, words)) => Some(format!("run {} {words}", place + 1)),
            None => of_no_run().map(str::to_owned),
        }
    }

    /// What the run at a place is here and would be by the other plan.
    fn run_difference(&self, given: &Plan, place: usize) -> Option<String> {
        let of = |plan: &Plan| plan.runs.get(place).and_then(|run| Some((*run, plan.cells.get(run.cell)?.clone())));
        let (own, other) = match (of(self), of(given)) {
            (Some(own), Some(other)) if own == other => return None,
            (None, None) if self.runs.get(place) == given.runs.get(place) => return None,
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
        let field = own.as_object()?.keys().find(|key| own.get(key) != other.get(key));
        let field = field.or_else(|| other.as_object()?.keys().find(|key| own.get(key) != other.get(key)))?;
        let value = |of: &serde_json::Value| of.get(field).map_or("absent".to_owned(), ToString::to_string);
        Some(format!("(`{name}`) has {field} {} and would have {}", value(&own), value(&other)))
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
