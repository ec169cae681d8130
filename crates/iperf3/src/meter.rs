//! What a test carries, and whether it still keeps the rules.

use std::time::Duration;

use crate::flow::Course;
use crate::protocol::code;
use crate::refusal::Refusal;
use crate::rules::Limits;

/// A test without any data for this long has lost its client.
const IDLE: Duration = Duration::from_secs(60);

/// Seconds above the allowed rate after which a test ends; one alone may be a queue that empties.
const TOLERATED_SECONDS: u32 = 2;

#[derive(Default)]
pub struct Meter {
    time: Duration,
    bytes: [u64; 2],
    second_at: Duration,
    second_bytes: [u64; 2],
    changed_at: Duration,
    /// The greater rate of the last second in bit/s, and how many seconds it was above the limit.
    bitrate: f64,
    is_judged: bool,
    above: u32,
}

impl Meter {
    /// Takes the bytes received and sent until this time of the test.
    pub fn note(&mut self, time: Duration, bytes: [u64; 2]) {
        if bytes != self.bytes {
            self.changed_at = time;
        }
        (self.time, self.bytes) = (time, bytes);
        let passed = time - self.second_at;
        if passed < Duration::from_secs(1) {
            return;
        }
        let new = [0, 1].map(|way| bytes[way] - self.second_bytes[way]);
        self.bitrate = new[0].max(new[1]) as f64 * 8.0 / passed.as_secs_f64();
        self.is_judged = false;
        (self.second_at, self.second_bytes) = (time, bytes);
    }

    /// Judges a running test.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn judge(&mut self, course: &Course, limits: &Limits) -> Result<(), Refusal> {
        let most = limits.time_of(&course.params);
        if self.time > most {
            let seconds = most.as_secs();
            return Err(match course.params.seconds {
                0 => {
                    let rule = format!("a test longer than --max-duration, {seconds} s");
                    Refusal::by("max-duration", code::EXPIRED, rule)
                }
                _ => {
                    let rule = format!("a test longer than requested: {seconds} s have passed");
                    Refusal::new(code::EXPIRED, rule)
                }
            });
        }
        if self.time - self.changed_at > IDLE {
            let rule = format!("a test without any data for {} s", IDLE.as_secs());
            return Err(Refusal::new(code::IDLE, rule));
        }
        let Some(limit) = limits.bitrate.filter(|_| !self.is_judged) else {
            return Ok(());
        };
        self.is_judged = true;
        self.above = match self.bitrate > limit as f64 * 1.1 {
            true => self.above + 1,
            false => 0,
        };
        if self.above >= TOLERATED_SECONDS {
            let rule = format!("{:.0} bit/s; --max-rate is {limit} bit/s", self.bitrate);
            return Err(Refusal::by("max-rate", code::TOTAL_RATE, rule));
        }
        Ok(())
    }
}
