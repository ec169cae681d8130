//! What the server allows: how long, how fast, how many at the same time.

use std::sync::Arc;
use std::time::Duration;

use bitcost_model::units::show_duration;

use crate::params::Params;
use crate::protocol::{Refusal, code};

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
const GRACE: Duration = Duration::from_secs(10);

/// How far a test may be ahead of the allowed rate: blocks, and bursts of them, are sent at once.
const AHEAD: Duration = Duration::from_secs(10);

impl Limits {
    /// Judges a test before it starts.
    pub fn check(&self, params: &Params) -> Result<(), Refusal> {
        let limit = show_duration(self.duration);
        let seconds = params.seconds.saturating_add(params.omit_seconds);
        let is_counted = params.bytes > 0 || params.blocks > 0;
        let refuse = |what: &str| {
            let rule = format!("{what}; --max-duration is {limit}");
            Err(Refusal::new(code::DURATION, rule))
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
        Err(Refusal::new(code::TOTAL_RATE, rule))
    }

    pub fn time_of(&self, params: &Params) -> Duration {
        match params.seconds {
            0 => self.duration,
            seconds => Duration::from_secs(seconds + params.omit_seconds) + GRACE,
        }
    }

    /// Judges a running test by the bytes received and sent until this time of it.
    pub fn judge(&self, time: Duration, bytes: [u64; 2], params: &Params) -> Result<(), Refusal> {
        let most = self.time_of(params);
        if time > most {
            let seconds = most.as_secs();
            let rule = match params.seconds {
                0 => format!("a test longer than --max-duration, {seconds} s"),
                _ => format!("a test longer than requested: {seconds} s have passed"),
            };
            return Err(Refusal::new(code::EXPIRED, rule));
        }
        let (moved, seconds) = (bytes[0].max(bytes[1]), (time + AHEAD).as_secs_f64());
        match self.bitrate {
            Some(limit) if moved as f64 * 8.0 > limit as f64 * seconds => {
                let seconds = time.as_secs_f64();
                let rule = format!("{moved} bytes in {seconds:.1} s; --max-rate is {limit} bit/s");
                Err(Refusal::new(code::TOTAL_RATE, rule))
            }
            _ => Ok(()),
        }
    }
}

/// The tests that take place: a token for each of them, and for each of their flows.
#[derive(Default)]
pub struct Admission {
    clients: Arc<()>,
    flows: Arc<()>,
}

pub struct Admitted {
    _client: Arc<()>,
    _flows: Vec<Arc<()>>,
}

impl Admission {
    /// Admits a client that has not yet said how many flows it has; nothing is counted.
    pub fn check_clients(&self, limits: &Limits) -> Result<(), Refusal> {
        let most = limits.clients;
        if Arc::strong_count(&self.clients) <= most {
            return Ok(());
        }
        let rule = format!("another test; --max-clients is {most}, and that many are served");
        Err(Refusal::new(code::BUSY, rule))
    }

    pub fn admit(&mut self, flows: usize, limits: &Limits) -> Result<Admitted, Refusal> {
        self.check_clients(limits)?;
        let (present, most) = (Arc::strong_count(&self.flows) - 1, limits.flows);
        if present + flows > most {
            let rule = format!("{flows} flows in addition to {present}; --max-flows is {most}");
            return Err(Refusal::new(code::STREAMS, rule));
        }
        Ok(Admitted {
            _client: self.clients.clone(),
            _flows: vec![self.flows.clone(); flows],
        })
    }
}
