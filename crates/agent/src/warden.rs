//! Holds a run to what a service confines it to.
//!
//! A thread reads the counts of all flows every [`INTERVAL`]. It ends the traffic when more bytes
//! have moved than the limits allow, or when the run lasts too long, whatever the other endpoint or
//! the client says. The loops of the traffic know nothing of it, and a run that is not confined has
//! no such thread.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bitcost_model::confinement::{Confinement, Rules};
use bitcost_model::protocol::{FailureCause, Prepare};
use bitcost_sys::clock::monotonic_ns;

use crate::abort::Abort;
use crate::refusal::Refusal;

const INTERVAL: Duration = Duration::from_millis(2);

/// How far a run may be ahead of its rate: the other endpoint's first message is not exactly at the
/// same time as this one's, and what a path held back comes at once.
const AHEAD: Duration = Duration::from_secs(1);

/// The time after the longest run in which both endpoints end their flows.
const AFTER: Duration = Duration::from_secs(10);

/// The longest that the end of a run is held back until its rate is that of the rule on average, so
/// that a client gains nothing by many short runs. It is shorter than the agent's lease.
const HELD_BACK: Duration = Duration::from_secs(3);

pub struct Warden {
    stop: Sender<()>,
    watching: JoinHandle<Option<Refusal>>,
}

impl Warden {
    /// Watches a run whose first message is due at `begin_ns`; absent where nothing confines it.
    pub fn start(
        confinement: Option<Confinement>,
        prepare: &Prepare,
        abort: &Abort,
        begin_ns: u64,
    ) -> Result<Option<Warden>, Refusal> {
        let Some(Confinement { rules, .. }) = confinement else {
            return Ok(None);
        };
        let bursts = prepare
            .parts
            .iter()
            .map(|part| part.conditions.burst_bytes());
        let limits = Limits {
            burst_bytes: bursts.fold(0, u64::saturating_add),
            rules,
        };
        let wait = Duration::from_nanos(begin_ns.saturating_sub(monotonic_ns()));
        let begin = Instant::now() + wait;
        let (stop, stopped) = mpsc::channel();
        let abort = abort.clone();
        let watching = thread::Builder::new()
            .spawn(move || limits.watch(&abort, begin, &stopped))
            .map_err(|error| format!("start the thread that enforces the run's limits: {error}"))?;
        Ok(Some(Warden { stop, watching }))
    }

    /// Ends the watch. Returns the rule by which the run was ended, if it was.
    pub fn finish(self) -> Option<Refusal> {
        drop(self.stop);
        let broken = self.watching.join();
        broken.unwrap_or_else(|_| Some("the run's limits were not enforced".into()))
    }
}

struct Limits {
    rules: Rules,
    /// The user data that the parts send at once.
    burst_bytes: u64,
}

impl Limits {
    fn watch(&self, abort: &Abort, begin: Instant, stopped: &Receiver<()>) -> Option<Refusal> {
        let mut broken = None;
        while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(INTERVAL) {
            if broken.is_none() {
                broken = self.broken(abort.moved_bytes(), begin.elapsed(), || {
                    abort.queued_bytes()
                });
                if broken.is_some() {
                    abort.stop_traffic();
                }
            }
        }
        thread::sleep(self.too_early(abort.moved_bytes(), begin.elapsed()));
        broken
    }

    /// The rule that the run has broken; `unsent` returns those of the bytes that are still in the
    /// kernel of this host.
    fn broken(
        &self,
        bytes: u64,
        elapsed: Duration,
        unsent: impl FnOnce() -> u64,
    ) -> Option<Refusal> {
        let seconds = elapsed.as_secs_f64();
        let longest_s = self.rules.max_duration_s;
        if elapsed > Duration::from_secs(longest_s.into()) + AFTER {
            return Some(Refusal {
                reason: format!(
                    "max-duration is {longest_s} s; the run was not over after {seconds:.0} s and was ended"
                ),
                cause: FailureCause::MaxDuration,
            });
        }
        let rate = self.rules.max_rate_bps?;
        let most =
            rate as f64 / 8.0 * (elapsed + AHEAD).as_secs_f64() + 2.0 * self.burst_bytes as f64;
        let is_over = |bytes: u64| bytes as f64 > most;
        (is_over(bytes) && is_over(bytes.saturating_sub(unsent()))).then(|| Refusal {
            reason: format!(
                "max-rate is {rate} bit/s over all flows; the run was ended after {bytes} bytes in {seconds:.2} s"
            ),
            cause: FailureCause::MaxRate,
        })
    }

    /// The time until this many bytes are within the rate on average.
    fn too_early(&self, bytes: u64, elapsed: Duration) -> Duration {
        let Some(rate) = self.rules.max_rate_bps else {
            return Duration::ZERO;
        };
        let seconds = bytes as f64 * 8.0 / rate.max(1) as f64;
        let due = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        due.saturating_sub(elapsed).min(HELD_BACK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// 1 Mbit/s for at most a minute, in bursts of 1000 bytes.
    fn limits() -> Limits {
        Limits {
            rules: Rules {
                max_rate_bps: Some(1_000_000),
                max_duration_s: 60,
                ..Rules::default()
            },
            burst_bytes: 1000,
        }
    }

    #[test]
    fn a_run_over_its_rate_is_ended_and_what_is_not_sent_yet_does_not_count() {
        let broken = |bytes, unsent| limits().broken(bytes, SECOND, || unsent);
        assert_eq!(broken(125_000, 0), None);
        assert_eq!(broken(252_000, 0), None);
        let rule = broken(252_001, 0).expect("over");
        let said = &rule.reason;
        assert!(said.starts_with("max-rate is 1000000 bit/s"), "{said}");
        assert_eq!(rule.cause, FailureCause::MaxRate);
        assert_eq!(broken(4_000_000, 3_900_000), None);
        assert_eq!(limits().broken(0, SECOND * 70, || 0), None);
        let rule = limits().broken(0, SECOND * 71, || 0).expect("over");
        let said = &rule.reason;
        assert!(said.starts_with("max-duration is 60 s"), "{said}");
        assert_eq!(rule.cause, FailureCause::MaxDuration);
        let mut unlimited = limits();
        unlimited.rules.max_rate_bps = None;
        assert_eq!(unlimited.broken(u64::MAX, SECOND, || 0), None);
    }

    #[test]
    fn the_end_of_a_run_is_held_back_until_its_average_is_the_rate() {
        assert_eq!(limits().too_early(250_000, SECOND), SECOND);
        assert_eq!(limits().too_early(125_000, SECOND), Duration::ZERO);
        assert_eq!(limits().too_early(u64::MAX, SECOND), HELD_BACK);
    }
}
