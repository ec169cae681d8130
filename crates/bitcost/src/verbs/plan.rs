//! `bitcost plan`: every run of a study in its order, and how long it takes; runs nothing.

use std::time::Duration;

use bitcost_model::plan::Plan;
use bitcost_model::units::{counted, show_duration};
use bitcost_study::Study;

use bitcost_execute::{Destination, Programs, calibration_time};

use crate::failure::Failure;
use crate::options::against;
use crate::options::hosts::StudyHosts;
use crate::options::lab::say_warnings;
use crate::options::order::{Order, new_seed};
use crate::options::services::Asked;
use crate::options::slow::refuse_slow;
use crate::output;
use crate::studies::find;

/// Indent of further lines, where the terminal is narrow.
const HANGING: usize = 4;

/// Which study and how long.
#[derive(clap::Args)]
pub struct Arguments {
    /// Study: the name of an embedded one (`bitcost studies`), or the path of a study file (.toml)
    study: String,
    #[command(flatten)]
    against: against::Held,
    #[command(flatten)]
    order: Order,
    #[command(flatten)]
    hosts: StudyHosts,
}

/// Prints the plan.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let study = arguments.against.apply(find(&arguments.study)?)?;
    let (mut study, lengths) = arguments.order.apply(study)?;
    let destination = arguments.hosts.destination(&mut study, Asked::name)?;
    let seed = arguments.order.seed.map_or_else(new_seed, Ok)?;
    let plan = study.plan(seed, lengths);
    for cell in &plan.cells {
        refuse_slow(&cell.conditions, Some(study.lab.mtu_bytes), "rate_bps")?;
    }
    // A plan starts nothing, not even what the study names.
    let programs = Programs::open(&plan)?;
    destination.check(&study)?;
    if study.lab.running.is_none() {
        say_warnings(&destination.warnings(&study, &plan));
    }
    let calibration = match destination {
        Destination::Lab => calibration_time(&study, &plan),
        Destination::Hosts(_) => Duration::ZERO,
    };
    let place = destination.phrase(&study);
    let mut unchecked = destination.unchecked().to_owned();
    if programs.others().next().is_some() {
        unchecked += ", and whether the programs that are named are a bitcost";
    }
    output::folded(
        &text(&study, &plan, place, &unchecked, calibration),
        HANGING,
    )
}

fn text(
    study: &Study,
    plan: &Plan,
    place: Option<String>,
    unchecked: &str,
    calibration: Duration,
) -> String {
    let mut text = format!("{}: {}\n", study.name, study.question);
    text.extend(place.map(|place| format!("{place}\n")));
    text += "\n  run  block  measured  cell\n";
    for run in &plan.runs {
        let cell = &plan.cells[run.cell];
        let seconds = f64::from(cell.conditions.duration_ms) / 1000.0;
        text += &format!(
            "{:5}  {:5}  {seconds:6} s  {}\n",
            run.index + 1,
            run.block + 1,
            cell.name()
        );
    }
    text + "\n" + &whole(study, plan, unchecked, calibration)
}

/// What comes to what: the runs, the time that they take, and what is not checked yet.
fn whole(study: &Study, plan: &Plan, unchecked: &str, calibration: Duration) -> String {
    let before = if calibration.is_zero() {
        String::new()
    } else {
        format!(" after about {} of calibration", show_duration(calibration))
    };
    let (most, least) = match study.is_auto() {
        true => ("at most ", format!("{} to ", study.blocks)),
        false => ("", String::new()),
    };
    format!(
        "{most}{}: {} in {least}{}; {most}about {}{before}; random order of seed {} (--seed {} repeats it)\nchecked like a run; only a run can check {unchecked}\n",
        counted(plan.runs.len(), "run"),
        counted(plan.cells.len(), "cell"),
        counted(plan.blocks as usize, "block"),
        show_duration(plan.total_time()),
        plan.seed,
        plan.seed
    )
}
