//! `bitcost improve`: a test, and then what makes it better.

use std::time::Duration;

use bitcost_execute::Experiment;
use bitcost_model::conditions::Direction;
use bitcost_model::search::Goal;

use super::arguments::Arguments;
use super::described::Test;
use super::make;
use crate::failure::Failure;
use crate::options::run::setting;
use crate::options::settings::ENDS;

/// Most time of everything after the first test.
const BUDGET: Duration = Duration::from_secs(60);

/// Measured time of the test of a step, if the options have none.
const USUAL_DURATION: &str = "2s";

/// Makes the first test and the steps, and prints the ladder.
pub fn run(mut options: Arguments) -> Result<(), Failure> {
    let given = &mut options.run.settings.0;
    // It is no setting of the runs, which search nothing.
    let goal = given
        .iter()
        .rfind(|(setting, _)| setting.name == "search_for");
    let goal = match goal.is_some_and(|(_, goal)| goal == Goal::Cost.name()) {
        true => Goal::Cost,
        false => Goal::Rate,
    };
    given.retain(|(setting, _)| setting.name != "search_for");
    if !given.iter().any(|(of, _)| ENDS.contains(&of.name)) {
        given.extend(setting("duration_s", USUAL_DURATION));
    }
    let test = Test::new(&options)?;
    refuse_conditions(goal, &test)?;
    let budget = options.budget.unwrap_or(BUDGET);
    make(&test, Some(Experiment::Improve(goal, budget)))
}

/// Refuses conditions in which a step cannot be compared with the next.
fn refuse_conditions(goal: Goal, test: &Test) -> Result<(), Failure> {
    let (arguments, conditions) = (test.arguments, &test.study.base);
    let has_cost = conditions.direction != Direction::Both && conditions.background.is_empty();
    let why = if arguments.prove {
        "--prove cannot be used with `improve`, whose experiments show what makes the test better"
    } else if arguments.against.is_given()
        || arguments.gates.is_given()
        || arguments.judging.fail_on.is_some()
    {
        "--against, --fail-on, --fail-under and --fail-over-cost are for `bitcost test`; `improve` compares each change itself"
    } else if arguments.timestamps {
        "--timestamps is for the lines of seconds, which `improve` does not print"
    } else if conditions.bound().is_some() {
        "the runs of `improve` end after a time; leave out the number of bytes, messages or transactions"
    } else if test.study.until.is_some() {
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
