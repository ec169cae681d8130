//! `bitcost lab presets`: the embedded labs, listed or printed.

use model::near::did_you_mean;
use model::topology::{PRESETS, Preset};

use crate::failure::Failure;
use crate::output;

/// What to print.
#[derive(clap::Args)]
pub struct Arguments {
    /// Print this lab as a file; copy it, change it, and build it by its path
    name: Option<String>,
    /// Pairs of a dumbbell, or hosts of a star
    #[arg(long, value_name = "N")]
    size: Option<u32>,
}

/// Lists or prints.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Some(name) = &arguments.name else {
        return PRESETS.iter().try_for_each(|preset| output::line(&format!("{:<9} {}", preset.name, preset.about)));
    };
    let names = PRESETS.iter().map(|preset| preset.name);
    let preset = Preset::find(name).ok_or_else(|| {
        let all: Vec<&str> = names.clone().collect();
        Failure::Usage(format!("unknown lab `{name}`{}; allowed: {}", did_you_mean(name, names), all.join(", ")))
    })?;
    output::print(&preset.text(arguments.size).map_err(Failure::Usage)?)
}
