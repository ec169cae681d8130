//! The part of `bitcost import` for labs: it converts a MiniEdit file to a lab file.

use std::path::Path;

use bitcost_execute::labs::{Options, find};
use bitcost_study::topology::to_toml;

use crate::failure::Failure;
use crate::output;

/// Whether a file is a MiniEdit file, by its name.
pub fn is_one(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "mn")
}

/// Prints the lab file; comments at its start list what has no counterpart.
pub fn print(file: &Path, mininet_compat: bool) -> Result<(), Failure> {
    let file = file.to_string_lossy();
    let lab = find(&file, None, Options { mininet_compat })?.lab;
    let mut text = format!("# From {}.\n", file.escape_debug());
    lab.warnings
        .iter()
        .for_each(|warning| text += &format!("# {warning}\n"));
    for command in &lab.commands {
        text += &format!(
            "# never run: {} {} command: {}\n",
            command.node, command.when, command.text
        );
    }
    text += "# Ports by the order of links:\n";
    for link in &lab.topology.links {
        text += &format!("#   {} - {}\n", link.ends[0].device, link.ends[1].device);
    }
    output::print(&(text + &to_toml(&lab.topology)))
}
