//! The state of this host's CPUs while bitcost is idle.

use std::time::Duration;

use bitcost_model::protocol::FromAgent;
use bitcost_model::record::IdleBaseline;
use bitcost_probe::cpu::CpuProbe;
use bitcost_sys::clock::monotonic_ns;

use crate::measuring;
use crate::output::Output;
use crate::refusal::Refusal;

/// Wait before the measurement, until earlier activity has ended.
const SETTLING: Duration = Duration::from_millis(20);

/// The longest measurement, in milliseconds: the limit of `--set idle_baseline_s=VALUE`.
const LENGTH_MAX_MS: u32 = 3_600_000;

/// Measures in a separate thread, which sends the result. The agent keeps listening.
pub fn measure(length_ms: u32, output: Output) -> Result<(), Refusal> {
    if length_ms > LENGTH_MAX_MS {
        return Err(Refusal::from(format!(
            "measure the idle host for {length_ms} ms: at most {LENGTH_MAX_MS} ms are allowed"
        )));
    }
    measuring::start("the idle host", output, move || {
        std::thread::sleep(SETTLING);
        let mut cpus = CpuProbe::open();
        let (start_ns, start) = (monotonic_ns(), cpus.read());
        std::thread::sleep(Duration::from_millis(length_ms.into()));
        let (end_ns, end) = (monotonic_ns(), cpus.read());
        FromAgent::Idle(Box::new(IdleBaseline {
            start_ns,
            end_ns,
            start,
            end,
        }))
    })
}
