//! `bitcost lab`: labs that stand until they are taken down, and programs in them.

mod down;
mod exec;
mod ls;
mod presets;
mod up;

use lab::registry::{self, Description, Holder};
use model::near::did_you_mean;

use crate::failure::Failure;

/// What to do.
#[derive(clap::Subcommand)]
pub enum Action {
    /// Build a lab and keep it until Ctrl-C or `bitcost lab down`
    Up(up::Arguments),
    /// Run a program in a node of a lab that stands
    Exec(exec::Arguments),
    /// List the labs that stand
    Ls(ls::Arguments),
    /// Take a lab down
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

/// The names of the labs that stand.
fn names() -> Result<Vec<String>, Failure> {
    let cannot = |error| Failure::Environment(format!("cannot read /proc/net/unix, where labs are listed: {error}"));
    registry::names().map_err(cannot)
}

/// The lab of this name; without one the only one that stands.
fn standing(asked: Option<&str>) -> Result<Description, Failure> {
    let names = names()?;
    let name = match (asked, names.as_slice()) {
        (Some(name), _) => name,
        (None, [only]) => only,
        (None, []) => return Err(Failure::Usage("no lab stands; build one: bitcost lab up lab15".to_owned())),
        (None, many) => {
            return Err(Failure::Usage(format!("which lab? These stand: {}; name one by --lab", many.join(", "))));
        }
    };
    registry::describe(name).ok_or_else(|| {
        if let Holder::Stranger(who) = registry::holder(name) {
            return Failure::Usage(format!("no lab `{name}` of yours stands: the name is taken by {who}"));
        }
        let hint = did_you_mean(name, names.iter().map(String::as_str));
        let all = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        Failure::Usage(format!("no lab `{name}` stands{hint}; there are: {all}"))
    })
}
