//! `netperf -o`, and files of comma-separated values made from such: a header, a row per run.

use crate::Found;
use crate::columns::{is_known, plain, take};

/// The names of a line of which most are known: it begins a table.
fn header(line: &str, names: &[String]) -> Option<Vec<String>> {
    // A command line among the values names selectors too.
    if line.contains('"') {
        return None;
    }
    let known = names.iter().filter(|name| is_known(name)).count();
    (names.len() > 1 && known >= 2 && known * 3 >= names.len()).then(|| names.iter().map(|name| plain(name)).collect())
}

fn fields(line: &str) -> Option<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(line.as_bytes());
    let record = reader.records().next()?.ok()?;
    Some(record.iter().map(|field| field.trim().to_owned()).collect())
}

pub(crate) fn is(text: &str) -> bool {
    text.lines().take(50).any(|line| fields(line).is_some_and(|names| header(line, &names).is_some()))
}

/// A header that comes again, as in outputs joined together, begins another table.
pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Found>, String> {
    let (mut names, mut test, mut found) = (Vec::new(), None, Vec::new());
    let mut strange = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(name) = super::banner(line) {
            (test, names) = (Some(name), Vec::new());
            continue;
        }
        let Some(mut values) = fields(line).filter(|_| !line.trim().is_empty()) else { continue };
        if let Some(header) = header(line, &values) {
            names = header;
            continue;
        }
        // netperf ends a row with a comma more where the last value is empty.
        while values.len() > names.len() && values.last().is_some_and(String::is_empty) {
            values.pop();
        }
        if names.is_empty() || values.len() != names.len() {
            strange.push(number);
            continue;
        }
        let mut run = Found::of("netperf", file);
        run.run.place = Some(format!("line {number}"));
        let row: Vec<(String, String)> = names.iter().cloned().zip(values).collect();
        take(&mut run, &row);
        if let Some(name) = &test {
            super::test(&mut run, name);
        }
        super::note(&mut run);
        found.push(run);
    }
    let strange: Vec<String> = strange.iter().take(5).map(usize::to_string).collect();
    if let (Some(last), false) = (found.last_mut(), strange.is_empty()) {
        last.run.notes.push(format!("{file}: lines that are no row were left out: {}", strange.join(", ")));
    }
    Ok(found)
}
