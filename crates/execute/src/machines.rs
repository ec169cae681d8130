//! Checks that an execution is resumed on the machines on which it began.

use bitcost_model::event::EndpointDescription;
use bitcost_model::machine::HostDescription;

use crate::error::ExecuteError;

/// Checks that the endpoints are on the same machines. The names of named hosts must be the same,
/// too, because two machines may be equal.
pub fn check_same(
    before: &[EndpointDescription],
    now: &[EndpointDescription],
    are_named: bool,
) -> Result<(), ExecuteError> {
    let mut differences = Vec::new();
    for (was, is) in before.iter().zip(now) {
        let role = is.role.name();
        if are_named && was.host.host_name != is.host.host_name {
            let (was, is) = (&was.host.host_name, &is.host.host_name);
            differences.push(format!("  {role}: host name: was {was}, is {is}"));
        }
        let of_host = is.host.differences(&was.host).into_iter();
        differences.extend(of_host.map(|found| format!("  {role}: {found}")));
    }
    if differences.is_empty() {
        return Ok(());
    }
    let list = differences.join("\n");
    Err(ExecuteError::Environment(format!(
        "this is not the machine of the execution; start a new execution instead:\n{list}"
    )))
}

/// The endpoint as it is now, as far as this process can see it without an agent there; its network and the agent's rights are
/// left out.
pub fn as_seen_locally(end: &EndpointDescription) -> EndpointDescription {
    let was = end.host.clone();
    let host = HostDescription {
        device: was.device,
        sysctls: was.sysctls,
        governor: was.governor,
        bitcost_version: was.bitcost_version,
        is_root: was.is_root,
        ..bitcost_probe::host::describe()
    };
    EndpointDescription {
        host,
        ..end.clone()
    }
}
