//! `bitcost lab`: emulated networks for other programs.

mod down;
mod exec;
mod ls;
mod presets;
mod running;
mod up;

use crate::failure::Failure;

/// What to do.
#[derive(clap::Subcommand)]
pub enum Action {
    /// Start a lab and keep it running until Ctrl-C or `bitcost lab down`
    Up(up::Arguments),
    /// Run a program in a node of a running lab
    Exec(exec::Arguments),
    /// List the running labs, or draw one
    Ls(ls::Arguments),
    /// Stop a lab
    Down(down::Arguments),
    /// List the embedded labs, or print one as a lab file
    Presets(presets::Arguments),
}

/// Does what the action says.
///
/// # Errors
/// See [`Failure`].
pub fn run(action: &Action) -> Result<(), Failure> {
    match action {
        Action::Up(arguments) => up::run(arguments),
        Action::Exec(arguments) => exec::run(arguments),
        Action::Ls(arguments) => ls::run(arguments),
        Action::Down(arguments) => down::run(arguments),
        Action::Presets(arguments) => presets::run(arguments),
    }
}
