//! What link emulators dropped, in segments.

use bitcost_model::counters::{Amount, LinkEmulator};

use super::drops::{Drops, row};
use super::path::ports;
use super::readings::{Both, sum};
use crate::metrics::emulators;

/// The emulators in the direction of the data, before and after.
fn of_data<'a>(both: &Both<'a>) -> Vec<(&'a LinkEmulator, &'a LinkEmulator)> {
    let ports = ports(both);
    let carries = |emulator: &LinkEmulator| {
        let mut ports = ports.iter();
        let port = ports.find(|port| port.device == emulator.device);
        port.is_none_or(|port| port.ways[1])
    };
    let mut ends = both.ends().into_iter().map(|(_, whole)| whole);
    let told = ends.find(|whole| !whole.after.emulators.is_empty());
    let all = told.into_iter();
    let all = all.flat_map(|whole| emulators(&whole.before, &whole.after));
    all.filter(|(_, after)| carries(after)).collect()
}

/// Copies that emulators made of what was sent.
pub(super) fn copies(both: &Both) -> u64 {
    let made = of_data(both).into_iter();
    sum(made.map(|(before, after)| grown(|of| of.duplicated, before, after).1))
}

/// How much a counter grew, in packets and in segments.
fn grown(
    of: fn(&LinkEmulator) -> Amount,
    before: &LinkEmulator,
    after: &LinkEmulator,
) -> (u64, u64) {
    let (before, after) = (of(before), of(after));
    let packets = after.packets.saturating_sub(before.packets);
    (packets, after.segments.saturating_sub(before.segments))
}

/// A counter of an emulator: its name, what is said of it, and where it is.
type Counter = (&'static str, &'static str, fn(&LinkEmulator) -> Amount);

const COUNTERS: [Counter; 3] = [
    ("lost", "(loss, as requested)", |found| found.lost),
    ("overflowed", "(its queue was full)", |found| {
        found.overflowed
    }),
    ("refused", "(refused by the kernel)", |found| found.refused),
];

pub(super) fn drops(both: &Both, share: f64) -> Vec<Drops> {
    let mut rows = Vec::new();
    for (before, after) in of_data(both) {
        let place = format!("the link emulator at {}", after.device);
        for (counter, words, of) in COUNTERS {
            let (packets, segments) = grown(of, before, after);
            let row = row(&format!("{place} {words}"), counter, segments, 1.0, share);
            rows.extend(row.map(|row| Drops { packets, ..row }));
        }
        let missed = after.missed_packets.saturating_sub(before.missed_packets);
        let (packets, segments) = grown(|of| of.arrived, before, after);
        let each = segments as f64 / packets.max(1) as f64;
        let by = format!("{place} (its ring was full)");
        rows.extend(row(&by, "missed", missed, each, share));
        let waiting = after.waiting_segments();
        let by = format!("{place} (they still wait there)");
        rows.extend(row(&by, "waiting", waiting, 1.0, share));
    }
    rows
}
