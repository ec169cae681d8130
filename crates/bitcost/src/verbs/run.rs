//! `bitcost run`: a study executed from its first run to its table.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use bitcost_analysis::compare::of_study;
use bitcost_controller::Ending;
use bitcost_execute::store::USUAL_PARENT;
use bitcost_execute::{Executed, Logged, Start};
use bitcost_study::Study;

use crate::failure::Failure;
use crate::format::Look;
use crate::opened::report_cut;
use crate::options::judging::Judging;
use crate::options::order::{Order, new_seed};
use crate::options::place::Place;
use crate::options::slow::refuse_slow;
use crate::options::{PROFILE, against};
use crate::outcome::{check, say_answer};
use crate::output;
use crate::progress::{Live, execute};
use crate::signals::stop_on_signals;

#[derive(clap::Args)]
pub struct Arguments {
    /// Study: the name of an embedded one (`bitcost studies`), or the path of a study file (.toml)
    #[arg(required_unless_present = "resume")]
    study: Option<String>,
    #[command(flatten)]
    against: against::Held,
    #[command(flatten)]
    judging: Judging,
    #[command(flatten)]
    order: Order,
    #[arg(long, help = PROFILE)]
    profile: bool,
    /// Parent of the folder that is created for the execution
    #[arg(long, value_name = "FOLDER", default_value = USUAL_PARENT)]
    out: PathBuf,
    /// Resume the interrupted execution in this folder, and run only what is missing
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["study", "against", "blocks", "until_interval", "duration", "budget", "like_the_document", "ci", "seed", "out", "profile", "hosts", "slurm", "kubernetes", "network_device"])]
    resume: Option<PathBuf>,
    /// With --resume: accept a log that another user owns or can write, and ssh configurations of
    /// other users. Agents are then started on the hosts that the log names, with your privileges
    #[arg(long, requires = "resume")]
    trust: bool,
    /// Do not measure what copying a KiB and a packet cost on the hosts before the first run
    #[arg(long)]
    no_calibration: bool,
    /// Show a panel meanwhile: both ends, queues, what limits so far
    #[arg(long)]
    live: bool,
    #[command(flatten)]
    look: Look,
    // The last, so that others are not below its heading.
    #[command(flatten)]
    place: Place,
}

/// Runs the study, or its missing runs.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    arguments.look.check()?;
    let stop = stop_on_signals()?;
    let executed = match &arguments.resume {
        Some(folder) => resume(folder, &arguments, &stop)?,
        None => start(&arguments, &stop)?,
    };
    let folder = executed.folder.unwrap_or_default();
    let ending = executed
        .ending
        .inspect_err(|_| say_how_to_resume(&folder))?;
    let mut findings = executed.findings?;
    let judging = &arguments.judging;
    findings.comparison = of_study(&findings, judging.threshold);
    let printed = arguments.look.print(std::slice::from_ref(&findings));
    say_answer(&findings, &arguments.look);
    if ending == Ending::Interrupted {
        say_how_to_resume(&folder);
    }
    // If standard output cannot be written, the lines above still name the log, which is complete.
    printed?;
    if ending == Ending::Interrupted {
        return Err(Failure::Interrupted);
    }
    check(&findings)?;
    let comparison = findings.comparison.as_ref();
    comparison.map_or(Ok(()), |comparison| judging.check(comparison))
}

/// Refuses --fail-on for a study that compares nothing.
fn check_compares(study: &Study, judging: &Judging) -> Result<(), Failure> {
    if judging.fail_on.is_some() && study.compare.is_none() {
        let name = &study.name;
        return Err(Failure::Usage(format!(
            "--fail-on needs a comparison; study {name} has none; add --against, or use `bitcost compare OLD NEW`"
        )));
    }
    Ok(())
}

fn say_how_to_resume(folder: &Path) {
    output::say_whole(&format!(
        "resume: bitcost run --resume {}",
        output::shell_word(folder)
    ));
}

fn start(arguments: &Arguments, stop: &AtomicBool) -> Result<Executed, Failure> {
    let name = arguments.study.as_deref().unwrap_or_default();
    let (study, cluster) = arguments.place.study(name)?;
    let study = arguments.against.apply(study)?;
    check_compares(&study, &arguments.judging)?;
    let (mut study, lengths) = arguments.order.apply(study)?;
    study.is_profiled |= arguments.profile;
    study.check_mesh(lengths)?;
    let destination = arguments.place.destination(&mut study, cluster)?;
    let seed = arguments.order.seed.map_or_else(new_seed, Ok)?;
    let plan = study.plan(seed, lengths);
    let look = &arguments.look;
    look.check_test(plan.runs.len() > 1, &study.base)?;
    for cell in &plan.cells {
        refuse_slow(&cell.conditions, Some(study.lab.mtu_bytes), "rate_bps")?;
    }
    let start = Start {
        measures_constants: !arguments.no_calibration,
        out: Some(&arguments.out),
        ..Start::new(&study, &plan, &destination, output::command_line())
    };
    execute(start, arguments.live, stop, &mut Live::default())
}

fn resume(folder: &Path, arguments: &Arguments, stop: &AtomicBool) -> Result<Executed, Failure> {
    let log = Logged::read(folder)?;
    report_cut(&log.end);
    check_compares(&log.study, &arguments.judging)?;
    let look = &arguments.look;
    look.check_test(log.plan.runs.len() > 1, &log.study.base)?;
    let destination = log.destination(arguments.place.of_logged(&log)?)?;
    let mut progress = Live::default();
    log.check_trust(&destination, arguments.trust, &mut progress)?;
    let start = Start {
        measures_constants: !arguments.no_calibration,
        log: Some(&log),
        ..Start::new(&log.study, &log.plan, &destination, output::command_line())
    };
    execute(start, arguments.live, stop, &mut progress)
}
