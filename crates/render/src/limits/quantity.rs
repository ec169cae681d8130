//! Quantities and tables in the format in which the answers print them.

/// A rate in bit/s with a prefix for its size: `2.354 Gbit/s`.
pub(super) fn rate(bits_per_second: f64) -> String {
    let (scale, unit) = match bits_per_second {
        bits if bits >= 1e9 => (1e9, "Gbit/s"),
        bits if bits >= 1e6 => (1e6, "Mbit/s"),
        bits if bits >= 1e3 => (1e3, "kbit/s"),
        _ => (1.0, "bit/s"),
    };
    format!("{:.3} {unit}", bits_per_second / scale)
}

/// A rate without insignificant digits: `2.5 Gbit/s`.
pub(super) fn short_rate(bits_per_second: f64) -> String {
    let text = rate(bits_per_second);
    let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
    let number = number.trim_end_matches('0').trim_end_matches('.');
    format!("{number} {unit}")
}

pub(super) fn named_values(rows: &[(&str, String)]) -> String {
    let width = widest(rows.iter().map(|(name, _)| *name));
    rows.iter()
        .map(|(name, value)| format!("  {name:<width$}  {value}\n"))
        .collect()
}

/// Right-aligned columns under their headings.
pub(super) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let width = |(column, heading): (usize, &&str)| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        widest(cells.map(String::as_str)).max(heading.chars().count())
    };
    let widths: Vec<usize> = headings.iter().enumerate().map(width).collect();
    let line = |row: Vec<&str>| {
        let padded = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:>width$}"));
        format!("  {}\n", padded.collect::<Vec<_>>().join("  "))
    };
    let rows = rows
        .iter()
        .map(|row| row.iter().map(String::as_str).collect());
    std::iter::once(headings.to_vec())
        .chain(rows)
        .map(line)
        .collect()
}

fn widest<'a>(words: impl Iterator<Item = &'a str>) -> usize {
    words.map(|word| word.chars().count()).max().unwrap_or(0)
}
