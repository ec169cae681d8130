//! The readings of a window, as many as a record has room for.

use crate::protocol::{FRAME_BYTES_MAX, RECORD_BYTES_MAX, encode};
use crate::record::Sample;

/// The room for readings in a record, in bytes, of those that a message may have ([`RECORD_BYTES_MAX`]).
const ROOM: usize = RECORD_BYTES_MAX / 4 * 3;

pub struct Readings {
    /// Each with its length in bytes: those of a peer may differ as it likes.
    kept: Vec<(Sample, usize)>,
    /// The length of all that are kept.
    bytes: usize,
    last: Option<Sample>,
    seen: u64,
    /// One in this many is kept.
    every: u64,
    room: usize,
}

impl Default for Readings {
    fn default() -> Readings {
        Readings {
            kept: Vec::new(),
            bytes: 0,
            last: None,
            seen: 0,
            every: 1,
            room: ROOM,
        }
    }
}

impl Readings {
    /// Takes the next reading. Where they need more room than there is, every second one is dropped.
    pub fn push(&mut self, reading: Sample) {
        if self.seen.is_multiple_of(self.every) {
            let bytes = length(&reading);
            self.bytes += bytes;
            self.kept.push((reading.clone(), bytes));
        }
        while self.bytes > self.room && self.kept.len() > 1 {
            let mut is_kept = [true, false].into_iter().cycle();
            self.kept.retain(|_| is_kept.next() == Some(true));
            self.bytes = self.kept.iter().map(|(_, bytes)| bytes).sum();
            self.every *= 2;
        }
        self.seen += 1;
        self.last = Some(reading);
    }

    /// Those that are kept, and the last one.
    pub fn all(self) -> Vec<Sample> {
        let mut all: Vec<Sample> = self.kept.into_iter().map(|(of, _)| of).collect();
        let end_ns = all.last().map(|of| of.at_ns);
        all.extend(self.last.filter(|of| Some(of.at_ns) != end_ns));
        all
    }
}

fn length(reading: &Sample) -> usize {
    encode(reading).map_or(FRAME_BYTES_MAX, |frame| frame.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_of_a_long_window_have_room_in_a_record() {
        let at = |at_ns| Sample {
            at_ns,
            ..Sample::default()
        };
        let room = 100 * length(&at(1000));
        for (count, every) in [(90, 1), (150, 2), (390, 4), (3000, 32)] {
            let mut readings = Readings {
                room,
                ..Readings::default()
            };
            (0..=count).for_each(|number| readings.push(at(number)));
            let kept = readings.all();
            let times: Vec<u64> = kept.iter().map(|reading| reading.at_ns).collect();
            let wanted = (0..count).step_by(every).chain([count]);
            assert_eq!(times, wanted.collect::<Vec<_>>());
            assert!(kept.len() <= 101, "{}", kept.len());
        }
    }

    #[test]
    fn long_readings_between_short_ones_have_no_more_room() {
        let at = |at_ns, is_long| Sample {
            at_ns,
            softnet: vec![Default::default(); if is_long { 50 } else { 0 }],
            ..Sample::default()
        };
        let room = 10 * length(&at(0, true));
        let are_long: [fn(u64) -> bool; 2] = [
            |number| number.is_multiple_of(2),
            |number| !number.is_power_of_two(),
        ];
        for is_long in are_long {
            let mut readings = Readings {
                room,
                ..Readings::default()
            };
            for number in 0..200 {
                readings.push(at(number, is_long(number)));
                let kept: usize = readings.kept.iter().map(|(of, _)| length(of)).sum();
                assert!(kept <= room, "{kept} of {room} bytes at {number}");
            }
        }
    }
}
