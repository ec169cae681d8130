//! The readings of a window, as many as a record has room for.

use crate::protocol::{FRAME_BYTES_MAX, FromAgent, RECORD_BYTES_MAX, encode};
use crate::record::Sample;

/// The room for readings in a record, in bytes, of those that a message may have ([`RECORD_BYTES_MAX`]).
const ROOM: usize = RECORD_BYTES_MAX / 4 * 3;

pub struct Readings {
    kept: Vec<Sample>,
    last: Option<Sample>,
    seen: u64,
    /// One in this many is kept.
    every: u64,
    /// The longest of those that were looked at, in bytes.
    longest: usize,
    room: usize,
}

impl Default for Readings {
    fn default() -> Readings {
        Readings {
            kept: Vec::new(),
            last: None,
            seen: 0,
            every: 1,
            longest: 0,
            room: ROOM,
        }
    }
}

impl Readings {
    /// Takes the next reading. Where they need more room than there is, every second one is dropped.
    pub fn push(&mut self, reading: Sample) {
        if self.seen.is_multiple_of(self.every) {
            // Readings differ little in length.
            if self.kept.len().is_power_of_two() {
                self.longest = self.longest.max(length(&reading));
            }
            self.kept.push(reading.clone());
        }
        if self.kept.len() * self.longest > self.room {
            let mut is_kept = [true, false].into_iter().cycle();
            self.kept.retain(|_| is_kept.next() == Some(true));
            self.every *= 2;
        }
        self.seen += 1;
        self.last = Some(reading);
    }

    /// Those that are kept, and the last one.
    pub fn all(self) -> Vec<Sample> {
        let mut all = self.kept;
        let end_ns = all.last().map(|of| of.at_ns);
        all.extend(self.last.filter(|of| Some(of.at_ns) != end_ns));
        all
    }
}

fn length(reading: &Sample) -> usize {
    let frame = encode(&FromAgent::Progress(Box::new(reading.clone())));
    frame.map_or(FRAME_BYTES_MAX, |frame| frame.len())
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
}
