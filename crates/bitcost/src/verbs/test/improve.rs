//! `bitcost improve`: a test, and then rounds of short runs that try what may relax its bottleneck. The change that
//! gains most is kept, and the next step begins with the bottleneck that is left.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use bitcost_analysis::explain::Limiter;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::improve::{
    BLOCKS_LEAST, BLOCKS_MOST, Candidate, FACTOR, FINALISTS, Goal, Measured, NotTried,
    SCREENING_BLOCKS, Step, apply, blocks_planned, is_decided, measured, offers, screened, winner,
};
use bitcost_analysis::prove::Ordinary;
use bitcost_controller::Ending;
use bitcost_execute::{ExecuteError, Until, round_folder, step_folder};
use bitcost_model::Invalid;
use bitcost_model::conditions::Direction;
use bitcost_model::plan::{Lengths, Plan};
use bitcost_model::units::{counted, show_duration};
use bitcost_study::Study;

use super::arguments::Arguments;
use super::described::Test;
use super::progress::Lines;
use super::{has_measured, print};
use crate::failure::Failure;
use crate::opened::{self, say_log};
use crate::options::lab::say_warnings;
use crate::options::order::new_seed;
use crate::output;
use crate::signals::stop_on_signals;

/// Most time of everything after the first test.
const BUDGET: Duration = Duration::from_secs(60);

/// Measured time of the test of a step, if the options have none.
const USUAL_DURATION: &str = "2s";

/// The share of the remaining time in which the bottleneck of a step is proved, and the runs that this takes.
const TO_PROVE: f64 = 0.25;
const RUNS_TO_PROVE: u32 = 12;

/// The share of the remaining time in which losers are dropped by two blocks; by one block, with fewer changes.
const TO_SCREEN: [f64; 2] = [0.3, 0.45];

/// The share of the remaining time in which several finalists are planned to be decided: runs that take longer than
/// planned then leave none of them open.
const TO_DECIDE: f64 = 0.7;

/// The question of a round.
const QUESTION: &str = "Which change makes the run faster or cheaper?";

/// The steps so far.
struct Climb<'a, 'b> {
    test: &'a mut Test<'b>,
    goal: Goal,
    /// The folder of the first test's log; absent where logs are kept in memory alone.
    folder: Option<PathBuf>,
    stop: &'a Arc<AtomicBool>,
    until: Instant,
    steps: Vec<Step>,
    refused: Vec<NotTried>,
    /// The present limiter, and the changes that were tried without gain at it.
    limiter: Option<Limiter>,
    done: Vec<String>,
    /// The changes that are kept.
    kept: Vec<String>,
    /// The time that the runs so far took ÷ the time that was planned for them: what waits in a buffer takes long on a
    /// slow path.
    overrun: f64,
}

/// Why the steps end before nothing gains.
enum Over {
    /// The time is over, or the user stopped it.
    Ended(Ending),
    /// Something failed.
    Failed(Failure),
}

impl<E: Into<Failure>> From<E> for Over {
    fn from(error: E) -> Over {
        Over::Failed(error.into())
    }
}

/// Makes the first test and the steps, and prints the ladder.
///
/// # Errors
/// Usage, when the options do not fit; otherwise those of the first test.
pub fn run(mut options: Arguments) -> Result<(), Failure> {
    let goal = goal(&mut options);
    let options = &options;
    let stop = stop_on_signals()?;
    let mut test = Test::new(options)?;
    options
        .look
        .check_test(false, options.no_log, &test.typed.conditions)?;
    refuse_conditions(goal, &test)?;
    let mut given = options.settings.0.iter();
    if !given.any(|(setting, _)| setting.name == "duration_s") {
        test.typed.keep("duration_s", USUAL_DURATION)?;
    }
    let study = test.study()?;
    if study.lab.running.is_none() {
        let plan = study.plan(0, test.lengths());
        say_warnings(&test.destination.warnings(&study, &plan));
    }
    output::say("step 0: the test as it is");
    let executed = test.execute(&study, &stop, &mut Lines::silent(&stop))?;
    let folder = executed.folder;
    let mut ending = executed
        .ending
        .inspect_err(|_| say_log(folder.as_deref()))?;
    let mut findings = executed.findings?;
    if ending == Ending::Complete && has_measured(&findings) {
        let mut climb = Climb {
            goal,
            folder,
            stop: &stop,
            until: Instant::now() + options.budget.unwrap_or(BUDGET),
            test: &mut test,
            steps: Vec::new(),
            refused: Vec::new(),
            limiter: None,
            done: Vec::new(),
            kept: Vec::new(),
            overrun: 1.0,
        };
        ending = match climb.climb(&mut findings) {
            Ok(()) => Ending::Complete,
            Err(Over::Ended(ending)) => ending,
            Err(Over::Failed(failure)) => return Err(failure),
        };
        apply(&mut findings, &climb.steps, &climb.refused);
    }
    let printed = print(&findings, &options.look);
    match has_measured(&findings) {
        true => say_log(findings.log.as_ref().map(|log| log.folder())),
        false => opened::remove(&findings),
    }
    match ending {
        Ending::Interrupted if options.no_log => Err(Failure::InterruptedUnlogged),
        Ending::Interrupted => Err(Failure::Interrupted),
        _ => printed,
    }
}

/// Takes `--for` from the options: it is no setting of the runs, which search nothing.
fn goal(options: &mut Arguments) -> Goal {
    let given = &mut options.settings.0;
    let mut goals = given.iter().rev();
    let goal = goals.find(|(setting, _)| setting.name == "search_for");
    let goal = match goal.is_some_and(|(_, goal)| goal == Goal::Cost.name()) {
        true => Goal::Cost,
        false => Goal::Rate,
    };
    given.retain(|(setting, _)| setting.name != "search_for");
    goal
}

/// Refuses conditions in which a step cannot be compared with the next.
fn refuse_conditions(goal: Goal, test: &Test) -> Result<(), Failure> {
    let conditions = &test.typed.conditions;
    let has_cost = conditions.direction != Direction::Both && conditions.background.is_empty();
    let why = if test.arguments.prove {
        "--prove cannot be used with `improve`, which proves the bottleneck in every step"
    } else if conditions.bound().is_some() {
        "the runs of `improve` end after a time; leave out the number of bytes, messages or transactions"
    } else if test.until.is_some() {
        "--until-interval cannot be used with `improve`, which repeats runs until they decide"
    } else if conditions.mode_auto {
        "--mode auto cannot be used with `improve`, which tries the modes itself"
    } else if goal == Goal::Cost && !has_cost {
        "--for cost needs one workload in one direction"
    } else {
        return Ok(());
    };
    Err(Failure::Usage(why.to_owned()))
}

impl Climb<'_, '_> {
    /// One step after the other, until nothing gains.
    fn climb(&mut self, first: &mut Findings) -> Result<(), Over> {
        loop {
            let step = self.steps.len();
            let mut later = match step {
                0 => None,
                _ => Some(self.step_test(step)?),
            };
            let test = later.as_mut().unwrap_or(&mut *first);
            let ending = self.prove(test, step)?;
            let Some(ordinary) = Ordinary::of(test) else {
                output::say(&format!(
                    "step {step}: no run has a result that can be explained"
                ));
                return Err(Over::Ended(ending));
            };
            if step == 0 {
                self.pace(&ordinary)?;
            }
            self.steps.push(Step {
                test: later,
                rounds: Vec::new(),
            });
            if ending == Ending::Interrupted {
                return Err(Over::Ended(ending));
            }
            match self.stages(first, &ordinary)? {
                Some(candidate) => self.keep(&candidate)?,
                None => return Ok(()),
            }
        }
    }

    /// The test with the changes that are kept.
    fn step_test(&mut self, step: usize) -> Result<Findings, Over> {
        output::say(&format!("step {step}: the test with what is kept"));
        let study = self.test.study()?;
        let plan = study.plan(new_seed()?, Lengths::default());
        match self.follow((&study, &plan), &step_folder(step), None) {
            Ok((Ending::Complete, found)) if has_measured(&found) => Ok(found),
            Ok((ending, _)) => Err(Over::Ended(ending)),
            Err(why) => {
                output::say(&format!("step {step} failed: {why}"));
                Err(Over::Ended(Ending::Complete))
            }
        }
    }

    /// Proves the bottleneck of a step. A test for the least cost keeps a rate, so that nothing is to be proved.
    fn prove(&self, test: &mut Findings, step: usize) -> Result<Ending, Failure> {
        if self.goal == Goal::Cost {
            return Ok(Ending::Complete);
        }
        let folder = self.folder.as_ref().map(|folder| match step {
            0 => folder.clone(),
            _ => folder.join(step_folder(step)),
        });
        let budget = self.left().mul_f64(TO_PROVE);
        let run = Ordinary::of(test).map(|ordinary| self.time(&[], &ordinary, BLOCKS_LEAST));
        let run = run.transpose()?.unwrap_or_default() / BLOCKS_LEAST;
        if run * RUNS_TO_PROVE > budget {
            return Ok(Ending::Complete);
        }
        self.test.prove(test, folder.as_deref(), budget, self.stop)
    }

    /// Makes all further runs keep the rate of the first test, for the least cost.
    fn pace(&mut self, ordinary: &Ordinary) -> Result<(), Failure> {
        let conditions = &ordinary.conditions;
        let has_rate = conditions.rate_bps.is_some() || conditions.message_rate.is_some();
        if self.goal == Goal::Rate || has_rate || conditions.workload.is_transactional() {
            return Ok(());
        }
        let rate = 1e6 * ordinary.rate / f64::from(conditions.flows);
        self.test.typed.keep("rate_bps", &format!("{rate:.0}"))
    }

    /// Tries the changes of the bottleneck, and where none gains, all others; first those that turn on what a host has
    /// off. Returns the change that is kept.
    fn stages(&mut self, first: &Findings, ordinary: &Ordinary) -> Result<Option<Candidate>, Over> {
        if self.limiter != ordinary.named {
            self.limiter.clone_from(&ordinary.named);
            self.done.clone_from(&self.kept);
        }
        for stage in 0..2 {
            let test = self.steps.last().and_then(|step| step.test.as_ref());
            let test = test.unwrap_or(first);
            let offered = offers(test, self.goal, stage, &self.done, &|candidate| {
                self.test.possible(ordinary, &candidate.settings)?;
                self.study(&[candidate], ordinary, 1).map(|_| ())
            });
            self.refused.extend(offered.untried);
            let (restoring, others): (Vec<_>, Vec<_>) =
                offered.candidates.into_iter().partition(|one| one.restores);
            for candidates in [restoring, others] {
                if let Some(one) = self.try_all(&candidates, ordinary)? {
                    return Ok(Some(one));
                }
            }
        }
        Ok(None)
    }

    /// Drops losers where there are many changes, and decides among the best, unless one gains so much that the blocks
    /// for dropping show it.
    fn try_all(
        &mut self,
        all: &[Candidate],
        ordinary: &Ordinary,
    ) -> Result<Option<Candidate>, Over> {
        let mut left: Vec<&Candidate> = all.iter().collect();
        let mut least = BLOCKS_LEAST;
        if left.len() > FINALISTS {
            let found = self.screen(&mut left, ordinary)?;
            if let Some(one) = self.won(&left, &found) {
                return Ok(Some(one));
            }
            least = blocks_planned(&found, self.goal);
            let mut names = screened(&found, self.goal);
            left.retain(|one| names.contains(&one.label));
            while names.len() > 1
                && self.time(&left, ordinary, least)? > self.left().mul_f64(TO_DECIDE)
            {
                names.pop();
                left.retain(|one| names.contains(&one.label));
            }
        }
        if left.is_empty() {
            return Ok(None);
        }
        self.check_time(&left, ordinary, least)?;
        output::say(&format!("deciding about {}", labels(&left)));
        let found = self.round(&left, ordinary, BLOCKS_MOST)?;
        match self.won(&left, &found) {
            None if found.iter().any(|one| one.blocks < BLOCKS_LEAST) => {
                Err(Over::Ended(Ending::Complete))
            }
            won => Ok(won),
        }
    }

    /// Ends the steps where the remaining time is too short for these changes, and says how long a budget is not.
    fn check_time(
        &self,
        changes: &[&Candidate],
        ordinary: &Ordinary,
        blocks: u32,
    ) -> Result<(), Over> {
        let needed = self.time(changes, ordinary, blocks)?;
        if needed <= self.left() {
            return Ok(());
        }
        // Of a longer budget the screening takes its share, too.
        let more = (needed - self.left()).div_f64(1.0 - TO_SCREEN[1]);
        output::say(&format!(
            "the remaining time is too short to decide about {}; use --budget {} or more",
            labels(changes),
            show_duration(self.test.arguments.budget.unwrap_or(BUDGET) + more)
        ));
        Err(Over::Ended(Ending::Complete))
    }

    /// The round that drops losers, of as many changes as there is time for.
    fn screen(
        &mut self,
        left: &mut Vec<&Candidate>,
        ordinary: &Ordinary,
    ) -> Result<Vec<Measured>, Over> {
        let mut blocks = SCREENING_BLOCKS;
        if self.time(left, ordinary, blocks)? > self.left().mul_f64(TO_SCREEN[0]) {
            blocks = 1;
        }
        while left.len() > FINALISTS
            && self.time(left, ordinary, blocks)? > self.left().mul_f64(TO_SCREEN[1])
        {
            left.pop();
        }
        self.check_time(left, ordinary, blocks)?;
        output::say(&format!(
            "trying {}, {} left",
            counted(left.len(), "change"),
            show_duration(self.left())
        ));
        self.round(left, ordinary, blocks)
    }

    /// The change that a round keeps. Those that do not gain are left out of further rounds at the same limiter.
    fn won(&mut self, candidates: &[&Candidate], found: &[Measured]) -> Option<Candidate> {
        let losers = found.iter().filter(|one| !one.may_gain(self.goal));
        self.done.extend(losers.map(|one| one.label.clone()));
        let won = winner(found, self.goal)?;
        let mut candidates = candidates.iter();
        let one = candidates.find(|one| one.label == won.label)?;
        Some((*one).clone())
    }

    /// The runs of one round.
    fn round(
        &mut self,
        candidates: &[&Candidate],
        ordinary: &Ordinary,
        blocks: u32,
    ) -> Result<Vec<Measured>, Over> {
        let step = self.steps.len() - 1;
        let study = self.study(candidates, ordinary, blocks)?;
        let plan = study.plan(new_seed()?, Lengths::default());
        let goal = self.goal;
        let is_enough = move |found: &Findings| blocks == BLOCKS_MOST && is_decided(found, goal);
        let until = Until {
            budget: self.left(),
            is_enough: &is_enough,
        };
        let folder = round_folder(step, self.steps[step].rounds.len() + 1);
        let (began, planned) = (Instant::now(), plan.total_time());
        let (ending, round) = match self.follow((&study, &plan), &folder, Some(until)) {
            Ok(executed) => executed,
            Err(why) => {
                output::say(&format!("the round failed: {why}"));
                return Err(Over::Ended(Ending::Complete));
            }
        };
        if blocks <= SCREENING_BLOCKS {
            let took = began.elapsed().as_secs_f64() / planned.as_secs_f64();
            self.overrun = took.max(1.0);
        }
        let (found, _) = measured(&round);
        self.steps[step].rounds.push(round);
        match ending {
            Ending::Complete => Ok(found),
            Ending::Interrupted => Err(Over::Ended(ending)),
        }
    }

    fn follow(
        &self,
        study: (&Study, &Plan),
        folder: &str,
        until: Option<Until>,
    ) -> Result<(Ending, Findings), ExecuteError> {
        let place = (self.folder.as_deref(), folder);
        let executed = self.test.follow(study, place, until, self.stop)?;
        Ok((executed.ending?, executed.findings?))
    }

    /// The study of a round.
    fn study(
        &self,
        candidates: &[&Candidate],
        ordinary: &Ordinary,
        blocks: u32,
    ) -> Result<Study, Invalid> {
        let name = format!("improve-{}", self.goal.name());
        let levels = candidates
            .iter()
            .map(|one| (one.label.as_str(), &one.settings));
        self.test
            .round(ordinary, (&name, QUESTION), (FACTOR, levels), blocks)
    }

    /// The time of a round.
    fn time(
        &self,
        candidates: &[&Candidate],
        ordinary: &Ordinary,
        blocks: u32,
    ) -> Result<Duration, Failure> {
        let study = self.study(candidates, ordinary, blocks)?;
        let planned = study.plan(0, Lengths::default()).total_time();
        Ok(planned.mul_f64(self.overrun))
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Makes a change a part of all further steps.
    fn keep(&mut self, candidate: &Candidate) -> Result<(), Failure> {
        output::say(&format!("kept: {}", candidate.label));
        self.done.push(candidate.label.clone());
        self.kept.push(candidate.label.clone());
        for (name, value) in &candidate.settings {
            let merged = self.test.typed.merged(name, value);
            self.test.typed.keep(name, &merged)?;
        }
        Ok(())
    }
}

/// `bbr, cubic`.
fn labels(candidates: &[&Candidate]) -> String {
    let labels: Vec<&str> = candidates.iter().map(|one| one.label.as_str()).collect();
    labels.join(", ")
}
