//! The constants of the machines, measured before a study's first run.

use bitcost_controller::ControllerError;
use bitcost_model::constants::MachineConstants;
use bitcost_model::event::Event;
use bitcost_model::record::Role;

use crate::calibration::Extent;
use crate::error::ExecuteError;
use crate::prepared::Prepared;

/// Measures the constants of both endpoints' machines; absent for a single test, and if the user
/// stopped it.
///
/// # Errors
/// Those of the session. A machine that cannot be measured is in the event, with its reason.
pub fn measure(prepared: &mut Prepared, extent: Extent) -> Result<Option<Event>, ExecuteError> {
    let machines = match extent {
        Extent::Never => return Ok(None),
        Extent::Skip => vec![MachineConstants {
            roles: vec![Role::Sender, Role::Receiver],
            host: None,
            absent: Some("--no-calibration".to_owned()),
        }],
        Extent::Full => {
            let shared = prepared.shared_cpus;
            match prepared.session.measure_constants(shared) {
                Err(ControllerError::Stopped) => return Ok(None),
                measured => measured?,
            }
        }
    };
    Ok(Some(Event::Constants { machines }))
}
