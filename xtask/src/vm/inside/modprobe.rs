//! The program that the kernel starts to load a module: `modprobe -q -- NAME`.

use std::fs::{self, File};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use rustix::io::Errno;

use super::wanted::{MODULE_TABLE, MODULES};
use crate::vm::modules::{Table, plain};

/// Loads the module that is named last.
pub fn main() -> ExitCode {
    let wanted = std::env::args().next_back().unwrap_or_default();
    match load_named(&plain(&wanted)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("modprobe {wanted}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Loads the module of this name, and those that it needs.
///
/// # Errors
/// When there is none, or the kernel refuses it.
pub fn load_named(wanted: &str) -> Result<()> {
    let table: Table = serde_json::from_slice(&fs::read(MODULE_TABLE)?)?;
    let is_it = |name: &str, aliases: &[String]| {
        name == wanted || aliases.iter().any(|alias| alias == wanted)
    };
    let found = table
        .iter()
        .find(|(name, module)| is_it(name, &module.aliases));
    let (name, _) = found.context("there is no such module")?;
    load(name, &table)
}

fn load(name: &str, table: &Table) -> Result<()> {
    for needed in table.get(name).iter().flat_map(|module| &module.needs) {
        load(needed, table)?;
    }
    let file = File::open(Path::new(MODULES).join(format!("{name}.ko")))
        .with_context(|| name.to_owned())?;
    match rustix::system::finit_module(&file, c"", 0) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error).with_context(|| name.to_owned()),
    }
}
