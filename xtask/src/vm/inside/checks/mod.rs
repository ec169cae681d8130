//! The checks in the machine, one after the other, each reported with what was seen.

mod agree;
mod fq;
mod netem;
mod rootless;
mod running;

use anyhow::Result;

use super::port::{Check, Port, check};

/// All checks in their order: the first ones find no module loaded.
const CHECKS: &[Check] = &[
    check("a user's lab loads netem, and delays by it", netem::loaded),
    check("a link's settings, as tc reads them", netem::settings),
    check("netem set and removed in a running lab", running::changed),
    check("a refused user namespace has a remedy", rootless::refused),
    check("a user's lab leaves nothing", rootless::gone),
    check("fq paces datagrams, and is read back", fq::datagrams),
    check("fq paces a stream by its parameters", fq::stream),
    check("netem and emulator: round trips", agree::round_trips),
    check("netem and emulator: drops of a queue", agree::drops),
    check("netem and emulator: rate of datagrams", agree::rate),
    check("netem and emulator: rate of a stream", agree::stream),
    check("netem and emulator: losses and copies", agree::chances),
];

/// Makes the requested checks.
pub fn work() -> Result<()> {
    Port::open()?.make(CHECKS, |port, row| (row.make)(port))
}
