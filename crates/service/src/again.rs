//! A client that tries again where the service is busy.

use std::thread::sleep;
use std::time::Duration;

use crate::client::Unreached;
use crate::own_key::random;

/// How often a service is tried in all.
pub const TRIES: u32 = 5;

/// The wait between two tries, in milliseconds: at random between these, so that the clients that a
/// service dropped do not all come back at the same time.
const WAIT_MS: [u64; 2] = [500, 1500];

/// Does this until the service is not busy, but no more than [`TRIES`] times; `tell` gets a line for
/// people before each wait.
pub fn patiently<T>(
    tell: &mut dyn FnMut(&str),
    mut attempt: impl FnMut() -> Result<T, Unreached>,
) -> Result<T, Unreached> {
    for next in 2..=TRIES {
        let at = match attempt() {
            Err(Unreached::Busy { at }) => at,
            other => return other,
        };
        let wait = wait();
        tell(&format!(
            "the service at {at} is busy; trying again in {:.1} s ({next} of {TRIES})",
            wait.as_secs_f64()
        ));
        sleep(wait);
    }
    attempt()
}

fn wait() -> Duration {
    let [least, most] = WAIT_MS;
    let extra = random().map_or(0, u64::from_be_bytes) % (most - least + 1);
    Duration::from_millis(least + extra)
}
