//! `bitcost lab presets`: the embedded labs, listed or printed.

use bitcost_study::topology::{PRESETS, Preset};

use crate::failure::Failure;
use crate::output;

#[derive(clap::Args)]
pub struct Arguments {
    /// Lab that is printed as a lab file, to be copied and changed [default: list all]
    name: Option<String>,
    /// Number of host pairs of `dumbbell`, or of hosts of `star` [default: 2 pairs, 4 hosts]
    #[arg(long, value_name = "N")]
    size: Option<u32>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Some(name) = &arguments.name else {
        return PRESETS
            .iter()
            .try_for_each(|preset| output::line(&format!("{:<9} {}", preset.name, preset.about)));
    };
    let preset = Preset::named(name)?;
    output::print(&preset.text(arguments.size)?)
}
