//! The checks in the machine, one after the other, each reported with what was seen.

mod agree;
mod fq;
mod netem;
mod rootless;
mod running;

use anyhow::Result;

use super::port::{Check, Port, check};
use crate::vm::report::Line;

/// All checks in their order: the first ones find no module loaded.
const CHECKS: &[Check] = &[
    check(
        "an ordinary user's lab has the kernel load netem, and delays by it",
        |_| netem::loaded(),
    ),
    check("every setting of a link is netem's, as tc reads it", |_| {
        netem::settings()
    }),
    check(
        "lab set sets, changes and removes netem in a running lab",
        |_| running::changed(),
    ),
    check("a refused user namespace is named with its remedy", |_| {
        rootless::refused()
    }),
    check("a lab of an ordinary user leaves nothing", |_| {
        rootless::gone()
    }),
    check("fq paces datagrams, and is read back", |_| fq::datagrams()),
    check("fq paces a stream, and has its parameters", |_| {
        fq::stream()
    }),
    check("netem and link emulator: round trips", |_| {
        agree::round_trips()
    }),
    check("netem and link emulator: drops of a short queue", |_| {
        agree::drops()
    }),
    check("netem and link emulator: rate of datagrams", |_| {
        agree::rate()
    }),
    check("netem and link emulator: rate of a stream", |_| {
        agree::stream()
    }),
    check("netem and link emulator: losses and copies", |_| {
        agree::chances()
    }),
];

/// Makes the requested checks.
pub fn work() -> Result<()> {
    let mut port = Port::open()?;
    let uname = rustix::system::uname();
    let kernel = uname.release().to_string_lossy().into_owned();
    port.tell(&Line::Up { kernel })?;
    port.make(CHECKS, |port, row| (row.check)(port))
}
