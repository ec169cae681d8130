//! Quantities that people write and read: durations and byte counts with their units.

use std::time::Duration;

use crate::Invalid;

/// Bytes in one KiB, the unit of service demand.
pub const KIB: f64 = 1024.0;

/// The rate at which these bytes were carried.
pub fn bits_per_second(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 * 8.0 / seconds
}

/// The bandwidth-delay product: rate × round-trip time, in whole bytes.
pub fn bdp_bytes(rate_bps: u64, rtt: Duration) -> u64 {
    let bit_ns = u128::from(rate_bps) * rtt.as_nanos();
    u64::try_from((bit_ns + 4_000_000_000) / 8_000_000_000).unwrap_or(u64::MAX)
}

/// Units of time with the words for each, and their length in seconds.
const TIMES: [(&[&str], f64); 6] = [
    (&["ns"], 1e-9),
    (&["us", "µs", "usec"], 1e-6),
    (&["ms", "msec"], 1e-3),
    (&["", "s", "sec", "secs", "second", "seconds"], 1.0),
    (&["m", "min", "minute", "minutes"], 60.0),
    (&["h", "hour", "hours"], 3600.0),
];

/// Letters for multiples: the letter, the decimal and the binary multiple.
const MULTIPLES: [(&str, f64, f64); 4] = [
    ("k", 1e3, 1024.0),
    ("m", 1e6, 1_048_576.0),
    ("g", 1e9, 1_073_741_824.0),
    ("t", 1e12, 1_099_511_627_776.0),
];

/// Reads a duration such as `2s`, `250ms`, `1.5 sec`, `10min` or `1h`; a bare number is seconds.
pub fn parse_duration(text: &str) -> Result<Duration, Invalid> {
    let error = || {
        Invalid(format!(
            "`{text}` is not a duration; allowed: a number above 0 with ns, us, ms, s, min or h, such as `2s` or `250ms` (a number alone is in seconds)"
        ))
    };
    let (number, unit) = split_unit(text);
    let known = TIMES.iter().find(|(names, _)| names.contains(&unit));
    let (_, scale) = known.ok_or_else(error)?;
    let seconds = number.parse::<f64>().map_err(|_| error())? * scale;
    if !(seconds > 0.0 && seconds <= 366.0 * 86_400.0) {
        return Err(error());
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Reads a rate in bit/s such as `1G`, `2.5 Gbit/s`, `100Mbit`, `100mbps` or `500k`, in units of
/// 10^3.
pub fn parse_rate(text: &str) -> Result<u64, Invalid> {
    let error = || {
        Invalid(format!(
            "`{text}` is not a rate; allowed: a number of bit/s with k, M, G or T, such as `1G`, `500M` or `250 Mbit/s` (a rate in bytes per second is multiplied by 8)"
        ))
    };
    let (number, unit) = split_unit(text);
    let (letter, tail) = multiple(unit);
    // A large B is a byte, unless all of the word is large.
    let is_bytes = tail.starts_with('B') && !tail.starts_with("BIT");
    let is_bits = matches!(
        tail.to_lowercase().as_str(),
        "" | "b" | "bit" | "bits" | "bit/s" | "bits/s" | "bps" | "b/s"
    );
    let number = number.parse::<f64>().map_err(|_| error())?;
    let rate = number * letter_scale(letter, |(_, decimal, _)| *decimal);
    if is_bits && !is_bytes && (1.0..9e15).contains(&rate) {
        Ok(rate.round() as u64)
    } else {
        Err(error())
    }
}

/// Reads a count of bytes such as `1448`, `64KiB`, `1MB` or `1k`; `k`, `M`, `G` and `T` alone are
/// binary, as in netperf and iperf3, `kB` and `MB` decimal.
pub fn parse_bytes(text: &str) -> Result<u64, Invalid> {
    let (number, unit) = split_unit(text);
    let (letter, tail) = multiple(unit);
    let scale = match tail {
        "" | "iB" => Some(letter_scale(letter, |(_, _, binary)| *binary)),
        "B" => Some(letter_scale(letter, |(_, decimal, _)| *decimal)),
        "byte" | "bytes" if letter.is_empty() => Some(1.0),
        _ => None,
    };
    let bytes = scale.and_then(|scale| Some(number.parse::<f64>().ok()? * scale));
    let whole = bytes.filter(|bytes| bytes.fract() == 0.0 && (0.0..9e15).contains(bytes));
    whole.map(|bytes| bytes as u64).ok_or_else(|| {
        Invalid(format!(
            "`{text}` is not a count of bytes; allowed: a number with B, k, M or G (powers of 1024), kB, MB or GB (of 1000), KiB, MiB or GiB, such as `8192` or `64KiB`"
        ))
    })
}

/// The letter of a unit that multiplies, and the rest of the unit.
fn multiple(unit: &str) -> (&str, &str) {
    let first = unit.get(..1).unwrap_or("").to_ascii_lowercase();
    let is_letter = MULTIPLES.iter().any(|(letter, ..)| *letter == first);
    unit.split_at(usize::from(is_letter))
}

/// The multiple of a letter; 1 without one.
fn letter_scale(letter: &str, scale: fn(&(&str, f64, f64)) -> f64) -> f64 {
    let lower = letter.to_lowercase();
    let known = MULTIPLES.iter().find(|(known, ..)| *known == lower);
    known.map_or(1.0, scale)
}

fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

/// A duration as people read it: `75 s`, `3 min 20 s`, `2 h 05 min`.
pub fn show_duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 10.0 {
        return format!("{seconds:.1} s");
    }
    let seconds = seconds.round() as u64;
    match seconds {
        0..90 => format!("{seconds} s"),
        90..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A count with its noun: `1 block`, `5 blocks`.
pub fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// Significant digits that are shown.
pub const DIGITS: usize = 3;

/// The number of decimals that show this many significant digits of a number after rounding.
pub fn decimals(value: f64, digits: usize) -> usize {
    let scientific = format!("{value:.*e}", digits - 1);
    let exponent = scientific
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok())
        .unwrap_or(2);
    (digits as i32 - 1 - exponent).clamp(0, 6) as usize
}

/// `10638`, `1.69`, `0.0123`: at least three significant digits, whole numbers in full.
pub fn plain(value: f64) -> String {
    format!("{value:.*}", decimals(value, DIGITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_carry_their_units() {
        assert_eq!(parse_duration("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        for text in [
            "10m",
            "10min",
            "10 minutes",
            "600",
            "600 sec",
            "600 seconds",
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs(600)), "{text}");
        }
        assert_eq!(parse_duration("50 µs"), parse_duration("50usec"));
        assert_eq!(parse_duration("1.5"), Ok(Duration::from_millis(1500)));
    }

    #[test]
    fn bytes_carry_their_units() {
        assert_eq!(parse_bytes("64KiB"), Ok(65_536));
        assert_eq!(parse_bytes("1M"), Ok(1_048_576));
        assert_eq!(parse_bytes("1.5kB"), Ok(1500));
        assert_eq!(parse_bytes("1GB"), Ok(1_000_000_000));
        assert_eq!(parse_bytes("1448 bytes"), Ok(1448));
        // The sign of Kelvin, whose small letter is k.
        assert!(parse_bytes("1\u{212a}").is_err() && parse_rate("1\u{212a}").is_err());
        for text in [
            "", "KiB", "-1", "0.3", "1 parsec", "1e99", "1Mbit", "1kbytes",
        ] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_rate_is_written_in_the_ways_of_many_programs() {
        for text in [
            "100M",
            "100m",
            "100Mbit",
            "100mbit",
            "100 Mbit/s",
            "100mbps",
            "100Mbps",
            "100Mb",
            "100 Mb/s",
            "100000k",
            "0.1G",
            "100000000",
            "100MBIT",
        ] {
            assert_eq!(parse_rate(text), Ok(100_000_000), "{text}");
        }
        assert_eq!(parse_rate("1T"), Ok(1_000_000_000_000));
        for text in [
            "", "M", "-1M", "0", "1 parsec", "1 Mi", "100MB/s", "100MBps", "100MB", "1e99", "1/10",
        ] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_that_make_no_sense_are_refused() {
        for text in ["0", "-1s", "2 parsecs", "", "s", "1e9h", "nan"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_are_shown_short() {
        assert_eq!(show_duration(Duration::from_secs(75)), "75 s");
        assert_eq!(show_duration(Duration::from_secs(200)), "3 min 20 s");
        assert_eq!(show_duration(Duration::from_secs(7500)), "2 h 05 min");
    }
}
