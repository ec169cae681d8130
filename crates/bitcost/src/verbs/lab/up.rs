//! `bitcost lab up`: builds a lab, draws it, and keeps it.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lab::registry::{Claim, Description, Wish};
use lab::{Lab, NapiState};

use crate::failure::Failure;
use crate::labs::{self, Backend, Change, Named};
use crate::output;
use crate::verbs::run::stop_on_signals;

/// Which lab.
#[derive(clap::Args)]
pub struct Arguments {
    /// An embedded lab's name, or the path of a lab file (.toml) or of a MiniEdit file (.mn)
    lab: String,
    /// The name that it stands under; otherwise that of the preset or file, with a number where it is taken
    #[arg(long, value_parser = parse_name)]
    name: Option<String>,
    #[command(flatten)]
    change: Change,
    #[command(flatten)]
    backend: Backend,
}

/// How often it is looked whether the lab still stands.
const LOOK: Duration = Duration::from_millis(250);
/// Longest name of a lab, in bytes: that of a socket is 107.
const NAME_MAX: usize = 64;

fn parse_name(text: &str) -> Result<String, String> {
    if is_name(text) {
        return Ok(text.to_owned());
    }
    Err(format!("`{text}` is no name of a lab; allowed: letters, digits, - _ and ., at most {NAME_MAX} of them"))
}

fn is_name(text: &str) -> bool {
    (1..=NAME_MAX).contains(&text.len()) && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// Builds the lab and keeps it until a signal, `bitcost lab down`, or its end.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let stop = stop_on_signals()?;
    let Named { name, mut topology, warnings, commands } = labs::find(&arguments.lab, arguments.change)?;
    arguments.backend.apply(&mut topology)?;
    super::super::host::check_is_as_found()?;
    warnings.iter().for_each(|warning| output::say(&format!("warning: {warning}")));
    for command in &commands {
        output::say(&format!("not run: {} {} command: {}", command.node, command.when, command.text));
    }
    labs::say_lints_of(&topology);
    let base = if is_name(&name) { name.as_str() } else { "lab" };
    let claim = Claim::take(arguments.name.as_deref(), base)?;
    let mut lab = Lab::up_for_visitors(&PathBuf::from("/proc/self/exe"), &topology)?;
    let door = lab.door().ok_or_else(|| Failure::Environment("the lab has no way in".to_owned()))?;
    let description = Description {
        name: claim.name.clone(),
        origin: arguments.lab.clone(),
        since: drive::now(),
        pid: std::process::id(),
        door,
        topology,
    };
    say_notes(&lab);
    output::print(&text(&description))?;
    while !stop.load(Ordering::Relaxed) {
        if !lab.stands() {
            return Err(Failure::Environment("the process that holds the lab was ended; the lab is gone".to_owned()));
        }
        let served = claim.serve(&description, LOOK);
        let (wish, visitor) = served.map_err(|error| Failure::Environment(format!("cannot hear visitors: {error}")))?;
        if wish == Wish::Down {
            drop(lab);
            // Its end tells the visitor that the lab is gone.
            drop((claim, visitor));
            return Ok(());
        }
    }
    Ok(())
}

fn say_notes(lab: &Lab) {
    lab.notes().iter().for_each(|note| output::say(&format!("note: {note}")));
    for host in lab.hosts() {
        if let NapiState::Inline { reason: Some(reason) } = &host.napi {
            output::say(&format!("note: {}: threaded NAPI was asked for, it receives inline: {reason}", host.name));
        }
    }
}

fn text(description: &Description) -> String {
    let Description { name, topology, .. } = description;
    let host = topology.hosts().next().map_or("h1", |host| host.name.as_str());
    let lab = if *name == description.origin { String::new() } else { format!(" --lab {name}") };
    format!(
        "lab {name}\n\n{}\nin it: bitcost lab exec{lab} {host} -- COMMAND\ndown: bitcost lab down {name}, or Ctrl-C\n",
        lab::draw(topology)
    )
}
