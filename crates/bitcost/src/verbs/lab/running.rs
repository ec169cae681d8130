//! The labs of this user that are running.

use bitcost_lab::Inside;
use bitcost_lab::registry::{self, Description};
use bitcost_model::near::did_you_mean;

use crate::failure::Failure;

/// The names of the running labs of this user.
pub fn names() -> Result<Vec<String>, Failure> {
    let cannot = |error| {
        Failure::Environment(format!(
            "cannot read /proc/net/unix, where labs are listed: {error}"
        ))
    };
    let names = registry::names().map_err(cannot)?;
    match Inside::find() {
        // A node has a list of its own.
        Ok(Some(Inside { lab, node, .. })) if names.is_empty() => Err(Failure::Usage(format!(
            "this is node {node} of lab {lab}; type it outside of the node"
        ))),
        _ => Ok(names),
    }
}

/// The running lab of this name.
pub fn running(name: &str) -> Result<Description, Failure> {
    named(Some(name), "")
}

/// The running lab of this name; without a name, the only running lab. `how` is what the user
/// writes before a lab's name where there are several.
pub fn named(asked: Option<&str>, how: &str) -> Result<Description, Failure> {
    let names = names()?;
    let name = match (asked, names.as_slice()) {
        (Some(name), _) => name,
        (None, [only]) => only,
        (None, []) => {
            return Err(Failure::Usage(
                "no lab is running; start one: bitcost lab up lab15".to_owned(),
            ));
        }
        (None, many) => {
            return Err(Failure::Usage(format!(
                "several labs are running: {}; {how} {}",
                many.join(", "),
                many[0]
            )));
        }
    };
    registry::describe(name).ok_or_else(|| {
        if let Some(who) = registry::other_owner(name) {
            return Failure::Usage(format!(
                "no lab `{name}` of yours is running: the name is taken by {who}"
            ));
        }
        let hint = did_you_mean(name, names.iter().map(String::as_str));
        let all = if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        };
        Failure::Usage(format!("no lab `{name}` is running{hint}; running: {all}"))
    })
}
