//! Numbers in a format for people: at least three significant digits, whole numbers in full.

use bitcost_analysis::metrics::Better;
use bitcost_analysis::statistics::Interval;
pub use bitcost_model::units::plain;
use bitcost_model::units::{DIGITS, decimals};

/// `10638 [10500, 10800]`; without brackets where there are no bounds.
pub fn interval(interval: &Interval) -> String {
    let of = match (interval.value, interval.high) {
        (0.0, Some(high)) => high,
        (value, _) => value,
    };
    interval.with_places(decimals(of, DIGITS))
}

/// The place of the first significant digit: 1 for 24.5, −2 for 0.037; 0 for 0.
fn first_place(value: f64) -> i32 {
    if value == 0.0 {
        0
    } else {
        value.abs().log10().floor() as i32
    }
}

/// A number rounded at a place: `24000` at 3, `0.37` at −2.
fn rounded(value: f64, place: i32) -> String {
    if place > 0 {
        let unit = 10f64.powi(place);
        return format!("{:.0}", (value / unit).round() * unit);
    }
    format!("{value:.*}", place.unsigned_abs().min(6) as usize)
}

/// `5.29 ± 0.21 s`, or `960 Mbit/s [910, 1000]` where one bound is farther: a value with three digits, and its bounds with
/// the same decimals. `unit` begins with a space.
pub fn known(interval: &Interval, unit: &str) -> String {
    let Interval { value, low, high } = *interval;
    let Some((low, high)) = low.zip(high) else {
        return format!("{}{unit}", plain(value));
    };
    let shown = |value: f64| rounded(value, first_place(interval.value) - 2);
    let [below, above] = [value - low, high - value].map(shown);
    match below == above {
        true => format!("{}\u{a0}±\u{a0}{above}{unit}", shown(value)),
        false => format!(
            "{}{unit} [{},\u{a0}{}]",
            shown(value),
            shown(low),
            shown(high)
        ),
    }
}

/// `12.1 ± 0.6 Gbit/s`: a rate in Mbit/s, in units of 10^3.
pub fn throughput(mbps: &Interval) -> String {
    let (scale, unit) = match mbps.value {
        mbps if mbps >= 1e3 => (1e-3, " Gbit/s"),
        mbps if mbps >= 1.0 => (1.0, " Mbit/s"),
        _ => (1e3, " kbit/s"),
    };
    known(&mbps.map(|value| value * scale), unit)
}

/// How much better a metric became: `×1.69 [1.50, 1.80]`; if it was or became 0 there is no ratio,
/// and a sentence says so.
pub fn improvement(metric: &str, ratio: &Interval) -> String {
    match bitcost_analysis::metrics::metric(metric).map(|metric| metric.better) {
        Some(Better::Lower) if ratio.value == 0.0 => "from 0".to_owned(),
        _ if ratio.value == 0.0 => "to 0".to_owned(),
        _ => format!("×{}", interval(ratio)),
    }
}

/// A change with its sign, and its unit between it and the brackets: `+5.1 % [+3.0, +7.2]`.
pub fn signed(interval: &Interval, unit: &str, places: usize) -> String {
    let Interval { value, low, high } = *interval;
    let unit = match unit {
        "" => String::new(),
        unit => format!(" {unit}"),
    };
    let value = with_sign(value, places);
    let Some((low, high)) = low.zip(high) else {
        return format!("{value}{unit}");
    };
    format!(
        "{value}{unit} [{}, {}]",
        with_sign(low, places),
        with_sign(high, places)
    )
}

/// The greatest change that is printed: beyond it, only that it is greater.
const GREATEST: f64 = 9999.0;

/// A number with its sign; a number that rounds to 0 has none.
fn with_sign(value: f64, places: usize) -> String {
    if value > GREATEST {
        return format!(">+{GREATEST:.0}");
    }
    let text = format!("{value:+.places$}");
    if text.contains(|letter: char| matches!(letter, '1'..='9')) {
        text
    } else {
        text[1..].to_owned()
    }
}

/// Like [`signed`], with as many decimals as the largest of its numbers needs.
pub fn signed_like_plain(interval: &Interval, unit: &str) -> String {
    let all = [Some(interval.value), interval.low, interval.high];
    let largest = all.into_iter().flatten().map(f64::abs).fold(0.0, f64::max);
    signed(interval, unit, decimals(largest, DIGITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_say_nothing_are_short() {
        let interval = Interval {
            value: 18.9,
            low: Some(-100.0),
            high: Some(72_138_327.4),
        };
        assert_eq!(signed(&interval, "%", 1), "+18.9 % [-100.0, >+9999]");
    }

    #[test]
    fn figures_have_three_digits() {
        let shown = |value, low, high| {
            let interval = Interval {
                value,
                low: Some(low),
                high: Some(high),
            };
            known(&interval, " s").replace('\u{a0}', " ")
        };
        assert_eq!(shown(5.29, 5.08, 5.5), "5.29 ± 0.21 s");
        assert_eq!(shown(0.367, 0.257, 0.477), "0.367 ± 0.110 s");
        assert_eq!(shown(11.84, 8.3, 14.0), "11.8 s [8.3, 14.0]");
        assert_eq!(shown(24_123.0, 21_869.0, 26_377.0), "24100 ± 2300 s");
        assert_eq!(shown(0.0, 0.0, 0.0), "0.00 ± 0.00 s");
        assert_eq!(known(&Interval::alone(5.29), " s"), "5.29 s");
    }

    #[test]
    fn digits_are_sensible() {
        let shown: Vec<String> = [10_638.4, 999.6, 18.0, 1.69, 0.28, 0.0123, 0.0, 0.9999]
            .map(plain)
            .into();
        assert_eq!(
            shown,
            [
                "10638", "1000", "18.0", "1.69", "0.280", "0.0123", "0.00", "1.00"
            ]
        );
        let both = Interval {
            value: 1.694,
            low: Some(1.5),
            high: Some(12.0),
        };
        assert_eq!(interval(&both), "1.69 [1.50, 12.00]");
        assert_eq!(interval(&Interval::alone(7.0)), "7.00");
        assert_eq!(improvement("throughput_mbps", &both), "×1.69 [1.50, 12.00]");
        let nothing = Interval {
            value: 0.0,
            low: Some(0.0),
            high: Some(0.0),
        };
        let of_nothing =
            ["retransmits", "throughput_mbps"].map(|metric| improvement(metric, &nothing));
        assert_eq!(of_nothing, ["from 0", "to 0"]);
        let change = Interval {
            value: 67.84,
            low: Some(-1.0),
            high: Some(70.0),
        };
        assert_eq!(
            signed_like_plain(&change, "points"),
            "+67.8 points [-1.0, +70.0]"
        );
        let hardly = Interval {
            value: -0.4,
            low: Some(-1.2),
            high: Some(0.0),
        };
        assert_eq!(signed(&hardly, "%", 0), "0 % [-1, 0]");
        assert_eq!(signed(&Interval::alone(5.12), "", 1), "+5.1");
    }
}
