//! `bitcost lab`: emulated networks for other programs.

mod detached;
mod down;
mod exec;
mod ls;
mod presets;
pub mod running;
mod set;
mod shell;
mod show;
mod up;

use crate::failure::Failure;

#[derive(clap::Subcommand)]
pub enum Action {
    /// Start a lab and keep it running until Ctrl-C or `bitcost lab down`; `--detach` returns when it
    /// is ready
    Up(up::Arguments),
    /// Run a program or a shell in a node of a running lab
    Exec(exec::Arguments),
    /// Run programs in all nodes of a running lab from one prompt, or from a script
    Shell(shell::Arguments),
    /// Change rate, delay, loss and queue of a device of a running lab
    Set(set::Arguments),
    /// Draw the present state of a running lab, with its changes
    Show(show::Arguments),
    /// List the running labs
    #[command(alias = "list")]
    Ls(ls::Arguments),
    /// Stop a lab
    Down(down::Arguments),
    /// List the embedded labs, or print one as a lab file
    Presets(presets::Arguments),
}

pub fn run(action: &Action) -> Result<(), Failure> {
    match action {
        Action::Up(arguments) => up::run(arguments),
        Action::Exec(arguments) => exec::run(arguments),
        Action::Shell(arguments) => shell::run(arguments),
        Action::Set(arguments) => set::run(arguments),
        Action::Show(arguments) => show::run(arguments),
        Action::Ls(arguments) => ls::run(arguments),
        Action::Down(arguments) => down::run(arguments),
        Action::Presets(arguments) => presets::run(arguments),
    }
}
