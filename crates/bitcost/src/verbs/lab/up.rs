//! `bitcost lab up`: builds a lab, draws it, and keeps it running.

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bitcost_execute::labs::{self, NamedLab};
use bitcost_lab::registry::{Claim, Description, Outcome, Request};
use bitcost_lab::{Host, Lab, Topology};
use bitcost_model::Invalid;
use bitcost_model::shaping::Shaping;
use bitcost_model::topology::is_node_name;

use super::detached;
use crate::failure::Failure;
use crate::output;
use crate::signals::stop_on_signals;

#[derive(clap::Args)]
pub struct Arguments {
    /// Lab: the name of an embedded one (`bitcost lab presets`), or the path of a lab file (.toml)
    /// or a MiniEdit file (.mn)
    lab: String,
    /// Name of the running lab [default: that of the preset or file, with a number if it is taken]
    #[arg(long, value_parser = parse_name)]
    name: Option<String>,
    /// Build the lab without rates, delays, losses or queues on its links; `bitcost lab set` can
    /// set them later
    #[arg(long)]
    bare: bool,
    /// Use bitcost's link emulator on the links of these devices, so that `bitcost lab set` can
    /// delay them, if the kernel has no netem; `all` selects every link [default: links that the
    /// lab delays]
    #[arg(long, value_name = "DEVICE", value_delimiter = ',')]
    emulate: Vec<String>,
    /// Return when the lab is ready, and keep it running in the background until `bitcost lab down`
    #[arg(short, long)]
    detach: bool,
    /// This process keeps a lab that was started with --detach
    #[arg(long = detached::BACKGROUND, hide = true)]
    is_background: bool,
}

const LOOK: Duration = Duration::from_millis(250);
/// Longest name of a lab, in bytes: the name of a socket has at most 107.
const NAME_MAX: usize = 64;
/// Every device, as --emulate has it.
const ALL: &str = "all";

fn parse_name(text: &str) -> Result<String, String> {
    if is_name(text) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "`{text}` is not a valid name of a lab; allowed: letters, digits, - _ and ., at most {NAME_MAX} of them"
    ))
}

fn is_name(text: &str) -> bool {
    text.len() <= NAME_MAX && is_node_name(text)
}

/// Builds the lab and keeps it until a signal, `bitcost lab down`, or its end.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.detach && !arguments.is_background {
        return detached::start();
    }
    if arguments.is_background {
        detached::leave()?;
    }
    let stop = stop_on_signals()?;
    let NamedLab { name, lab } = labs::find(&arguments.lab)?;
    let mut topology = lab.topology;
    bitcost_execute::check_restored()?;
    labs::warn(&lab.warnings, output::say);
    let emulate = arguments.emulated(&topology)?;
    if arguments.bare {
        topology
            .ends_mut()
            .for_each(|end| end.egress = Shaping::default());
    }
    let base = if is_name(&name) { name.as_str() } else { "lab" };
    let claim = Claim::take(arguments.name.as_deref(), base)?;
    // Whoever reads what this prints would wait for the end of the lab.
    let messages = match arguments.is_background {
        true => Stdio::null(),
        false => Stdio::inherit(),
    };
    let lab = Lab::up_enterable(&topology, &emulate, messages)?;
    let description = Description {
        name: claim.name.clone(),
        origin: arguments.lab.clone(),
        since: bitcost_controller::now(),
        pid: std::process::id(),
        state: lab.state()?,
    };
    say_notes(&lab);
    output::print(&text(&description, arguments.is_background))?;
    if arguments.is_background {
        detached::let_go()?;
    }
    hold(lab, claim, description, &stop)
}

/// Keeps the lab until it is to end, and does what other commands ask meanwhile.
fn hold(
    mut lab: Lab,
    claim: Claim,
    mut description: Description,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    while !stop.load(Ordering::Relaxed) {
        if !lab.is_running() {
            return Err(Failure::Environment(
                "the lab daemon was killed, which ended the lab".to_owned(),
            ));
        }
        let asked = claim.serve(&description, LOOK).map_err(|error| {
            Failure::Environment(format!("cannot listen for other commands: {error}"))
        })?;
        match asked {
            None => {}
            Some((Request::Set(wanted), client)) => {
                client.answer(&change(&lab, &mut description, &wanted));
            }
            Some((_, client)) => {
                drop(lab);
                // The end of the connection informs the client that the lab no longer exists.
                drop((claim, client));
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Changes the lab as another command asks, and its description with it.
fn change(lab: &Lab, description: &mut Description, wanted: &[(String, Shaping)]) -> Outcome {
    let notes = lab.set(&bitcost_controller::now(), wanted)?;
    description.state = lab.state()?;
    Ok((description.clone(), notes))
}

impl Arguments {
    /// The devices whose links get a link emulator where one is needed for delays.
    fn emulated(&self, topology: &Topology) -> Result<Vec<String>, Failure> {
        let delayed = topology.ends().filter(|end| end.egress.needs_emulator());
        let mut emulated: Vec<String> = delayed.map(|end| end.device.clone()).collect();
        for device in &self.emulate {
            if device == ALL {
                emulated.extend(topology.ends().map(|end| end.device.clone()));
                continue;
            }
            topology
                .named_end(device)
                .map_err(|Invalid(why)| Failure::Usage(format!("--emulate: {why}, or {ALL}")))?;
            emulated.push(device.clone());
        }
        Ok(emulated)
    }
}

fn say_notes(lab: &Lab) {
    let inline = lab.hosts().iter().filter_map(Host::inline_note);
    let notes = lab.notes().iter().cloned().chain(inline);
    notes.for_each(|note| output::say(&format!("note: {note}")));
}

fn text(description: &Description, is_detached: bool) -> String {
    let Description { name, state, .. } = description;
    let topology = &state.topology;
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
        "lab {name}\n\n{}\nin it: bitcost lab exec{lab} {host} -- COMMAND\ndown: bitcost lab down {name}{}\n",
        bitcost_lab::draw(topology),
        if is_detached { "" } else { ", or Ctrl-C" }
    )
}
