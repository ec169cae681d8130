//! netperf's outputs, in any order in one file: tables for people, comma-separated values and tables
//! made from them, and `SELECTOR=value`.

mod banner;
mod columns;
mod human;

use std::collections::BTreeMap;

use self::banner::Banner;
use self::columns::{Row, is_known, is_size, is_throughput, plain, take};
use crate::run::{Done, Run, Runs};

/// The longest line, in bytes, and the most lines of a table for people, of pairs of a run, and of
/// warnings about one.
const LINE_BYTES: usize = 100_000;
const MOST_LINES: usize = 10_000;
const MOST_PAIRS: usize = 1000;
const MOST_WIDTHS: usize = 10;

/// The most lines that are named as left out.
const MOST_STRANGE: usize = 5;

/// Lines of a file in which a table of comma-separated values starts.
const HEAD_LINES: usize = 50;

pub(crate) fn is(text: &str) -> bool {
    let is_known_pair = |line| pair(line).is_some_and(|(name, _)| is_known(&plain(name)));
    let is_header = |(at, line): (usize, &str)| {
        fields(line).is_some_and(|names| header(&names, at == 0).is_some())
    };
    let head = text.lines().filter(|line| !line.trim().is_empty());
    let mut lines = text.lines();
    lines.any(|line| Banner::of(line).is_some() || is_known_pair(line))
        || head.enumerate().take(HEAD_LINES).any(is_header)
}

pub(crate) fn read(file: &str, text: &str, runs: &mut Runs) -> Done {
    let mut reader = Reader {
        file,
        is_first: true,
        ..Reader::default()
    };
    for (number, line) in (1..).zip(text.lines()) {
        match line.len() > LINE_BYTES {
            true => reader.leave_out(number),
            false => reader.line(number, line, runs)?,
        }
    }
    reader.end(runs)?;
    let strange: Vec<String> = reader.strange.iter().map(u64::to_string).collect();
    let strange = strange.join(", ");
    match runs.all.last_mut() {
        _ if strange.is_empty() => {}
        Some(last) => last.note(format!(
            "{file}: lines that are not rows were left out: {strange}"
        )),
        None => {
            return Err(format!(
                "it has no run: these lines do not have as many values as its header: {strange}"
            ));
        }
    }
    Ok(())
}

/// A width in netperf's warning about results that vary by more than was requested; absent for
/// other lines.
fn width(line: &str) -> Option<String> {
    let (what, share) = line.trim().strip_prefix("!!!")?.rsplit_once(':')?;
    let what = what.trim().trim_start_matches("Confidence intervals: ");
    let (what, share) = (what.trim(), share.trim());
    share.ends_with('%').then(|| format!("{what} {share}"))
}

/// True for a line that a running test prints (`-D`), which is no result.
fn is_interim(line: &str) -> bool {
    line.starts_with("Interim result:") || (line.starts_with("NETPERF_") && line.contains("]="))
}

/// `SELECTOR=value`
fn pair(line: &str) -> Option<(&str, &str)> {
    let is_letter = |letter| matches!(letter, 'A'..='Z' | '0'..='9' | '_');
    let pair = line.split_once('=');
    pair.filter(|(name, _)| !name.is_empty() && name.chars().all(is_letter))
}

fn fields(line: &str) -> Option<Vec<String>> {
    let line = Some(line).filter(|line| line.len() <= LINE_BYTES)?;
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(line.as_bytes());
    let record = reader.records().next()?.ok()?;
    Some(record.iter().map(|field| field.trim().to_owned()).collect())
}

/// The names in a line that starts a table: half of them are known, or a size and a throughput are
/// among them. `is_first` where the line follows a banner, or starts the text; only then one known
/// name is enough.
fn header(names: &[String], is_first: bool) -> Option<Vec<String>> {
    // A command line among the values of a human-readable table also contains selectors.
    let is_value = |name: &String| name.contains('"') || name.parse::<f64>().is_ok();
    if names.iter().any(is_value) || (names.len() < 2 && !is_first) {
        return None;
    }
    let names: Vec<String> = names.iter().map(|name| plain(name)).collect();
    let known = names.iter().filter(|name| is_known(name)).count();
    let has = |is: fn(&str) -> bool| names.iter().any(|name| is(name));
    let is_table = has(is_size) && has(is_throughput);
    (known > 0 && (known * 2 >= names.len() || is_table)).then_some(names)
}

#[derive(Default)]
struct Reader<'a> {
    file: &'a str,
    /// The first lines below a header that are not rows.
    strange: Vec<u64>,
    /// The banner above the lines that are being read, with its line.
    banner: Option<(u64, Banner)>,
    /// True until the first line below a banner, or of the text.
    is_first: bool,
    has_run: bool,
    names: Vec<String>,
    /// `SELECTOR=value` of one run, and the line of the first.
    pairs: BTreeMap<String, String>,
    pairs_line: u64,
    /// Lines of another form below the banner.
    lines: Vec<&'a str>,
    /// The widths in warnings about the next run.
    widths: Vec<String>,
}

impl<'a> Reader<'a> {
    fn leave_out(&mut self, number: u64) {
        if self.strange.len() < MOST_STRANGE {
            self.strange.push(number);
        }
    }

    fn line(&mut self, number: u64, line: &'a str, runs: &mut Runs) -> Done {
        if let Some(banner) = Banner::of(line) {
            self.end(runs)?;
            *self = Reader {
                file: self.file,
                strange: std::mem::take(&mut self.strange),
                banner: Some((number, banner)),
                is_first: true,
                ..Reader::default()
            };
        } else if line.starts_with("!!!") {
            let width = width(line).filter(|_| self.widths.len() < MOST_WIDTHS);
            self.widths.extend(width);
        } else if is_interim(line) {
            self.end_pairs(runs)?;
        } else if let Some((name, value)) = pair(line) {
            let name = plain(name);
            if self.pairs.contains_key(&name) || self.pairs.len() == MOST_PAIRS {
                self.end_pairs(runs)?;
            }
            if self.pairs.is_empty() {
                self.pairs_line = number;
            }
            let value = value.trim().trim_matches('"');
            self.pairs.insert(name, value.to_owned());
        } else {
            self.values(number, line, runs)?;
        }
        Ok(())
    }

    /// A header, a row below one, or a line of a table for people. A repeated header, as in
    /// concatenated outputs, starts another table.
    fn values(&mut self, number: u64, line: &'a str, runs: &mut Runs) -> Done {
        let Some(mut values) = fields(line).filter(|_| !line.trim().is_empty()) else {
            self.keep(line);
            return Ok(());
        };
        let is_first = std::mem::take(&mut self.is_first);
        if let Some(names) = header(&values, is_first) {
            self.names = names;
            return Ok(());
        }
        // `20826.16,10^6bits/s,1.120,1795275750.660`: an interim result.
        let is_interim = matches!(&values[..], [_, units, _, _] if units.ends_with("/s"));
        if is_interim && self.names.len() != values.len() {
            return Ok(());
        }
        // netperf ends a row with an additional comma where the last value is empty.
        while values.len() > self.names.len() && values.last().is_some_and(String::is_empty) {
            values.pop();
        }
        if self.names.is_empty() && self.banner.is_some() {
            self.keep(line);
        } else if self.names.is_empty() || values.len() != self.names.len() {
            self.leave_out(number);
        } else {
            let row = self.names.iter().cloned().zip(values).collect();
            self.push(number, &row, runs)?;
        }
        Ok(())
    }

    fn keep(&mut self, line: &'a str) {
        if self.lines.len() < MOST_LINES {
            self.lines.push(line);
        }
    }

    /// Takes a run. Its row is empty where its test did not finish.
    fn push(&mut self, line: u64, row: &Row, runs: &mut Runs) -> Done {
        self.has_run = true;
        let mut run = Run::of("netperf", self.file);
        run.imported.place = Some(format!("line {line}"));
        let banner = self.banner.as_ref().map(|(_, banner)| banner);
        take(&mut run, row, banner);
        banner.iter().for_each(|banner| banner.levels(&mut run));
        let widths = std::mem::take(&mut self.widths).join(", ");
        if !widths.is_empty() {
            let missed = "netperf did not reach the interval that -I asks for";
            run.note(format!("{missed}: {widths}"));
        }
        if run.imported.figures.is_empty() {
            let error = "no row of results with known columns: the test did not finish, or its \
                columns have no names (netperf -k prints them)";
            run.error = Some(error.to_owned());
        }
        runs.push(run)
    }

    fn end_pairs(&mut self, runs: &mut Runs) -> Done {
        let pairs = std::mem::take(&mut self.pairs);
        if pairs.keys().any(|name| is_known(name)) {
            self.push(self.pairs_line, &pairs.into_iter().collect(), runs)?;
        }
        Ok(())
    }

    fn end(&mut self, runs: &mut Runs) -> Done {
        self.end_pairs(runs)?;
        let Some((line, banner)) = self.banner.as_ref().filter(|_| !self.has_run) else {
            return Ok(());
        };
        let (line, rows) = (*line, human::rows(banner, &self.lines));
        let mut rows = rows.iter();
        rows.try_for_each(|row| self.push(line, row, runs))
    }
}
