//! The constants of this host, measured when the controller asks for them.

use bitcost_model::protocol::FromAgent;

use crate::measuring;
use crate::output::Output;
use crate::refusal::Refusal;

const CPUS_MOST: usize = 2;

/// Measures them in a separate thread, which sends the result.
pub fn measure(cpus: Vec<u32>, output: Output) -> Result<(), Refusal> {
    if cpus.len() > CPUS_MOST {
        return Err(Refusal::from(format!(
            "measure the host's constants on {} CPUs: at most {CPUS_MOST} are allowed",
            cpus.len()
        )));
    }
    measuring::start("the host's constants", output, move || {
        FromAgent::Constants(Box::new(bitcost_probe::constants::measure(&cpus)))
    })
}
