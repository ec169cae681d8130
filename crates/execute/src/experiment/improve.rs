//! What makes a test faster or cheaper: in steps, rounds of short runs try what may relax its bottleneck. The change that
//! gains most is kept, and the next step begins with the bottleneck that is left.

use std::time::{Duration, Instant};

use bitcost_analysis::experiment::{
    BLOCKS_LEAST, BLOCKS_MOST, Base, Change, FINALISTS, Ladder, Round, SCREENING_BLOCKS,
    blocks_planned, is_decided, is_loser, relaxing, screened,
};
use bitcost_analysis::explain::{Limiter, Tried};
use bitcost_analysis::findings::Findings;
use bitcost_controller::Ending;
use bitcost_model::conditions::Conditions;
use bitcost_model::event::Event;
use bitcost_model::search::{Decision, Goal};
use bitcost_model::units::{counted, show_duration};

use super::bench::Bench;
use super::prove::prove;
use crate::error::ExecuteError;

/// The share of the remaining time in which the bottleneck of a step is proved, and the runs that this takes.
const TO_PROVE: f64 = 0.25;
const RUNS_TO_PROVE: u32 = 12;

/// The share of the remaining time in which losers are dropped by two blocks; by one block, with fewer changes.
const TO_SCREEN: [f64; 2] = [0.3, 0.45];

/// The share of the remaining time in which several finalists are planned to be decided: runs that take longer than
/// planned then leave none of them open.
const TO_DECIDE: f64 = 0.7;

struct Climb<'a, 'b, 'c> {
    bench: &'a mut Bench<'b, 'c>,
    ladder: Ladder,
    budget: Duration,
    until: Instant,
    /// The present limiter, and the changes that were tried without gain at it.
    limiter: Option<Limiter>,
    done: Vec<String>,
}

/// Why the steps end before nothing gains.
enum Over {
    /// The time is over, or the user stopped it.
    Ended(Ending),
    Failed(ExecuteError),
}

impl<E: Into<ExecuteError>> From<E> for Over {
    fn from(error: E) -> Over {
        Over::Failed(error.into())
    }
}

/// Makes the steps, and adds the ladder to the findings of the first test, which changes `base`.
///
/// # Errors
/// When the log cannot be written. An error of the session ends the steps, and is said.
pub(super) fn improve(
    bench: &mut Bench,
    (first, place): (&mut Findings, &Event),
    base: Base,
    goal: Goal,
    budget: Duration,
) -> Result<Ending, ExecuteError> {
    let mut climb = Climb {
        bench,
        ladder: Ladder::new(&base.conditions, goal, None),
        budget,
        until: Instant::now() + budget,
        limiter: None,
        done: Vec::new(),
    };
    let (ending, is_complete) = match climb.climb((first, place), base) {
        Ok(()) => (Ending::Complete, true),
        Err(Over::Ended(ending)) => (ending, false),
        Err(Over::Failed(error)) => {
            climb.bench.failed(&error);
            (Ending::Complete, false)
        }
    };
    let Climb { bench, ladder, .. } = climb;
    let ladder = ladder.end(is_complete);
    bench.decide(Decision::Changes(serde_json::json!(ladder)))?;
    first.ladder = Some(ladder);
    Ok(ending)
}

impl Climb<'_, '_, '_> {
    /// One step after the other, until nothing gains.
    fn climb(
        &mut self,
        (first, place): (&mut Findings, &Event),
        mut base: Base,
    ) -> Result<(), Over> {
        let mut later: Option<Findings> = None;
        for step in 0.. {
            let test = later.as_mut().unwrap_or(&mut *first);
            let ending = self.prove(test, &mut base, step)?;
            self.ladder.step(test);
            if ending == Ending::Interrupted {
                return Err(Over::Ended(ending));
            }
            if step == 0 {
                self.pace(&mut base);
            }
            let Some(change) = self.stages(&base)? else {
                return Ok(());
            };
            let conditions = self.keep(&base, &change)?;
            self.say(&format!("step {}: the test with what is kept", step + 1));
            let kept = self.ladder.kept().flat_map(|kept| kept.settings.clone());
            let settings = kept.collect();
            match self.bench.test((&*first, place), &conditions, settings)? {
                (_, Some((found, next))) => (later, base) = (Some(found), next),
                (ending, None) => return Err(Over::Ended(ending)),
            }
        }
        Ok(())
    }

    fn say(&mut self, text: &str) {
        self.bench.progress.message(text);
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Proves the bottleneck of a step. A test for the least cost keeps a rate, so that nothing is to be proved.
    fn prove(&mut self, test: &mut Findings, base: &mut Base, step: usize) -> Result<Ending, Over> {
        let budget = self.left().mul_f64(TO_PROVE);
        let needed = self.time(base, &[], BLOCKS_LEAST)? / BLOCKS_LEAST * RUNS_TO_PROVE;
        if self.ladder.goal == Goal::Cost || needed > budget {
            return Ok(Ending::Complete);
        }
        let (proof, _, ending) = prove(self.bench, base, budget)?;
        if step == 0 {
            self.bench
                .decide(Decision::Bottleneck(serde_json::json!(proof)))?;
        }
        base.take(&proof);
        test.prove(proof);
        Ok(ending)
    }

    /// Makes all further runs keep the rate of the first test, for the least cost.
    fn pace(&self, base: &mut Base) {
        let conditions = &base.conditions;
        let has_rate = conditions.rate_bps.is_some() || conditions.message_rate.is_some();
        if self.ladder.goal == Goal::Cost && !has_rate && !conditions.workload.is_transactional() {
            let rate = 1e6 * base.rate / f64::from(conditions.flows);
            base.conditions.rate_bps = Some(rate.round() as u64);
        }
    }

    /// Tries the changes of the bottleneck, and where none gains, all others; first those that turn on what a host has
    /// off, and last more flows. Returns the change that is kept.
    fn stages(&mut self, base: &Base) -> Result<Option<Change>, Over> {
        if self.limiter != base.named {
            self.limiter.clone_from(&base.named);
            let kept = self.ladder.kept();
            self.done = kept.map(|kept| kept.tried.label.clone()).collect();
        }
        for stage in 0..2 {
            let bench = &*self.bench;
            let offers = relaxing(base, self.ladder.goal, stage, &self.done, &|how| {
                bench.changed(base, Some(how), false).map(|_| ())
            });
            self.ladder.offer(&offers);
            let (restoring, others): (Vec<_>, Vec<_>) =
                offers.changes.into_iter().partition(|one| one.how.restores);
            let (flows, others) = others.into_iter().partition(Change::is_of_flows);
            for changes in [restoring, others, flows] {
                if let Some(one) = self.try_all(base, changes)? {
                    return Ok(Some(one));
                }
            }
        }
        Ok(None)
    }

    /// Drops losers where there are many changes, and decides among the best, unless one gains so much that the blocks
    /// for dropping show it.
    fn try_all(&mut self, base: &Base, mut left: Vec<Change>) -> Result<Option<Change>, Over> {
        let mut least = BLOCKS_LEAST;
        if left.len() > FINALISTS {
            let (found, won) = self.screen(base, &mut left)?;
            if won.is_some() {
                return Ok(won);
            }
            least = blocks_planned(&found, self.ladder.aim());
            let mut names = screened(&found, self.ladder.aim());
            left.retain(|one| names.contains(&one.how.label));
            while names.len() > 1 && self.time(base, &left, least)? > self.left().mul_f64(TO_DECIDE)
            {
                names.pop();
                left.retain(|one| names.contains(&one.how.label));
            }
        }
        if left.is_empty() {
            return Ok(None);
        }
        self.check_time(base, &left, least)?;
        self.say(&format!("deciding about {}", labels(&left)));
        let (found, won) = self.round(base, &left, BLOCKS_MOST)?;
        match won.is_none() && found.iter().any(|one| one.blocks < BLOCKS_LEAST) {
            true => Err(Over::Ended(Ending::Complete)),
            false => Ok(won),
        }
    }

    /// Ends the steps where the remaining time is too short for these changes, and says how long a budget is not.
    fn check_time(&mut self, base: &Base, changes: &[Change], blocks: u32) -> Result<(), Over> {
        let needed = self.time(base, changes, blocks)?;
        if needed <= self.left() {
            return Ok(());
        }
        // Of a longer budget the screening takes its share, too.
        let more = (needed - self.left()).div_f64(1.0 - TO_SCREEN[1]);
        self.say(&format!(
            "the remaining time is too short to decide about {}; use --budget {} or more",
            labels(changes),
            show_duration(self.budget + more)
        ));
        Err(Over::Ended(Ending::Complete))
    }

    /// The round that drops losers, of as many changes as there is time for.
    fn screen(
        &mut self,
        base: &Base,
        left: &mut Vec<Change>,
    ) -> Result<(Vec<Tried>, Option<Change>), Over> {
        let mut blocks = SCREENING_BLOCKS;
        if self.time(base, left, blocks)? > self.left().mul_f64(TO_SCREEN[0]) {
            blocks = 1;
        }
        while left.len() > FINALISTS
            && self.time(base, left, blocks)? > self.left().mul_f64(TO_SCREEN[1])
        {
            left.pop();
        }
        self.check_time(base, left, blocks)?;
        self.say(&format!(
            "trying {}, {} left",
            counted(left.len(), "change"),
            show_duration(self.left())
        ));
        self.round(base, left, blocks)
    }

    /// The runs of one round: what each change shows, and the one that is kept. Those that do not gain are left out of
    /// further rounds at the same limiter.
    fn round(
        &mut self,
        base: &Base,
        changes: &[Change],
        blocks: u32,
    ) -> Result<(Vec<Tried>, Option<Change>), Over> {
        let screens = blocks <= SCREENING_BLOCKS;
        let mut round = self.bench.plan(base, changes, screens)?;
        let (aim, left) = (self.ladder.aim(), self.left());
        let ending = self
            .bench
            .make(&mut round, (blocks, left), &|round: &Round| {
                !screens && is_decided(round, aim)
            })?;
        let found = self.ladder.take(&round);
        if ending == Ending::Interrupted {
            return Err(Over::Ended(ending));
        }
        let losers = found.iter().filter(|one| is_loser(one, aim));
        self.done.extend(losers.map(|one| one.label.clone()));
        let won = self.ladder.keep(&round, &found);
        Ok((found, won))
    }

    /// The time of a round.
    fn time(&self, base: &Base, changes: &[Change], blocks: u32) -> Result<Duration, Over> {
        let round = self.bench.plan(base, changes, blocks <= SCREENING_BLOCKS)?;
        Ok(self.bench.block_time(&round) * blocks)
    }

    /// Makes a change a part of all further steps; returns the conditions of the next one.
    fn keep(&mut self, base: &Base, change: &Change) -> Result<Conditions, Over> {
        let label = &change.how.label;
        self.say(&format!("kept: {label}"));
        self.done.push(label.clone());
        let changed = self.bench.changed(base, Some(&change.how), false)?;
        let own = &base.conditions;
        Ok(Conditions {
            duration_ms: own.duration_ms,
            warmup_ms: own.warmup_ms,
            idle_baseline_ms: own.idle_baseline_ms,
            ..changed
        })
    }
}

/// `bbr, cubic`.
fn labels(changes: &[Change]) -> String {
    let labels: Vec<&str> = changes.iter().map(|one| &*one.how.label).collect();
    labels.join(", ")
}
