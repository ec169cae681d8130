//! `bitcost lab down`: takes labs down.

use crate::failure::Failure;
use crate::output;

/// Which.
#[derive(clap::Args)]
pub struct Arguments {
    /// The lab; without it the only one that stands
    name: Option<String>,
    /// Every one of this user's labs
    #[arg(long, conflicts_with = "name")]
    all: bool,
}

/// Takes them down, and returns when they are gone.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let names = if arguments.all { super::names()? } else { vec![super::standing(arguments.name.as_deref())?.name] };
    let mut told = Ok(());
    for name in names {
        lab::registry::take_down(&name)?;
        // The others go down where nobody reads, too.
        told = told.and(output::line(&format!("{name} is down")));
    }
    told
}
