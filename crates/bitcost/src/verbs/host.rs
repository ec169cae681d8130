//! `bitcost host`: the settings of this host shown, and restored after an interrupted run.

mod hardware;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bitcost_host::recovery::{Found, Recovered, found, recover};
use bitcost_host::{KNOBS, Knob, Outcome, journal};
use bitcost_probe::cores;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output;

#[derive(clap::Subcommand)]
pub enum Action {
    /// Print CPUs, cards, the value of every setting, and the changes that are not restored yet
    Show {
        /// Print one JSON document
        #[arg(short = 'J', long)]
        json: bool,
    },
    /// Restore the settings that an interrupted run left changed, unless somebody else has changed
    /// them since
    Restore,
}

pub fn run(action: &Action) -> Result<(), Failure> {
    match action {
        Action::Show { json: true } => output::line(&format!("{:#}", document()?)),
        Action::Show { json: false } => output::print(&text()?),
        Action::Restore => restore(),
    }
}

/// Runs the watchdog. No signal that can be caught ends it before its agent ends.
pub fn watchdog() -> ExitCode {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGPIPE, SIGTERM};
    for signal in [SIGHUP, SIGINT, SIGTERM, SIGPIPE] {
        // If a signal keeps its default action, the agent still restores the host.
        let _ = signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)));
    }
    bitcost_host::watchdog::main()
}

/// Every knob with its subjects and their values; `None` if it cannot be read.
fn observed() -> impl Iterator<Item = (&'static dyn Knob, String, Option<bitcost_host::Values>)> {
    let of_knob = |knob: &'static dyn Knob| {
        knob.subjects().into_iter().map(move |subject| {
            let values = knob.observe(&subject).ok();
            (knob, subject, values)
        })
    };
    KNOBS.iter().flat_map(move |knob| of_knob(*knob))
}

fn document() -> Result<Value, Failure> {
    let mut settings = serde_json::Map::new();
    for (knob, subject, values) in observed() {
        let of_knob = settings.entry(knob.name()).or_insert_with(|| json!({}));
        of_knob[subject] = json!(values);
    }
    Ok(json!({
        "cpus": cores::of_this_host(),
        "cards": hardware::cards(),
        "settings": settings,
        "journals": journals()?,
    }))
}

fn journals() -> Result<Vec<Found>, Failure> {
    Ok(found(&journal::folder())?)
}

fn text() -> Result<String, Failure> {
    let mut text = hardware::text(&cores::of_this_host(), &hardware::cards());
    for (knob, subject, values) in observed() {
        let mut values = values.unwrap_or_default();
        values.retain(|name, value| name != "options" && !value.ends_with("[fixed]"));
        let shown = hardware::joined(&values).join(" ");
        text += &format!("{:<10} {subject}: {shown}\n", knob.name());
    }
    for found in journals()? {
        let state = if found.is_held {
            "held by a run"
        } else {
            "left by an interrupted run"
        };
        text += &format!("journal {} ({state}):\n", found.path.display());
        for change in &found.contents.pending {
            let changes: Vec<String> = change
                .asked
                .iter()
                .map(|(name, asked)| sentence(change, name, asked))
                .collect();
            text += &format!(
                "  {} of {}: {}\n",
                change.knob,
                change.subject,
                changes.join(", ")
            );
        }
        found
            .contents
            .unread
            .iter()
            .for_each(|unread| text += &format!("  {unread}\n"));
    }
    let report = bitcost_host::watchdog::report(&journal::folder());
    report
        .lines()
        .for_each(|line| text += &format!("reported by a watchdog: {line}\n"));
    Ok(text)
}

fn sentence(change: &bitcost_host::Change, name: &str, asked: &str) -> String {
    let before = change.before.get(name).map_or("none", String::as_str);
    format!("{name} {before} → {asked}")
}

fn restore() -> Result<(), Failure> {
    let (folder, of_root) = (journal::folder(), Path::new(journal::SYSTEM_STATE));
    let recovered = recover(&folder)?;
    if recovered.is_empty() {
        return output::line(match folder != of_root && of_root.exists() {
            true => {
                "nothing of this user's to restore; what root's runs left: sudo bitcost host restore"
            }
            false => "nothing to restore",
        });
    }
    let mut is_settled = true;
    for Recovered {
        path,
        outcomes,
        problems,
    } in recovered
    {
        for line in outcomes
            .iter()
            .map(Outcome::to_string)
            .chain(problems.iter().cloned())
        {
            output::line(&format!("{}: {line}", path.display()))?;
        }
        is_settled &= outcomes.iter().all(Outcome::is_settled) && !path.exists();
    }
    if is_settled {
        Ok(())
    } else {
        Err(Failure::Check(
            "not every setting could be restored; see above".to_owned(),
        ))
    }
}
