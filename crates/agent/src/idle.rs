//! What the CPUs of this host do while nothing of bitcost goes on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use model::record::IdleBaseline;
use probe::cpu::CpuProbe;
use sys::clock::monotonic_ns;
use wire::FromAgent;

use crate::outbox::Outbox;

/// Until what went on before has come to rest.
const SETTLING: Duration = Duration::from_millis(20);

/// The longest measurement, in milliseconds: that of `--idle-baseline`.
const LENGTH_MAX_MS: u32 = 3_600_000;

/// Whether one is under way: this process measures its host once at a time.
static IS_MEASURING: AtomicBool = AtomicBool::new(false);

/// Measures in a thread of its own, and sends the result. The agent goes on listening meanwhile.
///
/// # Errors
/// A sentence where it is too long, one is under way, or there is no thread for it.
pub fn measure(length_ms: u32, outbox: Outbox) -> Result<(), String> {
    if length_ms > LENGTH_MAX_MS {
        return Err(format!("measure the idle host for {length_ms} ms: at most {LENGTH_MAX_MS} ms are allowed"));
    }
    if IS_MEASURING.swap(true, Ordering::Relaxed) {
        return Err("measure the idle host: it is being measured; wait until that is done".to_owned());
    }
    let thread = std::thread::Builder::new().spawn(move || {
        std::thread::sleep(SETTLING);
        let mut cpus = CpuProbe::open();
        let (begin_ns, begin) = (monotonic_ns(), cpus.read());
        std::thread::sleep(Duration::from_millis(length_ms.into()));
        let (end_ns, end) = (monotonic_ns(), cpus.read());
        IS_MEASURING.store(false, Ordering::Relaxed);
        outbox.send(&FromAgent::Idle(Box::new(IdleBaseline { begin_ns, end_ns, begin, end })));
    });
    thread.map(drop).map_err(|error| {
        IS_MEASURING.store(false, Ordering::Relaxed);
        format!("start a thread that measures the idle host: {error}; raise ulimit -u")
    })
}
