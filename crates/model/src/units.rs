//! Quantities that people write and read: durations and byte counts with their units.

use std::time::Duration;

/// Bytes in one KiB, the unit of service demand.
pub const KIB: f64 = 1024.0;

/// Reads a duration such as `2s`, `250ms`, `1.5s`, `10m` or `1h`; a bare number is seconds.
///
/// # Errors
/// A sentence that says what was found and what is allowed.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, f64); 6] = [
        ("ns", 1e-9),
        ("us", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3600.0),
    ];
    let (number, unit) = split_unit(text);
    let scale = match unit {
        "" => 1.0,
        unit => match UNITS.iter().find(|(name, _)| *name == unit) {
            Some((_, scale)) => *scale,
            None => return Err(duration_error(text)),
        },
    };
    let seconds = number.parse::<f64>().map_err(|_| duration_error(text))? * scale;
    if !(seconds > 0.0 && seconds <= 366.0 * 86_400.0) {
        return Err(duration_error(text));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Reads a rate in bit/s such as `1G`, `2.5Gbit/s` or `500k`, in units of 10^3.
///
/// # Errors
/// A sentence that says what was found and what is allowed.
pub fn parse_rate(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, f64); 7] = [
        ("", 1.0),
        ("k", 1e3),
        ("K", 1e3),
        ("m", 1e6),
        ("M", 1e6),
        ("g", 1e9),
        ("G", 1e9),
    ];
    let error = || {
        format!(
            "`{text}` is not a rate; allowed: a number of bit/s with k, M or G, such as `1G` or `500M`"
        )
    };
    let (number, unit) = split_unit(text);
    let unit = ["bit/s", "bps"]
        .iter()
        .find_map(|tail| unit.strip_suffix(tail))
        .unwrap_or(unit);
    let (_, scale) = UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(error)?;
    let rate = number.parse::<f64>().map_err(|_| error())? * scale;
    if (1.0..9e15).contains(&rate) {
        Ok(rate.round() as u64)
    } else {
        Err(error())
    }
}

/// Reads a count of bytes such as `1448`, `64KiB`, `1MB` or `1k`; `k`, `M` and `G` alone are
/// binary, as in netperf and iperf3, `kB` and `MB` decimal.
///
/// # Errors
/// A sentence that says what was found and what is allowed.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, f64); 14] = [
        ("", 1.0),
        ("B", 1.0),
        ("k", 1024.0),
        ("K", 1024.0),
        ("KiB", 1024.0),
        ("kB", 1e3),
        ("KB", 1e3),
        ("m", 1_048_576.0),
        ("M", 1_048_576.0),
        ("MiB", 1_048_576.0),
        ("MB", 1e6),
        ("g", 1_073_741_824.0),
        ("G", 1_073_741_824.0),
        ("GiB", 1_073_741_824.0),
    ];
    let error = || {
        format!(
            "`{text}` is not a count of bytes; allowed: a number with B, kB, KiB, MB, MiB or GiB, such as `8192` or `64KiB`"
        )
    };
    let (number, unit) = split_unit(text);
    let (_, scale) = UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(error)?;
    let bytes = number.parse::<f64>().map_err(|_| error())? * scale;
    if bytes.fract() == 0.0 && (0.0..9e15).contains(&bytes) {
        Ok(bytes as u64)
    } else {
        Err(error())
    }
}

fn duration_error(text: &str) -> String {
    format!(
        "`{text}` is not a duration; allowed: a number above 0 with ns, us, ms, s, m or h, such as `2s` or `250ms` (a bare number is seconds)"
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_carry_their_units() {
        assert_eq!(parse_duration("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_duration("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(parse_duration("1.5"), Ok(Duration::from_millis(1500)));
    }

    #[test]
    fn bytes_carry_their_units() {
        assert_eq!(parse_bytes("64KiB"), Ok(65_536));
        assert_eq!(parse_bytes("1M"), Ok(1_048_576));
        assert_eq!(parse_bytes("1.5kB"), Ok(1500));
        for text in ["", "KiB", "-1", "0.3", "1 parsec", "1e99"] {
            assert!(parse_bytes(text).is_err(), "{text}");
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
