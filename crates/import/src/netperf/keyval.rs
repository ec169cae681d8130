//! `netperf -k`: `SELECTOR=value`, one selector a line.

use super::interim::{self, Interim};
use super::notes;
use crate::Found;
use crate::columns::{Banner, is_known, plain, take};

pub(crate) fn is(text: &str) -> bool {
    text.lines()
        .filter_map(pair)
        .any(|(name, _)| is_known(&plain(name)))
}

fn pair(line: &str) -> Option<(&str, &str)> {
    line.split_once('=').filter(|(name, _)| is_selector(name))
}

fn is_selector(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_')
}

/// The state of a run whose lines are being read.
#[derive(Default)]
struct Part {
    line: usize,
    banner: Option<Banner>,
    row: Vec<(String, String)>,
    interim: Vec<Interim>,
    /// The values of an interim result, until its last one is read.
    pending: Vec<String>,
}

/// Reads the runs of a text. A banner starts another run, and so does a repeated selector.
pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Found>, String> {
    let (mut runs, mut part) = (Vec::new(), Part::default());
    let mut end = |part: &mut Part| {
        if !part.row.is_empty() {
            runs.push(found(file, part));
        }
        let banner = part.banner.take();
        *part = Part {
            banner,
            ..Part::default()
        };
    };
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(banner) = Banner::of(line) {
            end(&mut part);
            part.banner = Some(banner);
        } else if let Some((name, value)) = line
            .split_once("]=")
            .filter(|(name, _)| name.starts_with("NETPERF_"))
        {
            if !part.row.is_empty() {
                end(&mut part);
            }
            interim_value(&mut part, name, value);
        } else if let Some((name, value)) = pair(line) {
            let name = plain(name);
            if part.row.iter().any(|(known, _)| *known == name) {
                end(&mut part);
            }
            if part.row.is_empty() {
                part.line = number;
            }
            part.row
                .push((name, value.trim().trim_matches('"').to_owned()));
        }
    }
    end(&mut part);
    Ok(runs)
}

/// The four values of an interim result have a fixed order: result, units, interval, ending.
fn interim_value(part: &mut Part, name: &str, value: &str) {
    if name.starts_with("NETPERF_INTERIM_RESULT[") {
        part.pending.clear();
    }
    part.pending.push(value.trim().to_owned());
    if let [rate, units, seconds, ending] = &part.pending[..] {
        part.interim
            .extend(interim::of(rate, units, seconds, ending));
        part.pending.clear();
    }
}

fn found(file: &str, part: &Part) -> Found {
    let mut found = Found::of("netperf", file);
    found.run.place = Some(format!("line {}", part.line));
    take(&mut found, &part.row, part.banner.as_ref());
    if let Some(banner) = &part.banner {
        banner.levels(&mut found);
    }
    let is_sending = part.banner.as_ref().is_none_or(Banner::is_sending);
    found.run.intervals = interim::intervals(&part.interim, interim::own_end(is_sending));
    notes::note(&mut found);
    found
}
