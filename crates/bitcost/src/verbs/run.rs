//! `bitcost run`: a study executed from its first run to its table.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use drive::{Ending, Session};
use live::View;
use model::event::{EndDescription, Event, FORMAT};
use model::plan::{Lengths, Plan, blocks_within};
use model::study::{Study, UntilInterval};
use model::units::{counted, parse_duration};
use report::compare::of_study;
use report::{Precision, Summary};
use store::{Damaged, LogFile, Writer};

use super::judging::Judging;
use super::logged::Logged;
use super::where_to::{self, Where};
use super::{against, explain, resuming};
use crate::calibration::{self, Asked};
use crate::failure::Failure;
use crate::format::Look;
use crate::labs::Backend;
use crate::opened::{Opened, report_cut};
use crate::programs::{self, Programs};
use crate::{output, studies};

/// How long, and in which order.
#[derive(clap::Args)]
pub struct Order {
    /// Randomised complete blocks: every cell once in each
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    blocks: Option<u32>,
    /// The measured window of each run, such as 2s or 500ms
    #[arg(long, value_name = "TIME", value_parser = parse_window)]
    duration: Option<Duration>,
    /// As many blocks as fit into this time, such as 10m
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "blocks")]
    budget: Option<Duration>,
    /// The document's own durations and counts
    #[arg(long, visible_alias = "like-the-paper", conflicts_with_all = ["blocks", "duration", "budget"])]
    like_the_document: bool,
    /// The study's short form, for a check on every change
    #[arg(long, conflicts_with_all = ["blocks", "duration", "budget", "like_the_document"])]
    ci: bool,
    /// The seed of the order; the same seed gives the same order on any machine
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// What to run.
#[derive(clap::Args)]
pub struct Arguments {
    /// An embedded study's name, or the path of a study file
    #[arg(required_unless_present = "resume")]
    study: Option<String>,
    #[command(flatten)]
    against: against::Held,
    #[command(flatten)]
    judging: Judging,
    #[command(flatten)]
    order: Order,
    #[command(flatten)]
    place: where_to::Place,
    /// The folder that gets a folder for this execution
    #[arg(long, value_name = "FOLDER", default_value = "bitcost-runs")]
    out: PathBuf,
    /// Go on with the execution in this folder: run what is missing
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["blocks", "duration", "budget", "like_the_document", "ci", "seed", "out"])]
    resume: Option<PathBuf>,
    /// With --resume: go on also where the folder, its log, or a program or ssh configuration that it names belongs to another
    /// user; what the log names is started with your rights
    #[arg(long, requires = "resume")]
    trust: bool,
    /// Do not measure before the first run what the lab's path carries
    #[arg(long)]
    no_calibration: bool,
    #[command(flatten)]
    backend: Backend,
    #[command(flatten)]
    look: Look,
}

impl Arguments {
    fn calibration(&self) -> Asked {
        match (self.no_calibration, self.order.ci) {
            (true, _) => Asked::Nothing,
            (false, true) => Asked::Short,
            (false, false) => Asked::Usual,
        }
    }
}

fn parse_window(text: &str) -> Result<Duration, String> {
    let window = parse_duration(text)?;
    if (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(&window) {
        return Ok(window);
    }
    Err(format!("`{text}` is no measured window; allowed: 100ms to 1h"))
}

impl Order {
    /// What the command line changes of the study's lengths.
    ///
    /// # Errors
    /// Usage, when the study has no such form, or that makes more runs than a plan can have.
    pub fn lengths(&self, study: &Study) -> Result<Lengths, Failure> {
        let lengths = self.asked(study)?;
        lengths.check(study).map_err(Failure::Usage)?;
        Ok(lengths)
    }

    fn asked(&self, study: &Study) -> Result<Lengths, Failure> {
        let named = [
            (self.like_the_document, study.like_the_document, "lengths of a document ([run] like_the_document)"),
            (self.ci, study.ci, "short form ([run] ci)"),
        ];
        if let Some((_, length, what)) = named.into_iter().find(|(asked, _, _)| *asked) {
            let missing = || Failure::Usage(format!("the study {} has no {what}", study.name));
            return length.map(Lengths::from).ok_or_else(missing);
        }
        let most = study.until.as_ref().map(|until| until.max_blocks);
        let duration_ms = self.duration.map(|duration| duration.as_millis() as u32);
        let lengths = Lengths { blocks: self.blocks.or(most), duration_ms, counts_pct: None };
        match self.budget {
            Some(budget) => {
                let blocks = blocks_within(study, lengths, budget).map_err(Failure::Usage)?;
                Ok(Lengths { blocks: Some(most.map_or(blocks, |most| most.min(blocks))), ..lengths })
            }
            None => Ok(lengths),
        }
    }
}

/// A seed that nobody chose, short enough to type.
pub fn new_seed() -> Result<u64, Failure> {
    let mut bytes = [0; 4];
    let random = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    random.map_err(|error| {
        Failure::Environment(format!("cannot read /dev/urandom: {error}; choose a seed with --seed"))
    })?;
    Ok(u64::from(u32::from_le_bytes(bytes)))
}

/// Runs the study or what is missing of it.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    arguments.look.check()?;
    let stop = stop_on_signals()?;
    let (folder, ending) = match &arguments.resume {
        Some(folder) => resume(folder, &arguments, &stop)?,
        None => begin(&arguments, &stop)?,
    };
    let opened = Opened::open(&folder)?;
    let execution = opened.execution()?;
    let threshold = arguments.judging.threshold;
    let printed = output::form(&match arguments.look.is_html() {
        true => arguments.look.render(std::slice::from_ref(&opened), threshold)?,
        false => arguments.look.render_read(std::slice::from_ref(&execution), threshold)?,
    });
    explain::say(&execution, &folder);
    output::say(&format!("log: {}", folder.join(store::LOG_NAME).display()));
    output::say(&format!("again: bitcost show {}", output::shell_word(&folder)));
    if ending == Ending::Interrupted {
        say_how_to_go_on(&folder);
    }
    // Where standard output cannot be written, the lines above still name the log, which is whole.
    printed?;
    match ending {
        Ending::Interrupted => Err(Failure::Interrupted),
        Ending::Complete => {
            check(&execution.summary)?;
            let compared = of_study(&execution, arguments.judging.threshold);
            compared.map_or(Ok(()), |comparison| arguments.judging.check(&comparison))
        }
    }
}

/// Nothing can be worse where nothing is compared.
fn check_compares(study: &Study, judging: &Judging) -> Result<(), Failure> {
    if judging.fail_on.is_some() && study.compare.is_none() {
        let name = &study.name;
        return Err(Failure::Usage(format!(
            "--fail-on is of a comparison, and the study {name} makes none; add --against, or use `bitcost compare OLD NEW`"
        )));
    }
    Ok(())
}

fn say_how_to_go_on(folder: &Path) {
    output::say(&format!("go on: bitcost run --resume {}", output::shell_word(folder)));
}

/// An execution whose every run has its place in a cell is a success.
fn check(summary: &Summary) -> Result<(), Failure> {
    match summary.excluded.len() {
        0 => Ok(()),
        1 => Err(Failure::Check("1 run was left out; the reason stands above".into())),
        left_out => Err(Failure::Check(format!("{left_out} runs were left out; the reasons stand above"))),
    }
}

/// The first SIGINT or SIGTERM ends the present run; a second one ends the program.
pub fn stop_on_signals() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, stop.clone())
            .and_then(|_| signal_hook::flag::register(signal, stop.clone()))
            .map_err(|error| Failure::Environment(format!("cannot catch signal {signal}: {error}")))?;
    }
    Ok(stop)
}

fn begin(arguments: &Arguments, stop: &AtomicBool) -> Result<(PathBuf, Ending), Failure> {
    let name = arguments.study.as_deref().unwrap_or_default();
    let mut study = arguments.against.apply(studies::find(name)?)?;
    check_compares(&study, &arguments.judging)?;
    let lengths = arguments.order.lengths(&study)?;
    let seed = arguments.order.seed.map_or_else(new_seed, Ok)?;
    let plan = Plan::new(&study, seed, lengths);
    let place = arguments.place.asked()?;
    if matches!(place, Where::Hosts(_)) {
        arguments.backend.refuse("is for labs; leave it out between named hosts")?;
    } else {
        arguments.backend.apply_to(&mut study.lab)?;
    }
    place.say_lints(&study, &plan);
    let mut prepared = place.prepare(&study, &plan, Programs::open(&plan)?, stop)?;
    tell(&place, &prepared.notes);
    let stamp = jiff::Zoned::now().strftime("%Y-%m-%dT%H-%M-%S").to_string();
    let writer = Writer::create(&arguments.out, &format!("{stamp}-{}", study.name), plan.runs.len())?;
    let mut output = Output::new(writer);
    output.emit(Event::ExecutionBegan {
        format: FORMAT,
        bitcost_version: env!("CARGO_PKG_VERSION").to_owned(),
        at: drive::now(),
        command_line: command_line(),
        study: study.name.clone(),
        study_text: study.text.clone(),
    })?;
    output.emit(Event::Planned { plan: plan.clone() })?;
    output.emit(place.event(&study, &prepared))?;
    let calibrated = calibration::before(&place, &mut prepared, (&study, &plan), arguments.calibration())?;
    calibrated.map_or(Ok(()), |event| output.emit(event))?;
    output.execute(&mut prepared.session, &study, &plan, &BTreeSet::new())
}

/// Says where it runs, where the user may have meant another place.
fn tell(place: &Where, notes: &[String]) {
    if matches!(place, Where::Hosts(_)) {
        notes.iter().for_each(|note| output::say(&format!("note: {note}")));
    }
}

/// What the study's stop rule says to the blocks that are in the log: enough, once there are as many as the study has at
/// least and the interval is narrow in every cell.
fn enough(study: &Study, folder: &Path) -> impl FnMut(u32) -> Result<bool, String> + use<> {
    let (rule, least, folder) = (study.until.clone(), study.blocks, folder.to_owned());
    move |blocks| {
        let Some(rule) = rule.as_ref().filter(|_| blocks >= least) else { return Ok(false) };
        let precision = precision(&folder, rule)?;
        output::say(&format!("after {}: {}", counted(blocks as usize, "block"), precision.sentence()));
        Ok(precision.is_reached())
    }
}

/// How narrow the intervals of the runs are that are in the log.
fn precision(folder: &Path, rule: &UntilInterval) -> Result<Precision, String> {
    let mut reader = report::Reader::default();
    let mut log = LogFile::open(folder, Damaged::Refuse).map_err(|error| error.to_string())?;
    log.read(&mut |place, event| reader.take(place, &event)).map_err(|error| error.to_string())?;
    reader.precision(rule).map_err(|error| error.to_string())
}

fn command_line() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

fn resume(folder: &Path, arguments: &Arguments, stop: &AtomicBool) -> Result<(PathBuf, Ending), Failure> {
    arguments.backend.refuse("was chosen when the execution began, and stays; leave it out with --resume")?;
    let logged = Logged::read(folder)?;
    report_cut(&logged.end);
    let (mut study, plan) = (logged.study, logged.plan);
    if let Some(name) = &arguments.study {
        same_study(&arguments.against.apply(studies::find(name)?)?, &study)?;
    }
    check_compares(&study, &arguments.judging)?;
    let before = logged.prepared.as_ref();
    // The lab as it was, with what the command line had changed of it.
    if let Some(Event::Prepared { lab: Some(lab), .. }) = before
        && lab.network.is_some()
    {
        study.lab = (**lab).clone();
    }
    let place = arguments.place.again(before)?;
    resuming::allow(&logged.folder, &place, &plan, arguments.trust)?;
    let writer = Writer::resume(&logged.folder, &logged.end)?;
    let programs = resuming::check(before, &place, &plan)?;
    let mut prepared = place.prepare(&study, &plan, programs, stop)?;
    if let Some(Event::Prepared { ends: before, hosts, programs: played, .. }) = before {
        same_machines(before, &prepared.ends, hosts.is_some())?;
        programs::same(played, &prepared.programs)?;
    }
    tell(&place, &prepared.notes);
    let mut output = Output::new(writer);
    output.view.show(&Event::Planned { plan: plan.clone() });
    let done = logged.done;
    output.view.skip(done.iter().copied());
    output.emit(Event::Resumed { at: drive::now(), command_line: command_line() })?;
    if before.is_none() {
        output.emit(place.event(&study, &prepared))?;
    }
    // Runs that are done had their path as it was then.
    if done.is_empty() && !logged.is_calibrated {
        let calibrated = calibration::before(&place, &mut prepared, (&study, &plan), arguments.calibration())?;
        calibrated.map_or(Ok(()), |event| output.emit(event))?;
    }
    output.execute(&mut prepared.session, &study, &plan, &done)
}

fn same_study(named: &Study, logged: &Study) -> Result<(), Failure> {
    if named.text == logged.text {
        return Ok(());
    }
    let pairs = named.text.lines().zip(logged.text.lines());
    let same = pairs.take_while(|(now, was)| now == was).count();
    let line = |study: &Study| study.text.lines().nth(same).unwrap_or("(its end)").to_owned();
    let (line, now, was) = (same + 1, line(named), line(logged));
    Err(Failure::Usage(format!(
        "the study {} is not the one of this execution; line {line}: was `{was}`, is `{now}`; leave the study out to go on with the old one",
        named.name
    )))
}

/// Of hosts that were named the names must be the same, too: like machines are not the same ones.
pub fn same_machines(before: &[EndDescription], now: &[EndDescription], are_named: bool) -> Result<(), Failure> {
    let mut differences = Vec::new();
    for (was, is) in before.iter().zip(now) {
        let (name, end) = (is.role.name(), is.host.differences(&was.host));
        if are_named && was.host.host_name != is.host.host_name {
            let (was, is) = (&was.host.host_name, &is.host.host_name);
            differences.push(format!("  {name}: host name: was {was}, is {is}"));
        }
        differences.extend(end.into_iter().map(|difference| format!("  {name}: {difference}")));
    }
    if differences.is_empty() {
        return Ok(());
    }
    let list = differences.join("\n");
    Err(Failure::Environment(format!("this is not the machine of the execution; start anew instead:\n{list}")))
}

/// Where events go: to the log, and then to the view.
struct Output {
    writer: Writer,
    view: View,
}

impl Output {
    fn new(writer: Writer) -> Output {
        Output { writer, view: View::new(std::io::stderr().is_terminal()) }
    }

    /// Executes what is not in `done`; also where that breaks off it says how to go on.
    fn execute(
        mut self,
        session: &mut Session,
        study: &Study,
        plan: &Plan,
        done: &BTreeSet<u32>,
    ) -> Result<(PathBuf, Ending), Failure> {
        let folder = self.writer.folder().to_owned();
        let ending = session.execute_until(plan, done, &mut |event| self.take(event), &mut enough(study, &folder));
        self.view.end();
        if ending.is_err() {
            say_how_to_go_on(&folder);
        }
        Ok((folder, ending?))
    }

    fn emit(&mut self, event: Event) -> Result<(), Failure> {
        self.writer.append(&event)?;
        self.view.show(&event);
        Ok(())
    }

    fn take(&mut self, event: Event) -> Result<(), String> {
        self.writer.append(&event).map_err(|error| error.to_string())?;
        self.view.show(&event);
        Ok(())
    }
}
