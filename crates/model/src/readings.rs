//! The readings of a window, as many as a record has room for.

use bitcost_model::protocol::{FRAME_BYTES_MAX, FromAgent, RECORD_BYTES_MAX, encode};
use bitcost_model::record::Sample;

/// The room for readings in a record, in bytes, of those that a message may have ([`RECORD_BYTES_MAX`]).
const ROOM: usize = RECORD_BYTES_MAX / 4 * 3;

pub struct Readings {
    kept: Vec<Sample>,
    /// One in this many is kept.
    every: u64,
    /// The longest of those that were looked at, in bytes.
    longest: usize,
    room: usize,
}

impl Readings {
    pub fn new(first: Sample) -> Readings {
        Readings {
            kept: vec![first],
            every: 1,
            longest: 0,
            room: ROOM,
        }
    }

    /// Takes the reading with this number, which is one more than that of the last one. Where they need more room than
    /// there is, every second one is dropped.
    pub fn push(&mut self, number: u64, reading: Sample) {
        if !number.is_multiple_of(self.every) {
            return;
        }
        // Readings differ little in length.
        if self.kept.len().is_power_of_two() {
            self.longest = self.longest.max(length(&reading));
        }
        self.kept.push(reading);
        if self.kept.len() * self.longest > self.room {
            let mut is_kept = [true, false].into_iter().cycle();
            self.kept.retain(|_| is_kept.next() == Some(true));
            self.every *= 2;
        }
    }

    /// Those that are kept, and the last one of the window.
    pub fn with(mut self, last: Sample) -> Vec<Sample> {
        self.kept.push(last);
        self.kept
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
            let mut readings = Readings::new(at(0));
            readings.room = room;
            (1..count).for_each(|number| readings.push(number, at(number)));
            let kept = readings.with(at(count));
            let times: Vec<u64> = kept.iter().map(|reading| reading.at_ns).collect();
            let wanted = (0..count).step_by(every).chain([count]);
            assert_eq!(times, wanted.collect::<Vec<_>>());
            assert!(kept.len() <= 101, "{}", kept.len());
        }
    }
}
