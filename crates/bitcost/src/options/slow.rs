//! Rates that carry no message within the time of a run: mostly a letter was forgotten.

use std::time::Duration;

use bitcost_model::conditions::Conditions;
use bitcost_model::units::show_duration;

use crate::failure::Failure;

/// Refuses a rate at which the second message would come after the end of the run, of the run
/// itself and of its background workloads. `option` is how the rate is named where it was written.
pub fn refuse_slow(
    conditions: &Conditions,
    mtu_bytes: Option<u32>,
    option: &str,
) -> Result<(), Failure> {
    let window = conditions.window_limit();
    let own = too_slow(conditions, window, mtu_bytes, option);
    let mut others = conditions.background.iter();
    let found = own.or_else(|| {
        others.find_map(|part| {
            let why = too_slow(part, window, mtu_bytes, "rate")?;
            Some(format!("--background: {why}"))
        })
    });
    match found {
        Some(why) => Err(Failure::Usage(why)),
        None => Ok(()),
    }
}

/// What is wrong with the rate of one workload; absent where nothing is.
fn too_slow(
    conditions: &Conditions,
    window: Duration,
    mtu_bytes: Option<u32>,
    option: &str,
) -> Option<String> {
    let rate = conditions.paced_messages_per_second(mtu_bytes);
    let rate = rate.or(conditions.transaction_rate.map(f64::from))?;
    let every = Duration::try_from_secs_f64(1.0 / rate).unwrap_or(Duration::MAX);
    if every <= window {
        return None;
    }
    let (every, window) = (show_duration(every), show_duration(window));
    let bytes = conditions.message_size_bytes;
    let what = match conditions.rate_bps {
        Some(bps) => format!("{option}: {bps} bit/s is a message of {bytes} B every {every}"),
        None => format!("the rate is a message or transaction every {every}"),
    };
    Some(format!(
        "{what}, longer than the run's {window}; choose a higher rate (`10M` is 10 Mbit/s), smaller messages or a longer time"
    ))
}
