//! The input of the machine: files and the work to do.

use serde::{Deserialize, Serialize};

/// The folder of the kernel's modules.
pub const MODULES: &str = "/lib/modules";
/// The table of the modules.
pub const MODULE_TABLE: &str = "/lib/modules/table";
/// The file with the [`Wanted`] work, as JSON.
pub const WANTED: &str = "/etc/wanted";

/// The name by which the first process starts the checks.
pub(super) const CHECKS: &str = "vm-checks";

/// The work to do in the machine.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Wanted {
    /// Part of the names of the checks to make.
    pub only: Option<String>,
    /// A command to run instead of checks.
    pub command: Vec<String>,
}
