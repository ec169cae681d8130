//! How far two CPUs of this host are from each other between two runs, measured when the controller
//! asks for it.

use std::thread::sleep;
use std::time::Duration;

use bitcost_model::machine_state::Times;
use bitcost_model::protocol::FromAgent;
use bitcost_probe::core_to_core::CoreToCoreMeter;

use crate::measuring;
use crate::output::Output;
use crate::refusal::Refusal;

/// Time between two samples, and that of all of them: nine, of which the median counts.
const EVERY: Duration = Duration::from_micros(500);
const LENGTH: Duration = Duration::from_millis(5);

/// Measures in a separate thread, which sends the result.
///
/// # Errors
/// When another measurement runs, or no thread can be started.
pub fn measure(cpus: [u32; 2], output: Output) -> Result<(), Refusal> {
    measuring::start("the distance of two CPUs", output, move || {
        let meter = CoreToCoreMeter::start(cpus, EVERY);
        sleep(LENGTH);
        let found = meter.and_then(CoreToCoreMeter::finish).ok();
        let times = found.and_then(|found| Times::of(&found.round_trip_ns));
        FromAgent::Distance {
            round_trip_ns: times.map(|times| times.median_ns as u32),
        }
    })
}
