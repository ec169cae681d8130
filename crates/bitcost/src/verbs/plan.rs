//! `bitcost plan`: every run of a study in its order, and how long it takes; touches nothing.

use std::time::Duration;

use model::plan::Plan;
use model::study::Study;
use model::units::{counted, show_duration};

use super::against;
use super::run::{Order, new_seed};
use super::where_to::{self, Where};
use crate::failure::Failure;
use crate::programs::Programs;
use crate::studies::find;
use crate::{calibration, output};

/// Which study and how long.
#[derive(clap::Args)]
pub struct Arguments {
    /// An embedded study's name, or the path of a study file
    study: String,
    #[command(flatten)]
    against: against::Held,
    #[command(flatten)]
    order: Order,
    #[command(flatten)]
    place: where_to::Place,
}

/// Prints the plan.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let study = arguments.against.apply(find(&arguments.study)?)?;
    let lengths = arguments.order.lengths(&study)?;
    let seed = arguments.order.seed.map_or_else(new_seed, Ok)?;
    let plan = Plan::new(&study, seed, lengths);
    Programs::open(&plan)?;
    let place = arguments.place.asked()?;
    place.say_lints(&study, &plan);
    let calibration = match place {
        Where::Lab => calibration::time(&study, &plan),
        Where::Hosts(_) => Duration::ZERO,
    };
    output::print(&text(&study, &plan, place.phrase(&study), calibration))
}

fn text(study: &Study, plan: &Plan, place: Option<String>, calibration: Duration) -> String {
    let mut text = format!("{}: {}\n", study.name, study.question);
    text.extend(place.map(|place| format!("{place}\n")));
    let before = if calibration.is_zero() {
        String::new()
    } else {
        format!(" after about {} of calibration", show_duration(calibration))
    };
    text += &format!(
        "{}: {} in {}; about {}{before}; order by seed {} (--seed {} gives it again)\n\n",
        counted(plan.runs.len(), "run"),
        counted(plan.cells.len(), "cell"),
        counted(plan.blocks as usize, "block"),
        show_duration(plan.total_time()),
        plan.seed,
        plan.seed
    );
    text += "  run  block  measured  cell\n";
    for run in &plan.runs {
        let cell = &plan.cells[run.cell];
        let seconds = f64::from(cell.conditions.duration_ms) / 1000.0;
        text += &format!("{:5}  {:5}  {seconds:6} s  {}\n", run.index + 1, run.block + 1, cell.name());
    }
    text
}
