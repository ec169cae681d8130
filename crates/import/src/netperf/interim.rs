//! Interim results of a running test (`-D`), for the intervals between them.

use std::collections::BTreeMap;

use bitcost_model::imported::ImportedInterval;
use bitcost_model::record::Role;

use super::columns::{mbps, number};

pub(super) struct Interim {
    rate: f64,
    units: String,
    seconds: f64,
    /// Seconds since 1970.
    ending: f64,
}

impl Interim {
    /// `Interim result: 23465.42 10^6bits/s over 1.089 seconds ending at 1795275694.072`
    pub(super) fn of_line(line: &str) -> Option<Interim> {
        let words = line.trim().strip_prefix("Interim result:")?;
        let words: Vec<&str> = words.split_whitespace().collect();
        match words[..] {
            [
                rate,
                units,
                "over",
                seconds,
                "seconds",
                "ending",
                "at",
                ending,
            ] => Interim::of([rate, units, seconds, ending]),
            _ => None,
        }
    }

    /// `20826.16,10^6bits/s,1.120,1795275750.660`
    pub(super) fn of_fields(fields: &[String]) -> Option<Interim> {
        match fields {
            [rate, units, seconds, ending] if units.ends_with("/s") => {
                Interim::of([rate, units, seconds, ending])
            }
            _ => None,
        }
    }

    pub(super) fn of([rate, units, seconds, ending]: [&str; 4]) -> Option<Interim> {
        Some(Interim {
            rate: number(rate)?,
            units: units.to_owned(),
            seconds: number(seconds)?,
            ending: number(ending)?,
        })
    }
}

/// The intervals of the interim results, in time since the start of the first. `end` is netperf's
/// local endpoint.
pub(super) fn intervals(all: &[Interim], end: Role) -> Vec<ImportedInterval> {
    let Some(begin) = all.first().map(|first| first.ending - first.seconds) else {
        return Vec::new();
    };
    let interval = |interim: &Interim| {
        let end_s = interim.ending - begin;
        let figure = match mbps(interim.rate, &interim.units) {
            Some(rate) => ("throughput_mbps".to_owned(), rate),
            None => ("messages_per_second".to_owned(), interim.rate),
        };
        ImportedInterval {
            end,
            begin_s: (end_s - interim.seconds).max(0.0),
            end_s,
            figures: BTreeMap::from([figure]),
        }
    };
    let has_time = |interim: &&Interim| interim.seconds > 0.0;
    all.iter().filter(has_time).map(interval).collect()
}
