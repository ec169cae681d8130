//! The part that runs in the machine: its first process, its `modprobe`, and the checks.

mod checks;
mod guest;
mod init;
mod modprobe;
mod wanted;

use std::process::ExitCode;

use wanted::CHECKS;
pub use wanted::{MODULE_TABLE, MODULES, WANTED, Wanted};

/// The function of this process if it runs in the machine; `None` elsewhere.
pub fn role() -> Option<fn() -> ExitCode> {
    let name = std::env::args_os().next()?;
    let name = std::path::Path::new(&name)
        .file_name()?
        .to_str()?
        .to_owned();
    match name.as_str() {
        "modprobe" => Some(modprobe::main),
        CHECKS => Some(checks::main),
        _ if std::process::id() == 1 => Some(init::main),
        _ => None,
    }
}
