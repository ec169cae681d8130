//! The part of `bitcost import` that is about labs: a MiniEdit file as one of ours.

use std::path::Path;

use model::topology::to_toml;

use crate::failure::Failure;
use crate::labs::{self, Change, Named};
use crate::output;

/// Whether a file is MiniEdit's, by its name.
pub fn is_one(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "mn")
}

/// Prints the lab file; what has no counterpart stands in comments at its head.
pub fn print(file: &Path, mininet_compat: bool) -> Result<(), Failure> {
    let file = file.to_string_lossy();
    let Named { topology, warnings, commands, .. } = labs::find(&file, Change { size: None, mininet_compat })?;
    let mut text = format!("# From {}.\n", file.escape_debug());
    warnings.iter().for_each(|warning| text += &format!("# {warning}\n"));
    for command in &commands {
        text += &format!("# never run: {} {} command: {}\n", command.node, command.when, command.text);
    }
    text += "# Ports by the order of links:\n";
    for link in &topology.links {
        text += &format!("#   {} - {}\n", link.ends[0].device, link.ends[1].device);
    }
    output::print(&(text + &to_toml(&topology)))
}
