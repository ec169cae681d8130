//! `netperf -k`: `SELECTOR=value`, a selector a line.

use crate::Found;
use crate::columns::{is_known, plain, take};

pub(crate) fn is(text: &str) -> bool {
    pairs(text).any(|(name, _)| is_selector(name) && is_known(name))
}

fn is_selector(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_')
}

fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.split_once('='))
}

/// A selector that comes again begins another run.
pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Found>, String> {
    let mut runs: Vec<Vec<(String, String)>> = Vec::new();
    let mut test = None;
    for line in text.lines() {
        test = test.or_else(|| super::banner(line));
        let Some((name, value)) = line.split_once('=').filter(|(name, _)| is_selector(name)) else { continue };
        let name = plain(name);
        let begins = runs.last().is_none_or(|row| row.iter().any(|(known, _)| *known == name));
        if begins {
            runs.push(Vec::new());
        }
        if let Some(row) = runs.last_mut() {
            row.push((name, value.to_owned()));
        }
    }
    let run = |row: &Vec<(String, String)>| {
        let mut found = Found::of("netperf", file);
        take(&mut found, row);
        if let Some(name) = &test {
            super::test(&mut found, name);
        }
        super::note(&mut found);
        found
    };
    Ok(runs.iter().map(run).collect())
}
