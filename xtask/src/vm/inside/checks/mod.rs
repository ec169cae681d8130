//! The checks in the machine, one after the other, each reported with what was seen.

mod agree;
mod fq;
mod netem;
mod rootless;

use super::port::Check;

/// All checks in their order: the first ones find no module loaded.
pub const CHECKS: &[Check] = &[
    ("a user's lab loads netem, and delays by it", netem::loaded),
    ("a link's settings, as tc reads them", netem::settings),
    ("netem set and removed in a running lab", netem::changed),
    ("a refused user namespace has a remedy", rootless::refused),
    ("a user's lab leaves nothing", rootless::gone),
    ("fq paces datagrams, and is read back", fq::datagrams),
    ("fq paces a stream by its parameters", fq::stream),
    ("netem and emulator: round trips", agree::round_trips),
    ("netem and emulator: drops of a queue", agree::drops),
    ("netem and emulator: rate of datagrams", agree::rate),
    ("netem and emulator: rate of a stream", agree::stream),
    ("netem and emulator: losses and copies", agree::chances),
];
