//! `bitcost lab show`: a running lab as it now is.

use bitcost_lab::registry::Description;
use bitcost_lab::state::Change;
use bitcost_model::shaping::{Shaping, show_shaping};

use super::hints;
use crate::failure::Failure;
use crate::output;

/// Which lab.
#[derive(clap::Args)]
pub struct Arguments {
    /// Name of the lab [default: the only one that is running]
    name: Option<String>,
    /// Print hints about its queues, buffers and CPUs
    #[arg(long)]
    hints: bool,
}

/// Draws it, and lists what was changed since it was built.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let lab = super::running::running(arguments.name.as_deref())?;
    output::print(&text(&lab))?;
    hints::say(&lab.topology, arguments.hints);
    Ok(())
}

/// The drawing of a lab, and its changes.
pub fn text(lab: &Description) -> String {
    let mut text = bitcost_lab::draw(&lab.topology);
    if !lab.changes.is_empty() {
        text += "\nchanged since it was built\n";
    }
    for change in &lab.changes {
        let Change {
            at,
            device,
            from,
            to,
        } = change;
        text += &format!("{at}  {device}: {} → {}\n", phrase(from), phrase(to));
    }
    text
}

/// A shaping in one short phrase, also where it is none.
pub fn phrase(shaping: &Shaping) -> String {
    match shaping.is_nothing() {
        true => "nothing".to_owned(),
        false => show_shaping(shaping),
    }
}
