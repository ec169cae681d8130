//! The measurement of the constants of each machine, before the first run.

use std::time::Duration;

use bitcost_model::constants::{HostConstants, MachineConstants};
use bitcost_model::protocol::{FromAgent, ToAgent};
use bitcost_model::record::Role;

use crate::error::{ControllerError, RunError};
use crate::pair::{Pair, pick};

/// The time that a measurement of a second may take on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(20);

/// Measures one machine after the other, so that nothing else runs meanwhile: once where both
/// endpoints are on one machine. A machine that cannot be measured is in the result, with its reason.
pub fn measured(
    pair: &mut Pair,
    is_one_machine: bool,
) -> Result<Vec<MachineConstants>, ControllerError> {
    let (sender, receiver) = (Role::Sender, Role::Receiver);
    let groups = if is_one_machine {
        vec![vec![sender, receiver]]
    } else {
        vec![vec![sender], vec![receiver]]
    };
    let mut machines = Vec::new();
    for roles in groups {
        let (host, absent) = match of_machine(pair, &roles) {
            Ok(host) => (Some(host), None),
            Err(error) => (None, Some(error.told()?.to_string())),
        };
        machines.push(MachineConstants {
            roles,
            host,
            absent,
        });
    }
    Ok(machines)
}

/// The constants of the machine of these endpoints, measured by the agent of the first.
fn of_machine(pair: &mut Pair, roles: &[Role]) -> Result<HostConstants, RunError> {
    let cpu = pair.endpoint(roles[0]).cpus.first().copied();
    pair.send(roles[0], &ToAgent::Constants { cpu });
    let what = "the constants of its host";
    let pick = pick!(FromAgent::Constants(constants) => *constants);
    let constants = pair.wait(roles[0], PATIENCE, what, pick)?;
    match constants.check() {
        Ok(()) => Ok(constants),
        Err(why) => Err(RunError::Failed(why.to_string().into())),
    }
}
