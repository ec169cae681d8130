//! Quantities in the format in which the answers print them.

/// A rate in bit/s with a prefix for its size: `2.354 Gbit/s`.
pub(crate) fn rate(bits_per_second: f64) -> String {
    let (scale, unit) = match bits_per_second {
        bits if bits >= 1e9 => (1e9, "Gbit/s"),
        bits if bits >= 1e6 => (1e6, "Mbit/s"),
        bits if bits >= 1e3 => (1e3, "kbit/s"),
        _ => (1.0, "bit/s"),
    };
    format!("{:.3} {unit}", bits_per_second / scale)
}

/// A rate without insignificant digits: `2.5 Gbit/s`.
pub(crate) fn short_rate(bits_per_second: f64) -> String {
    let text = rate(bits_per_second);
    let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
    format!(
        "{} {unit}",
        number.trim_end_matches('0').trim_end_matches('.')
    )
}

/// Lines of a name and its value.
pub(crate) fn lines(rows: &[(String, String)]) -> String {
    let width = rows
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    rows.iter()
        .map(|(name, value)| format!("  {name:<width$}  {value}\n"))
        .collect()
}

/// Right-aligned columns under their headings.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let cells = |column: usize| {
        rows.iter()
            .filter_map(move |row| row.get(column))
            .map(|cell| cell.chars().count())
    };
    let widths: Vec<usize> = headings
        .iter()
        .enumerate()
        .map(|(column, heading)| {
            cells(column)
                .chain([heading.chars().count()])
                .max()
                .unwrap_or(0)
        })
        .collect();
    let line = |row: Vec<&str>| {
        let padded = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:>width$}"));
        format!("  {}\n", padded.collect::<Vec<_>>().join("  "))
    };
    let head = line(headings.to_vec());
    head + &rows
        .iter()
        .map(|row| line(row.iter().map(String::as_str).collect()))
        .collect::<String>()
}
