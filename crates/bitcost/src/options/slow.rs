//! Rates that carry no message within the time of a run: mostly a letter was forgotten.

use std::time::Duration;

use bitcost_model::conditions::Conditions;
use bitcost_model::units::{parse_rate, show_duration};

use crate::failure::Failure;

/// The lowest rate of a link, in bit/s: a packet of 1500 bytes takes a second.
const LINK_LEAST: u64 = 12_000;

/// Reads the rate of a link or of a flow without a time.
pub fn link_rate(text: &str) -> Result<u64, String> {
    let rate = parse_rate(text)?;
    if rate >= LINK_LEAST {
        return Ok(rate);
    }
    let number = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let bare = text.trim().parse().unwrap_or(rate as f64);
    let shown = format!("{bare} bit/s");
    let packet = show_duration(Duration::from_secs_f64(LINK_LEAST as f64 / bare));
    Err(format!(
        "`{text}` is {shown}, at which a packet of 1500 B takes {packet}; allowed: from 12k; write `{number}M` for {number} Mbit/s, `{number}G` for {number} Gbit/s"
    ))
}

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

#[cfg(test)]
mod tests {
    use bitcost_testkit::assert_says;

    use super::*;

    #[test]
    fn a_link_rate_without_a_letter_is_refused_with_what_it_means() {
        assert_eq!(link_rate("2.5G"), Ok(2_500_000_000));
        let refused = link_rate("2.5").expect_err("it has no letter");
        assert_says(&refused, &["`2.5` is 2.5 bit/s", "write `2.5M`"]);
        assert!(link_rate("12k").is_ok() && link_rate("11k").is_err());
    }
}
