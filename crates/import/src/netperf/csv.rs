//! `netperf -o`, and files of comma-separated values made from its output: a header, one row per
//! run.

use super::interim::{self, Interim};
use super::notes;
use crate::Found;
use crate::columns::{Banner, is_known, is_size, is_throughput, plain, take, wanted};

pub(crate) struct Run {
    /// The number of its line, from 1.
    pub(crate) line: u64,
    /// The names of its columns with its values.
    pub(crate) row: Vec<(String, String)>,
    banner: Option<Banner>,
    interim: Vec<Interim>,
    note: Option<String>,
}

/// A value that does not have the form that its column requires.
pub(crate) struct NoNumber {
    pub(crate) line: u64,
    /// The column's name in the form of [`plain`].
    pub(crate) column: String,
    pub(crate) text: String,
    pub(crate) wanted: &'static str,
}

/// A text's rows, and the lines below a header that are not rows.
pub(crate) struct Rows {
    pub(crate) runs: Vec<Run>,
    pub(crate) strange: Vec<u64>,
}

/// The names in a line that starts a table: half of them are known, or a size and a throughput are
/// among them. `is_first` where the line follows a banner, or starts the text; only then one known
/// name is enough.
fn header(names: &[String], is_first: bool) -> Option<Vec<String>> {
    // A command line among the values of a human-readable table also contains selectors.
    if names
        .iter()
        .any(|name| name.contains('"') || name.parse::<f64>().is_ok())
        || (names.len() < 2 && !is_first)
    {
        return None;
    }
    let names: Vec<String> = names.iter().map(|name| plain(name)).collect();
    let known = names.iter().filter(|name| is_known(name)).count();
    let is_table = |names: &[String]| {
        names.iter().any(|name| is_size(name)) && names.iter().any(|name| is_throughput(name))
    };
    (known > 0 && (known * 2 >= names.len() || is_table(&names))).then_some(names)
}

pub(crate) fn fields(line: &str) -> Option<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(line.as_bytes());
    let record = reader.records().next()?.ok()?;
    Some(record.iter().map(|field| field.trim().to_owned()).collect())
}

pub(crate) fn is(text: &str) -> bool {
    let mut is_first = true;
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .take(50)
        .any(|line| {
            let is_header = fields(line).is_some_and(|names| header(&names, is_first).is_some());
            is_first = Banner::of(line).is_some();
            is_header
        })
}

/// The rows of a text. A repeated header, as in concatenated outputs, starts another table.
pub(crate) fn rows(text: &str) -> Result<Rows, NoNumber> {
    let (mut names, mut banner, mut is_first) = (Vec::new(), None, true);
    let (mut interim, mut warnings): (Vec<Interim>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut rows = Rows {
        runs: Vec::new(),
        strange: Vec::new(),
    };
    for (line, text) in (1..).zip(text.lines()) {
        if let Some(found) = Banner::of(text) {
            (banner, names, is_first) = (Some(found), Vec::new(), true);
            continue;
        }
        if text.starts_with("!!!") {
            warnings.push(text);
            continue;
        }
        let Some(mut values) = fields(text).filter(|_| !text.trim().is_empty()) else {
            continue;
        };
        if let Some(header) = header(&values, is_first) {
            (names, is_first) = (header, false);
            continue;
        }
        is_first = false;
        if let Some(result) = interim::of_fields(&values).filter(|_| names.len() != values.len()) {
            interim.push(result);
            continue;
        }
        // netperf ends a row with an additional comma where the last value is empty.
        while values.len() > names.len() && values.last().is_some_and(String::is_empty) {
            values.pop();
        }
        if names.is_empty() || values.len() != names.len() {
            rows.strange.push(line);
            continue;
        }
        let row: Vec<(String, String)> = names.iter().cloned().zip(values).collect();
        check(line, &row)?;
        let note = notes::confidence_note(warnings.drain(..));
        rows.runs.push(Run {
            line,
            row,
            banner: banner.clone(),
            interim: std::mem::take(&mut interim),
            note,
        });
    }
    Ok(rows)
}

fn check(line: u64, row: &[(String, String)]) -> Result<(), NoNumber> {
    for (column, text) in row.iter().filter(|(_, text)| !text.is_empty()) {
        if let Some(wanted) = wanted(column, text) {
            return Err(NoNumber {
                line,
                column: column.clone(),
                text: text.clone(),
                wanted,
            });
        }
    }
    Ok(())
}

pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Found>, String> {
    let rows = rows(text).map_err(|error| error.to_string())?;
    let strange: Vec<String> = rows.strange.iter().take(5).map(u64::to_string).collect();
    if rows.runs.is_empty() && !strange.is_empty() {
        return Err(format!(
            "it has no run: these lines do not have as many values as its header: {}",
            strange.join(", ")
        ));
    }
    let mut found: Vec<Found> = rows.runs.iter().map(|run| one(file, run)).collect();
    if let (Some(last), false) = (found.last_mut(), strange.is_empty()) {
        last.run.notes.push(format!(
            "{file}: lines that are not rows were left out: {}",
            strange.join(", ")
        ));
    }
    Ok(found)
}

pub(crate) fn one(file: &str, run: &Run) -> Found {
    let mut found = Found::of("netperf", file);
    found.run.place = Some(format!("line {}", run.line));
    take(&mut found, &run.row, run.banner.as_ref());
    if let Some(banner) = &run.banner {
        banner.levels(&mut found);
    }
    let is_sending = run.banner.as_ref().is_none_or(Banner::is_sending);
    found.run.intervals = interim::intervals(&run.interim, interim::own_end(is_sending));
    found.run.notes.extend(run.note.clone());
    notes::note(&mut found);
    found
}

impl std::fmt::Display for NoNumber {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(
            out,
            "line {}, column `{}`: `{}` is not {}",
            self.line, self.column, self.text, self.wanted
        )
    }
}
