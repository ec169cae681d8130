//! `bitcost explain`: why runs were not faster.

use std::path::PathBuf;

use bitcost_render::block::text;
use bitcost_render::explained::explanation_blocks;

use crate::failure::Failure;
use crate::opened;
use crate::output::{self, columns};

#[derive(clap::Args)]
pub struct Arguments {
    /// The execution's folder [default: the newest execution in bitcost-runs]
    folder: Option<PathBuf>,
    /// Also print a line for each run
    #[arg(long)]
    runs: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let folder = match &arguments.folder {
        Some(folder) => folder.clone(),
        None => opened::newest_folders::<1>()?[0].clone(),
    };
    let found = opened::open(&folder)?;
    opened::say_caveats(std::slice::from_ref(&found));
    let blocks = explanation_blocks(&found.explanation, arguments.runs);
    output::print(&text(&blocks, columns().unwrap_or(u16::MAX)))
}
