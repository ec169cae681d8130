//! The constants of the machines, measured before a study's first run.

use bitcost_controller::ControllerError;
use bitcost_model::event::Event;

use crate::error::ExecuteError;
use crate::prepared::Prepared;

/// Measures the constants of both endpoints' machines; absent if the user stopped it.
///
/// # Errors
/// Those of the session. A machine that cannot be measured is in the event, with its reason.
pub fn measure(prepared: &mut Prepared) -> Result<Option<Event>, ExecuteError> {
    match prepared.session.measure_constants(prepared.shared_cpus) {
        Err(ControllerError::Stopped) => Ok(None),
        measured => Ok(Some(Event::Constants {
            machines: measured?,
        })),
    }
}
