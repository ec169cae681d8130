//! The values of a row, converted to bitcost's units.

/// The names of a row, in the form of [`super::plain`], with its values.
pub(crate) type Row = [(String, String)];

/// A measured number: not below 0, which means *not measured*.
pub(crate) fn number(text: &str) -> Option<f64> {
    text.trim()
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// A rate in Mbit/s; absent where its units are unknown.
pub(crate) fn mbps(rate: f64, units: &str) -> Option<f64> {
    const UNITS: &[(&str, f64)] = &[
        ("10^3bits", 1e-3),
        ("10^6bits", 1.0),
        ("10^9bits", 1e3),
        ("kbits", 1e-3),
        ("mbits", 1.0),
        ("gbits", 1e3),
        ("kbytes", 8.0 * 1024.0 / 1e6),
        ("mbytes", 8.0 * 1_048_576.0 / 1e6),
        ("gbytes", 8.0 * 1_073_741_824.0 / 1e6),
        ("bytes", 8.0 / 1e6),
        ("bits", 1e-6),
    ];
    let units = units.trim().to_ascii_lowercase();
    UNITS
        .iter()
        .find(|(known, _)| units.starts_with(known))
        .map(|(_, factor)| rate * factor)
}
