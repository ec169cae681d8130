//! What the server allows.

use std::time::Duration;

use bitcost_model::units::show_duration;

use crate::params::Params;
use crate::protocol::code;
use crate::refusal::Refusal;

#[derive(Clone, Debug)]
pub struct Limits {
    /// The longest test, with what it omits.
    pub duration: Duration,
    /// Bit/s of a test in one direction, over all of its streams; absent: not limited.
    pub bitrate: Option<u64>,
    pub clients: usize,
    /// Flows of all tests together; each has a thread.
    pub flows: usize,
}

/// The time by which a test may outlast what its client asked for.
pub const GRACE: Duration = Duration::from_secs(10);

impl Limits {
    /// Judges a test before it starts.
    pub fn check(&self, params: &Params) -> Result<(), Refusal> {
        let limit = show_duration(self.duration);
        let seconds = params.seconds.saturating_add(params.omit_seconds);
        let is_counted = params.bytes > 0 || params.blocks > 0;
        let refuse = |what: &str| {
            let rule = format!("{what}; --max-duration is {limit}");
            Err(Refusal::by("max-duration", code::DURATION, rule))
        };
        if params.seconds == 0 && !is_counted {
            return refuse("a test without an end");
        }
        if Duration::from_secs(seconds) > self.duration {
            return refuse(&format!("a test of {seconds} s"));
        }
        self.check_rate(params)
    }

    fn check_rate(&self, params: &Params) -> Result<(), Refusal> {
        let Some(limit) = self.bitrate else {
            return Ok(());
        };
        let asked = match params.total_bitrate() {
            Some(asked) if asked <= limit => return Ok(()),
            Some(asked) => format!("{asked} bit/s"),
            None => "a test without a rate (-b)".to_owned(),
        };
        let rule = format!("{asked}; --max-rate is {limit} bit/s for all streams of a direction");
        Err(Refusal::by("max-rate", code::TOTAL_RATE, rule))
    }

    pub fn time_of(&self, params: &Params) -> Duration {
        match params.seconds {
            0 => self.duration,
            seconds => Duration::from_secs(seconds + params.omit_seconds) + GRACE,
        }
    }
}
