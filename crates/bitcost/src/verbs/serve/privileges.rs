//! What the process that reads what clients send may still do.

use bitcost_service::confine::Confined;

use crate::failure::Failure;
use crate::output;

/// It in one line.
pub fn line(confined: &Confined) -> String {
    format!("the process that reads what clients send: {confined}")
}

/// Prints it.
///
/// # Errors
/// Environment, where something is missing that the kernels that bitcost supports can give.
pub fn check(confined: &Confined) -> Result<(), Failure> {
    let yes_no = |is| if is { "yes" } else { "no" };
    let capabilities = match confined.capabilities {
        0 => "none".to_owned(),
        some => format!("{some:x}"),
    };
    let landlock = match confined.landlock {
        Some(version @ 4..) => {
            format!("ABI {version}: no files can be opened, no TCP connections made")
        }
        Some(version) => format!("ABI {version}: no files can be opened"),
        None => "not available; Linux 5.13 and later have it".to_owned(),
    };
    output::line("the process that reads what clients send has, on this host:")?;
    for (name, value) in [
        ("user", confined.user.to_string()),
        ("capabilities", capabilities),
        (
            "no_new_privs",
            yes_no(confined.no_new_privileges).to_owned(),
        ),
        ("system call filter", yes_no(confined.has_filter).to_owned()),
        ("Landlock", landlock),
    ] {
        output::line(&format!("  {name:<20}{value}"))?;
    }
    match confined.lacks()[..] {
        [] => Ok(()),
        ref missing => Err(Failure::Environment(format!(
            "it is not confined as it should be: {}; see Privileges in docs/hosts.md",
            missing.join(", ")
        ))),
    }
}
