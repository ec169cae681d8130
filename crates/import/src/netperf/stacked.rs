//! The tables of netperf's `-O`: four lines of heads with stacked words, then a line of values.
//! Columns that do not fit one line follow as another table.

use crate::columns::{is_known, plain};

/// Lines of heads above a line of values.
const HEADS: usize = 4;

/// The rows of a run's tables; `None` where the lines have another form.
pub(super) fn rows(lines: &[&str]) -> Option<Vec<Vec<(String, String)>>> {
    let mut rows: Vec<Vec<(String, String)>> = Vec::new();
    let mut rest = lines;
    while let Some(first) = rest.iter().position(|line| !line.trim().is_empty()) {
        let heads: Vec<&str> = rest[first..]
            .iter()
            .take(HEADS)
            .copied()
            .take_while(|line| !is_value(line))
            .collect();
        let begins = begins(&heads);
        let titles: Vec<String> = (0..begins.len())
            .map(|column| {
                plain(
                    &heads
                        .iter()
                        .map(|line| field(line, &begins, column))
                        .collect::<Vec<_>>()
                        .join(" "),
                )
            })
            .collect();
        if titles.iter().filter(|title| is_known(title)).count() * 2 < titles.len().max(1) {
            return Some(rows).filter(|rows| !rows.is_empty());
        }
        rest = &rest[first + heads.len()..];
        let value = rest.iter().position(|line| !line.trim().is_empty())?;
        rest = &rest[value..];
        let table = rest
            .iter()
            .take_while(|line| !line.trim().is_empty())
            .enumerate();
        let count = table
            .take_while(|(place, line)| *place == 0 || is_value(line))
            .count();
        for line in &rest[..count] {
            let values = (0..begins.len()).map(|column| field(line, &begins, column));
            let values: Vec<(String, String)> = titles.iter().cloned().zip(values).collect();
            match rows.last_mut() {
                Some(row) if row.iter().all(|(name, _)| !titles.contains(name)) => {
                    row.extend(values)
                }
                _ => rows.push(values),
            }
        }
        rest = &rest[count..];
    }
    (!rows.is_empty()).then_some(rows)
}

/// True for a line with a number: heads have no separate number.
fn is_value(line: &str) -> bool {
    line.split_whitespace()
        .any(|word| word.parse::<f64>().is_ok())
}

/// The places at which columns start: before them every line has a space, or nothing.
fn begins(heads: &[&str]) -> Vec<usize> {
    let lines: Vec<Vec<char>> = heads.iter().map(|line| line.chars().collect()).collect();
    let width = lines.iter().map(Vec::len).max().unwrap_or(0);
    let blank = |place: usize| {
        lines
            .iter()
            .all(|line| line.get(place).is_none_or(|letter| *letter == ' '))
    };
    (0..width)
        .filter(|place| !blank(*place) && (*place == 0 || blank(place - 1)))
        .collect()
}

fn field(line: &str, begins: &[usize], column: usize) -> String {
    let until = begins.get(column + 1).copied().unwrap_or(usize::MAX);
    let letters = line
        .chars()
        .skip(begins[column])
        .take(until.saturating_sub(begins[column]));
    letters.collect::<String>().trim().to_owned()
}
