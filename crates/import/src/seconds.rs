//! Times in seconds since 1970, as RFC 3339 in UTC.

/// Seconds since 1970 as `2026-11-21T09:00:00Z`; absent for times outside the years with four
/// digits.
pub(crate) fn rfc3339(seconds: f64) -> Option<String> {
    if !(0.0..253_402_300_800.0).contains(&seconds) {
        return None;
    }
    let whole = seconds as i64;
    let (days, rest) = (whole / 86_400, whole % 86_400);
    let (year, month, day) = date(days);
    Some(format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    ))
}

/// Year, month and day of a day since 1970 (Gregorian calendar, years that begin in March).
fn date(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::rfc3339;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(rfc3339(0.0).unwrap(), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(1_709_210_096.9).unwrap(), "2024-02-29T12:34:56Z");
        assert_eq!(rfc3339(4_102_444_799.0).unwrap(), "2099-12-31T23:59:59Z");
        assert_eq!((rfc3339(-1.0), rfc3339(f64::NAN)), (None, None));
    }
}
