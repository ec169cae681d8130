//! Quantities that people type and read: durations and byte counts with their units.

use std::time::Duration;

/// Bytes in one KiB, the unit of service demand.
pub const KIB: f64 = 1024.0;

/// Reads a duration such as `2s`, `250ms`, `1.5s`, `10m` or `1h`; a bare number is seconds.
///
/// # Errors
/// A sentence that says what was found and what is allowed.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, f64); 6] = [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
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

fn duration_error(text: &str) -> String {
    format!(
        "`{text}` is not a duration; allowed: a number above 0 with ns, us, ms, s, m or h, such as `2s` or `250ms` (a bare number is seconds)"
    )
}

fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
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
