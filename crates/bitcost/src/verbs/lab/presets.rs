//! `bitcost lab presets`: the embedded labs, listed or printed.

use bitcost_study::topology::{PRESETS, Preset};

use crate::failure::Failure;
use crate::output;

#[derive(clap::Args)]
pub struct Arguments {
    /// Lab that is printed as a lab file, to be copied and changed [default: list all]
    name: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Some(name) = &arguments.name else {
        return PRESETS
            .iter()
            .try_for_each(|preset| output::line(&format!("{:<9} {}", preset.name, preset.about)));
    };
    output::print(Preset::named(name)?.text)
}
