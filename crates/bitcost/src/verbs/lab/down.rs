//! `bitcost lab down`: stops labs.

use crate::failure::Failure;
use crate::output;

#[derive(clap::Args)]
pub struct Arguments {
    /// Name of the lab [default: the only one that is running]
    name: Option<String>,
    /// Stop all labs of this user
    #[arg(long, conflicts_with = "name")]
    all: bool,
}

fn one(asked: Option<&str>) -> Result<String, Failure> {
    if asked.is_none() && super::running::names()?.is_empty() {
        return Err(Failure::Usage("no lab is running".to_owned()));
    }
    let how = "stop all with --all, or one: bitcost lab down";
    Ok(super::running::named(asked, how)?.name)
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let names = if arguments.all {
        super::running::names()?
    } else {
        vec![one(arguments.name.as_deref())?]
    };
    let mut told = Ok(());
    for name in names {
        let down = bitcost_lab::registry::take_down(&name).map_err(Failure::from);
        let down = down.and_then(|()| output::line(&format!("{name} is down")));
        // The other labs are stopped even if one cannot be, or nobody reads the output.
        told = told.and(down);
    }
    told
}
