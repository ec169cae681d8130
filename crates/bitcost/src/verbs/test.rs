//! `bitcost test`: one run from the command line, as netperf and iperf3 are used every day.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use drive::Session;
use live::Seconds;
use model::conditions::{Conditions, Direction, Workload};
use model::event::Event;
use model::mode_search::{ModeSearch, Named};
use model::modes::Mode;
use model::place::IpVersion;
use model::plan::Plan;
use model::settings::{Kind, SETTINGS, Setting};
use model::study::{LabSpec, UntilInterval};
use model::topology::Path;

use super::repeats::Repeats;
use super::run::{new_seed, stop_on_signals};
use super::test_output::{Form, Made, Outcome, views};
use crate::failure::Failure;
use crate::hosts::Hosts;
use crate::labs::Backend;
use crate::place::{self, Facts, Prepared};
use crate::{labs, mode_search, output};

/// Which run.
#[derive(clap::Args)]
pub struct Arguments {
    /// What to run
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(Workload::SHORT_NAMES.map(|(name, _)| name)))]
    test: String,
    #[command(flatten)]
    settings: Settings,
    /// IPv4 alone: --ip-version 4
    #[arg(short = '4', conflicts_with_all = ["ipv6", "ip_version"])]
    ipv4: bool,
    /// IPv6 alone: --ip-version 6
    #[arg(short = '6', conflicts_with = "ip_version")]
    ipv6: bool,
    /// Who chooses the modes of both ends: `honest` is plain calls, `auto` measures every pair shortly and
    /// takes the fastest; an end whose mode is named keeps it
    #[arg(long, value_parser = ["honest", "auto"])]
    mode: Option<String>,
    /// Towards the host called sender: --direction reverse
    #[arg(short = 'R', long, conflicts_with_all = ["both", "direction"])]
    reverse: bool,
    /// Both ways at once: --direction both
    #[arg(long, visible_alias = "bidir", conflicts_with = "direction")]
    both: bool,
    #[command(flatten)]
    hosts: Hosts,
    /// MTU of the embedded lab's links, in bytes; 1500 where the lab says none
    #[arg(long, conflicts_with_all = ["sender", "receiver"], value_parser = clap::value_parser!(u32).range(576..=65_535))]
    mtu: Option<u32>,
    /// The lab: an embedded one's name (`bitcost lab presets`), or the path of a lab file (.toml) or a MiniEdit file (.mn)
    #[arg(long, default_value = "wire", conflicts_with_all = ["sender", "receiver"])]
    topology: String,
    #[command(flatten)]
    repeats: Repeats,
    #[command(flatten)]
    backend: Backend,
    #[command(flatten)]
    form: Form,
}

/// The settings that were named, as they were typed.
struct Settings(Vec<(&'static Setting, String)>);

impl clap::Args for Settings {
    fn augment_args(command: Command) -> Command {
        SETTINGS.iter().filter_map(argument).fold(command, Command::arg)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// The option of a setting, from its row.
fn argument(setting: &'static Setting) -> Option<Arg> {
    let flag = setting.flag?;
    let argument = Arg::new(setting.name).long(flag.long).help(setting.about).help_heading("Settings");
    let argument = match flag.letter {
        Some(letter) => argument.short(letter),
        None => argument,
    };
    Some(match setting.kind {
        Kind::Switch => argument
            .value_name(value_name(Kind::Switch))
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true"),
        Kind::Parts => argument.value_name(value_name(Kind::Parts)).action(ArgAction::Append),
        // A value such as -1 is refused by its setting, which says what is allowed.
        kind => argument.value_name(value_name(kind)).allow_negative_numbers(true),
    })
}

fn value_name(kind: Kind) -> String {
    match kind {
        Kind::Bytes(..) => "BYTES".to_owned(),
        Kind::Rate(..) => "RATE".to_owned(),
        Kind::Whole(..) => "N".to_owned(),
        Kind::Time(..) => "TIME".to_owned(),
        Kind::Word(words) => words.join("|"),
        Kind::Name => "NAME".to_owned(),
        Kind::Form(word, ..) => word.to_owned(),
        Kind::Knob(syntax) => syntax.word.to_owned(),
        Kind::Switch => "true|false".to_owned(),
        Kind::Parts => "\"WORKLOAD OPTION=VALUE …\"".to_owned(),
    }
}

impl FromArgMatches for Settings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Settings, clap::Error> {
        let typed = |setting: &'static Setting| {
            let words = matches.get_many::<String>(setting.name).into_iter().flatten();
            words.map(move |word| (setting, word.clone()))
        };
        Ok(Settings(SETTINGS.iter().filter(|setting| setting.flag.is_some()).flat_map(typed).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Settings::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Makes the run and prints its result.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let stop = stop_on_signals()?;
    let mut lab = (!arguments.hosts.are_named()).then(|| labs::spec(&arguments.topology, arguments.mtu)).transpose()?;
    lab.iter_mut().try_for_each(|lab| arguments.backend.apply_to(lab))?;
    // What fits the interfaces of named hosts is known only later.
    let lab_mtu = lab.as_ref().map_or(u32::from(u16::MAX), |lab| lab.mtu_bytes);
    let mut asked = conditions(arguments, lab_mtu)?;
    size_buffers(&mut asked, lab.as_ref())?;
    labs::say_lints(lab.as_ref(), [&asked]);
    let is_repeated = arguments.repeats.rule(&asked)?.is_some();
    arguments.form.check(is_repeated, &asked)?;
    search(arguments, &asked, lab_mtu)?;
    let prepared = prepare(arguments, lab.as_ref(), &asked, &stop)?;
    prepared.notes.iter().for_each(|note| output::say(&format!("note: {note}")));
    let (facts, is_one_host) = (prepared.facts(), prepared.is_one_host());
    let Prepared { mut session, ends, .. } = prepared;
    let mtu = ends.iter().map(|end| end.host.device.mtu_bytes).min().unwrap_or(lab_mtu);
    let mut conditions = conditions(arguments, mtu)?;
    size_buffers(&mut conditions, lab.as_ref())?;
    if is_one_host {
        model::one_host::check(&conditions).map_err(Failure::Usage)?;
    }
    let rule = arguments.repeats.rule(&conditions)?;
    let mut search = search(arguments, &conditions, mtu)?;
    if let Some(search) = &mut search {
        output::say(&format!("trying {} pairs of modes", search.candidates.len()));
        mode_search::search(&mut session, search, facts)?;
        let taken = search.chosen().map(|pair| (pair.send_mode, pair.receive_mode)).unwrap_or_default();
        (conditions.send_mode, conditions.receive_mode) = taken;
        let found = report::mode_search_text(search);
        if arguments.form.is_text() { output::print(&found)? } else { output::say(found.trim_end()) }
    }
    let runs = match &rule {
        Some((least, rule)) => repeat(&mut session, &conditions, facts, *least, rule, arguments.form)?,
        None => vec![one_run(&mut session, &conditions, arguments.form)?],
    };
    let outcome = Outcome {
        test: &arguments.test,
        conditions: &conditions,
        facts,
        runs: &runs,
        rule: rule.as_ref().map(|(_, rule)| rule),
        search: search.as_ref(),
        lab: lab.as_ref(),
        ends: &ends,
    };
    outcome.print(arguments.form)
}

/// Gives TCP the room that is asked for on the path of the lab.
fn size_buffers(conditions: &mut Conditions, lab: Option<&LabSpec>) -> Result<(), Failure> {
    let bdp = lab.and_then(LabSpec::path).as_ref().and_then(Path::bdp_bytes);
    conditions.size_buffers(bdp).map_err(Failure::Usage)
}

/// Starts the agents: on the hosts that were named, else in the embedded lab.
fn prepare<'a>(
    arguments: &Arguments,
    lab: Option<&LabSpec>,
    conditions: &Conditions,
    stop: &'a AtomicBool,
) -> Result<Prepared<'a>, Failure> {
    if let Some(named) = arguments.hosts.named(None)? {
        arguments.backend.refuse("is for labs; leave it out between named hosts")?;
        if conditions.emulator_queue_limit.is_some() {
            let why = "--emulator-queue-limit is for labs; leave it out between named hosts";
            return Err(Failure::Usage(why.to_owned()));
        }
        return named.prepare(&conditions.places, &std::sync::Arc::default(), stop);
    }
    let Some(lab) = lab else { return Err(Failure::Usage("no lab and no hosts are named".to_owned())) };
    place::check_cpus(conditions)?;
    conditions.check_in_lab(lab.mtu_bytes).map_err(Failure::Usage)?;
    Ok(place::embedded(lab, &std::sync::Arc::default(), false)?.prepare(stop)?)
}

/// Makes the run again until the rule is kept, or as often as it allows.
fn repeat(
    session: &mut Session,
    conditions: &Conditions,
    facts: Facts,
    least: u32,
    rule: &UntilInterval,
    form: Form,
) -> Result<Vec<Made>, Failure> {
    let mut all: Vec<Made> = Vec::new();
    loop {
        all.push(one_run(session, conditions, form)?);
        let runs = views(&all, conditions, facts);
        let made = runs.len() as u32;
        let width = report::width_over_runs_pct(&runs, &rule.metric);
        let shown = width.map_or("not known yet".to_owned(), |width| format!("{width:.1} % of it"));
        output::say(&format!(
            "after {made} of at most {} runs: interval of the median of {}: {shown}",
            rule.max_blocks, rule.metric
        ));
        let narrow = width.is_some_and(|width| width < rule.width_pct);
        if made >= rule.max_blocks || (made >= least && narrow) {
            return Ok(all);
        }
    }
}

/// Makes the run, with a line each second.
fn one_run(session: &mut Session, conditions: &Conditions, form: Form) -> Result<Made, Failure> {
    let mut seconds = Seconds::of(conditions);
    let mut outcome = Err(Failure::Interrupted);
    let at = drive::now();
    let mut printed = Ok(());
    let mut take = |event: Event| {
        match seconds.line(&event) {
            Some(line) if form.is_text() => printed = output::line(&line),
            Some(line) => output::say(&line),
            None => {}
        }
        match event {
            Event::RunEnded { sender, receiver, start_uncertainty_us, .. } => {
                outcome = Ok(Made { at: at.clone(), start_uncertainty_us, sender, receiver });
            }
            Event::RunFailed { reason, .. } => outcome = Err(Failure::Check(reason)),
            _ => {}
        }
        printed.as_ref().map(drop).map_err(|_| "standard output cannot be written".to_owned())
    };
    let ending = session.execute(&Plan::of_one(conditions.clone()), &BTreeSet::new(), &mut take);
    printed?;
    let ending = ending?;
    if ending == drive::Ending::Interrupted {
        return Err(Failure::Interrupted);
    }
    outcome
}

/// The search for the fastest modes, where the run asks for one.
fn search(arguments: &Arguments, conditions: &Conditions, mtu: u32) -> Result<Option<ModeSearch>, Failure> {
    let named = |name: &str| arguments.settings.0.iter().any(|(setting, _)| setting.name == name);
    match arguments.mode.as_deref() {
        Some("auto") if conditions.workload.is_transactional() => {
            Err(Failure::Usage(format!("--mode auto is for tcp and udp; {} has no fast modes", arguments.test)))
        }
        Some("auto") => {
            let named = Named { send_mode: named("send_mode"), receive_mode: named("receive_mode") };
            Ok(Some(ModeSearch::new(conditions, named, mtu, new_seed()?)))
        }
        Some(_) if (conditions.send_mode, conditions.receive_mode) != (Mode::Plain, Mode::Plain) => {
            Err(Failure::Usage(
                "--mode honest is plain calls at both ends; leave out --send-mode and --receive-mode".into(),
            ))
        }
        _ => Ok(None),
    }
}

fn conditions(arguments: &Arguments, mtu: u32) -> Result<Conditions, Failure> {
    let named = Workload::SHORT_NAMES.into_iter().find(|(name, _)| *name == arguments.test);
    let workload = named.map_or(Workload::TcpStream, |(_, workload)| workload);
    let mut conditions = Conditions::of(workload);
    if workload == Workload::UdpStream {
        conditions.message_size_bytes = conditions.message_size_bytes.min(mtu.saturating_sub(28));
    }
    (conditions.latency, conditions.duration_ms) = (workload.is_transactional(), 10_000);
    conditions.direction = match (arguments.reverse, arguments.both) {
        (true, _) => Direction::Reverse,
        (_, true) => Direction::Both,
        _ => Direction::Forward,
    };
    for (setting, text) in &arguments.settings.0 {
        let flag = setting.flag.map_or(setting.name, |flag| flag.long);
        if workload.is_transactional() && matches!(setting.name, "message_size_bytes" | "receive_size_bytes") {
            let test = &arguments.test;
            return Err(Failure::Usage(format!("--{flag} is not for {test}; use --request-size and --response-size")));
        }
        setting.set_text(&mut conditions, text).map_err(|reason| Failure::Usage(format!("--{flag}: {reason}")))?;
    }
    let version = [(arguments.ipv4, IpVersion::V4), (arguments.ipv6, IpVersion::V6)];
    if let Some((_, version)) = version.into_iter().find(|(asked, _)| *asked) {
        conditions.places.ip_version = Some(version);
    }
    conditions.check(mtu).map_err(Failure::Usage)?;
    Ok(conditions)
}
