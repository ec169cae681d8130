//! `bitcost lab set`: changes a lab while it is running.

use bitcost_lab::registry::{self, Description};
use bitcost_model::shaping::show_shaping;
use bitcost_study::topology::changes;

use super::running;
use crate::failure::Failure;
use crate::output;

#[derive(clap::Args)]
pub struct Arguments {
    /// Name of the lab, if several are running; then devices, each followed by settings: rate,
    /// burst, delay, jitter, loss, reorder, duplicate, queue_limit, written as in lab
    /// files. 0 or none turns a setting off, KEY=clear restores the lab's own, and `clear` alone
    /// all of them
    #[arg(required = true, value_name = "[LAB] DEVICE KEY=VALUE")]
    words: Vec<String>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let words = &arguments.words;
    let names = running::names()?;
    let named = words.first().filter(|word| names.contains(word));
    let how = "name one before the device: bitcost lab set";
    let lab = running::named(named.map(String::as_str), how)?;
    apply(&lab, &words[usize::from(named.is_some())..])
}

/// Changes this lab, and prints its devices as they now are.
pub fn apply(lab: &Description, words: &[String]) -> Result<(), Failure> {
    let built = |device: &str| lab.state.as_built(device).cloned();
    let wanted = changes(&lab.state.topology, built, words)?;
    let devices: Vec<String> = wanted.iter().map(|(device, _)| device.clone()).collect();
    let (lab, notes) = registry::set(&lab.name, wanted)?;
    notes
        .iter()
        .for_each(|note| output::say(&format!("note: {note}")));
    let ends = lab.state.topology.ends();
    ends.filter(|end| devices.contains(&end.device))
        .try_for_each(|end| output::line(&format!("{}: {}", end.device, show_shaping(&end.egress))))
}
