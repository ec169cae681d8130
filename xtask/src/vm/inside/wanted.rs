//! The input of the machine: files and the work to do.

use serde::{Deserialize, Serialize};

/// The file with the [`Wanted`] work, as JSON.
pub const WANTED: &str = "/etc/wanted";

/// The names by which the first process starts the checks of one machine, those of a pair, and a
/// study whose instructions are counted.
pub(super) const CHECKS: &str = "vm-checks";
pub(super) const PAIR: &str = "vm-pair-checks";
pub(super) const COST: &str = "vm-cost";

/// The word of the kernel's command line that tells a machine its [`Role`]; the kernel passes it on as
/// an environment variable of the first process.
pub const ROLE: &str = "role";

/// What a machine is for, if not for the checks of one machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It makes the checks.
    Near,
    /// It is reached by the other one.
    Far,
    /// It is alone, and counts the instructions of a study.
    Cost,
}

impl Role {
    /// Its name: that of the host, and in the kernel's command line.
    pub fn name(self) -> &'static str {
        match self {
            Role::Near => "near",
            Role::Far => "far",
            Role::Cost => "cost",
        }
    }

    /// The role of this machine; `None` if it has none.
    pub(super) fn here() -> Option<Role> {
        let name = std::env::var(ROLE).ok()?;
        [Role::Near, Role::Far, Role::Cost]
            .into_iter()
            .find(|role| role.name() == name)
    }
}

/// The work to do in the machine.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Wanted {
    /// Part of the names of the checks to make.
    pub only: Option<String>,
    /// A command to run instead of checks.
    pub command: Vec<String>,
    /// As root, and not as the ordinary user.
    pub root: bool,
    /// Only the checks of the short form.
    pub short: bool,
}
