//! The measurements of the host between runs: one at a time, each in a separate thread, which sends the result, so
//! that the agent keeps listening.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use bitcost_model::protocol::FromAgent;
use bitcost_model::record::{IdleBaseline, Role};
use bitcost_probe::cpu::CpuProbe;
use bitcost_sys::clock::monotonic_ns;

use crate::observe::{Held, Sought, observe};
use crate::output::Output;
use crate::refusal::Refusal;

static IS_MEASURING: AtomicBool = AtomicBool::new(false);

/// How often measurements were given up; what was begun before tells nobody.
static GIVEN_UP: AtomicU32 = AtomicU32::new(0);

/// Gives up what is measured now.
pub fn give_up() {
    GIVEN_UP.fetch_add(1, Ordering::Relaxed);
    IS_MEASURING.store(false, Ordering::Relaxed);
}

/// Wait before the idle host is measured, until earlier activity has ended.
const SETTLING: Duration = Duration::from_millis(20);

/// The longest measurement of the idle host, in milliseconds: the limit of `--set idle_baseline_s=VALUE`.
const IDLE_MAX_MS: u32 = 3_600_000;

/// Measures the state of this host's CPUs while bitcost is idle.
pub fn idle(length_ms: u32, output: Output) -> Result<(), Refusal> {
    if length_ms > IDLE_MAX_MS {
        return Err(Refusal::from(format!(
            "measure the idle host for {length_ms} ms: at most {IDLE_MAX_MS} ms are allowed"
        )));
    }
    start("the idle host", output, move || {
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

/// Reads this end of connections that another program holds; the host is described before the record is sent.
pub fn observed(sought: Sought, role: Role, length_ms: u32, output: Output) -> Result<(), Refusal> {
    let first = output.clone();
    start("connections of other programs", output, move || {
        let held = Held::find(&sought, Some(role));
        let length = Duration::from_millis(length_ms.into());
        match held.and_then(|held| observe(&held, length, &|| false)) {
            Ok((record, end)) => {
                first.send(&FromAgent::Host(Box::new(end.host)));
                FromAgent::Done(Box::new(record))
            }
            Err(refusal) => refusal.message(),
        }
    })
}

/// Measures the constants of this host.
pub fn constants(cpu: Option<u32>, output: Output) -> Result<(), Refusal> {
    start("the host's constants", output, move || {
        FromAgent::Constants(Box::new(bitcost_probe::constants::measure(cpu)))
    })
}

fn start(
    what: &str,
    output: Output,
    measure: impl FnOnce() -> FromAgent + Send + 'static,
) -> Result<(), Refusal> {
    if IS_MEASURING.swap(true, Ordering::Relaxed) {
        return Err(Refusal::from(format!(
            "measure {what}: another measurement of this host runs; wait until that is done"
        )));
    }
    let before = GIVEN_UP.load(Ordering::Relaxed);
    let thread = std::thread::Builder::new().spawn(move || {
        let found = measure();
        if GIVEN_UP.load(Ordering::Relaxed) == before {
            IS_MEASURING.store(false, Ordering::Relaxed);
            output.send(&found);
        }
    });
    thread.map(drop).map_err(|error| {
        IS_MEASURING.store(false, Ordering::Relaxed);
        format!("start a thread that measures {what}: {error}; raise ulimit -u").into()
    })
}
