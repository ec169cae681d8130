//! What the CPUs of this host do while nothing of bitcost goes on.

use std::time::Duration;

use model::record::IdleBaseline;
use probe::cpu::CpuProbe;
use sys::clock::monotonic_ns;
use wire::FromAgent;

use crate::outbox::Outbox;

/// Until what went on before has come to rest.
const SETTLING: Duration = Duration::from_millis(20);

/// Measures in a thread of its own, and sends the result. The agent goes on listening meanwhile.
pub fn measure(length: Duration, outbox: Outbox) {
    std::thread::spawn(move || {
        std::thread::sleep(SETTLING);
        let mut cpus = CpuProbe::open();
        let (begin_ns, begin) = (monotonic_ns(), cpus.read());
        std::thread::sleep(length);
        let (end_ns, end) = (monotonic_ns(), cpus.read());
        outbox.send(&FromAgent::Idle(Box::new(IdleBaseline { begin_ns, end_ns, begin, end })));
    });
}
