//! `bitcost lab up`: builds a lab, draws it, and keeps it running.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bitcost_execute::labs::{self, NamedLab};
use bitcost_lab::registry::{Claim, Description};
use bitcost_lab::{Lab, NapiState};

use crate::failure::Failure;
use crate::options::lab::{Backend, Change, say_warnings};
use crate::output;
use crate::signals::stop_on_signals;

/// Which lab.
#[derive(clap::Args)]
pub struct Arguments {
    /// Lab: the name of an embedded one (`bitcost lab presets`), or the path of a lab file (.toml)
    /// or a MiniEdit file (.mn)
    lab: String,
    /// Name of the running lab [default: that of the preset or file, with a number if it is taken]
    #[arg(long, value_parser = parse_name)]
    name: Option<String>,
    #[command(flatten)]
    change: Change,
    #[command(flatten)]
    backend: Backend,
}

/// Time between two checks that the lab is running.
const LOOK: Duration = Duration::from_millis(250);
/// Longest name of a lab, in bytes: the name of a socket has at most 107.
const NAME_MAX: usize = 64;

fn parse_name(text: &str) -> Result<String, String> {
    if is_name(text) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "`{text}` is not a possible name of a lab; allowed: letters, digits, - _ and ., at most {NAME_MAX} of them"
    ))
}

fn is_name(text: &str) -> bool {
    (1..=NAME_MAX).contains(&text.len())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// Builds the lab and keeps it until a signal, `bitcost lab down`, or its end.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let stop = stop_on_signals()?;
    let NamedLab {
        name,
        mut topology,
        warnings,
        commands,
    } = labs::find(&arguments.lab, arguments.change.into())?;
    arguments.backend.apply(&mut topology)?;
    bitcost_execute::check_restored()?;
    warnings
        .iter()
        .for_each(|warning| output::say(&format!("warning: {warning}")));
    for command in &commands {
        output::say(&format!(
            "not run: {} {} command: {}",
            command.node, command.when, command.text
        ));
    }
    say_warnings(&labs::warnings_of(&topology));
    let base = if is_name(&name) { name.as_str() } else { "lab" };
    let claim = Claim::take(arguments.name.as_deref(), base)?;
    let mut lab = Lab::up_enterable(&PathBuf::from("/proc/self/exe"), &topology)?;
    let entry = lab
        .entry()
        .ok_or_else(|| Failure::Environment("the lab has no way in".to_owned()))?;
    let description = Description {
        name: claim.name.clone(),
        origin: arguments.lab.clone(),
        since: bitcost_controller::now(),
        pid: std::process::id(),
        entry,
        topology,
    };
    say_notes(&lab);
    output::print(&text(&description))?;
    while !stop.load(Ordering::Relaxed) {
        if !lab.is_running() {
            return Err(Failure::Environment(
                "the lab daemon was killed; the lab is gone".to_owned(),
            ));
        }
        let served = claim.serve(&description, LOOK);
        let client = served.map_err(|error| {
            Failure::Environment(format!("cannot hear other commands: {error}"))
        })?;
        if let Some(client) = client {
            drop(lab);
            // The end of the connection informs the client that the lab no longer exists.
            drop((claim, client));
            return Ok(());
        }
    }
    Ok(())
}

fn say_notes(lab: &Lab) {
    lab.notes()
        .iter()
        .for_each(|note| output::say(&format!("note: {note}")));
    for host in lab.hosts() {
        if let NapiState::Inline {
            reason: Some(reason),
        } = &host.napi
        {
            output::say(&format!(
                "note: {}: threaded NAPI was asked for, it receives inline: {reason}",
                host.name
            ));
        }
    }
}

fn text(description: &Description) -> String {
    let Description { name, topology, .. } = description;
    let host = topology
        .hosts()
        .next()
        .map_or("h1", |host| host.name.as_str());
    let lab = if *name == description.origin {
        String::new()
    } else {
        format!(" --lab {name}")
    };
    format!(
        "lab {name}\n\n{}\nin it: bitcost lab exec{lab} {host} -- COMMAND\ndown: bitcost lab down {name}, or Ctrl-C\n",
        bitcost_lab::draw(topology)
    )
}
