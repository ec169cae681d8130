//! The part of `bitcost import` for labs: it converts a MiniEdit file to a lab file.

use std::path::Path;

use bitcost_execute::labs::{self, Change, NamedLab};
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
    let NamedLab {
        topology,
        warnings,
        commands,
        ..
    } = labs::find(
        &file,
        Change {
            size: None,
            mininet_compat,
        },
    )?;
    let mut text = format!("# From {}.\n", file.escape_debug());
    warnings
        .iter()
        .for_each(|warning| text += &format!("# {warning}\n"));
    for command in &commands {
        text += &format!(
            "# never run: {} {} command: {}\n",
            command.node, command.when, command.text
        );
    }
    text += "# Ports by the order of links:\n";
    for link in &topology.links {
        text += &format!("#   {} - {}\n", link.ends[0].device, link.ends[1].device);
    }
    output::print(&(text + &to_toml(&topology)))
}
