//! Rates, times, shares and queue limits as lab files write them: always with a unit.

use toml_edit::Value;

use crate::section::shown;
use bitcost_model::Invalid;
use bitcost_model::shaping::{PPM, QueueLimit};
use bitcost_model::units::{parse_bytes, parse_duration, parse_rate};

/// Longest time in a shaping, in microseconds: a minute.
const TIME_MAX_US: u64 = 60_000_000;

/// Longest interrupt moderation, in microseconds: longer than that of any network card.
const MODERATION_MAX_US: u32 = 10_000;

/// The allowed form of each quantity, in words.
pub(crate) const RATE: &str = "a rate with its unit, such as \"1G\" or \"250 Mbit/s\"";
pub(crate) const TIME: &str = "a time with its unit, such as \"20ms\" or \"500us\", up to a minute";
/// The allowed form of [`moderation`], in words.
pub const MODERATION: &str =
    "a time with its unit, such as \"20us\", up to 10 ms; \"0us\" turns it off";
pub(crate) const SHARE: &str = "a share from \"0%\" to \"100%\", such as \"1%\" or \"0.01%\"";
pub(crate) const LIMIT: &str = "\"1000 packets\" (a super-packet counts once), \"5000 segments\", or bytes such as \"2500000 B\"";
pub(crate) const BYTES: &str = "bytes with their unit, such as \"500000 B\" or \"64KiB\"";

/// A rate in bit/s.
pub fn rate(value: &Value) -> Result<u64, Invalid> {
    let text = with_unit(value, RATE)?;
    parse_rate(text).map_err(|_| refused(value, RATE))
}

/// A time in microseconds.
pub fn time(value: &Value) -> Result<u64, Invalid> {
    let text = with_unit(value, TIME)?;
    if number_of(text) == Some(0.0) {
        return Ok(0);
    }
    let time = parse_duration(text).map_err(|_| refused(value, TIME))?;
    let us = u64::try_from(time.as_nanos().div_ceil(1000)).unwrap_or(u64::MAX);
    if us <= TIME_MAX_US {
        Ok(us)
    } else {
        Err(refused(value, TIME))
    }
}

/// The interval of an interrupt moderation in microseconds.
pub fn moderation(value: &Value) -> Result<u32, Invalid> {
    let us = time(value).map_err(|_| refused(value, MODERATION))?;
    u32::try_from(us)
        .ok()
        .filter(|us| *us <= MODERATION_MAX_US)
        .ok_or_else(|| refused(value, MODERATION))
}

/// A share in millionths.
pub fn share(value: &Value) -> Result<u32, Invalid> {
    let text = value
        .as_str()
        .and_then(|text| text.trim().strip_suffix('%'));
    let percent = text
        .and_then(|text| text.trim().parse::<f64>().ok())
        .ok_or_else(|| refused(value, SHARE))?;
    let ppm = (percent * f64::from(PPM) / 100.0).round();
    let is_lost = percent > 0.0 && ppm == 0.0;
    if (0.0..=f64::from(PPM)).contains(&ppm) && !is_lost && percent >= 0.0 {
        Ok(ppm as u32)
    } else {
        Err(refused(value, SHARE))
    }
}

/// The limit of a queue.
pub fn limit(value: &Value) -> Result<QueueLimit, Invalid> {
    let text = with_unit(value, LIMIT)?;
    let count = |unit: &str| {
        let text = text
            .strip_suffix(unit)
            .or_else(|| text.strip_suffix(&unit[..unit.len() - 1]))?;
        text.trim().parse::<u32>().ok().filter(|count| *count > 0)
    };
    let found = if let Some(count) = count("packets") {
        Some(QueueLimit::Packets(count))
    } else if let Some(count) = count("segments") {
        Some(QueueLimit::Segments(count))
    } else {
        bytes_of(text).map(QueueLimit::Bytes)
    };
    found.ok_or_else(|| refused(value, LIMIT))
}

/// A count of bytes.
pub fn bytes(value: &Value) -> Result<u32, Invalid> {
    let text = with_unit(value, BYTES)?;
    bytes_of(text)
        .and_then(|bytes| u32::try_from(bytes).ok())
        .ok_or_else(|| refused(value, BYTES))
}

fn bytes_of(text: &str) -> Option<u64> {
    let text = ["bytes", "byte"]
        .iter()
        .find_map(|unit| text.strip_suffix(unit))
        .unwrap_or(text);
    parse_bytes(text).ok().filter(|bytes| *bytes > 0)
}

fn refused(value: &Value, allowed: &str) -> Invalid {
    Invalid(format!("is {}; allowed: {allowed}", shown(value)))
}

/// The number at the start of a text with a unit.
fn number_of(text: &str) -> Option<f64> {
    text.trim_end_matches(|c: char| !c.is_ascii_digit() && c != '.')
        .parse()
        .ok()
}

/// The text, unless it is a number alone, whose unit is unknown.
fn with_unit<'a>(value: &'a Value, allowed: &str) -> Result<&'a str, Invalid> {
    let is_number = |text: &str| text.trim().parse::<f64>().is_ok();
    match value.as_str() {
        Some(text) if !is_number(text) => Ok(text.trim()),
        None if !(value.is_integer() || value.is_float()) => Err(refused(value, allowed)),
        _ => Err(Invalid(format!(
            "is {}, which has no unit; allowed: {allowed}",
            shown(value)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use bitcost_model::shaping::{show_limit, show_rate, show_share, show_time};

    use super::*;

    #[test]
    fn what_is_shown_reads_back() {
        for bps in [1, 999, 1000, 2_500_000, 1_000_000_000, 2_500_000_000] {
            assert_eq!(rate(&show_rate(bps).into()), Ok(bps));
        }
        for us in [1, 500, 1000, 20_000, 1500] {
            assert_eq!(time(&show_time(us).into()), Ok(us));
        }
        for ppm in [1, 100, 10_000, 1_000_000] {
            assert_eq!(share(&show_share(ppm).into()), Ok(ppm));
        }
        for known in [
            QueueLimit::Packets(1000),
            QueueLimit::Segments(5),
            QueueLimit::Bytes(2_621_440),
        ] {
            assert_eq!(limit(&show_limit(known).into()), Ok(known));
        }
        assert_eq!(limit(&"1 packet".into()), Ok(QueueLimit::Packets(1)));
        assert_eq!(limit(&"2.5MiB".into()), Ok(QueueLimit::Bytes(2_621_440)));
        assert_eq!(time(&"0ms".into()), Ok(0));
    }
}
