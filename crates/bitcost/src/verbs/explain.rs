//! `bitcost explain`: why runs were not faster.

use std::path::PathBuf;

use bitcost_render::explained::{explanation_folded, explanation_json, explanation_text};

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
    /// Print one JSON document
    #[arg(short = 'J', long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let folder = match &arguments.folder {
        Some(folder) => folder.clone(),
        None => opened::newest_folders::<1>()?[0].clone(),
    };
    let found = opened::open(&folder)?;
    opened::say_caveats(std::slice::from_ref(&found));
    if arguments.json {
        return output::line(&format!("{:#}", explanation_json(&found.explanation)));
    }
    let text = explanation_text(&found.explanation, arguments.runs);
    output::print(&match columns() {
        Some(width) => explanation_folded(&text, width),
        None => text,
    })
}
