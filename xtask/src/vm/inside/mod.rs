//! The part that runs in the machine: its first process, its `modprobe`, and the checks.

mod checks;
mod guest;
mod init;
mod modprobe;

use std::process::ExitCode;

use serde::{Deserialize, Serialize};

/// Where the modules stand, and what is said of them.
pub const MODULES: &str = "/lib/modules";
/// See [`MODULES`].
pub const MODULE_TABLE: &str = "/lib/modules/table";
/// What is to be done, as [`Wanted`].
pub const WANTED: &str = "/etc/wanted";

/// The name by which the first process starts the checks.
const CHECKS: &str = "vm-checks";

/// What is to be done in the machine.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Wanted {
    /// Part of the names of the checks to make.
    pub only: Option<String>,
    /// A command instead of them.
    pub command: Vec<String>,
}

/// What this process is to do where it runs in the machine; `None` elsewhere.
pub fn role() -> Option<fn() -> ExitCode> {
    let name = std::env::args_os().next()?;
    let name = std::path::Path::new(&name).file_name()?.to_str()?.to_owned();
    match name.as_str() {
        "modprobe" => Some(modprobe::main),
        CHECKS => Some(checks::main),
        _ if std::process::id() == 1 => Some(init::main),
        _ => None,
    }
}
