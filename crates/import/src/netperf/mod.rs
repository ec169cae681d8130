//! netperf's outputs, in any order in one file: tables for people, comma-separated values and tables
//! made from them, and `SELECTOR=value`.

mod columns;
mod human;

use std::sync::LazyLock;

use regex::Regex;

use self::columns::{Column, Row};
use crate::run::{Done, Runs};

/// The longest line, in bytes, and the most lines of a table for people and of warnings about a run.
const LINE_BYTES: usize = 100_000;
const MOST_LINES: usize = 10_000;
const MOST_WIDTHS: usize = 10;

/// The lines of a file of which one starts a table of comma-separated values, where none has a banner.
const HEAD_LINES: u64 = 50;

/// The line above a result: `MIGRATED TCP STREAM TEST from … to … : nodelay : first burst 4`.
static BANNER: LazyLock<Regex> = LazyLock::new(|| {
    let banner = "^(?:MIGRATED )?(?<test>[A-Za-z0-9/_|]+(?: [A-Za-z0-9/_|]+)*) TEST(?: from.*)? to (?<remote>[^ :]*)(?<more>.*)$";
    Regex::new(banner).expect("a pattern")
});

/// What a banner says, as the columns of a row.
fn banner(line: &str) -> Option<Row> {
    let line = Some(line).filter(|line| line.contains(" TEST"))?;
    let found = BANNER.captures(line)?;
    let test = found["test"].replace(['/', ' '], "_").to_ascii_lowercase();
    let test = test.replace("request_response", "rr");
    let test = test.replace("send|recv", "rr").replace('|', "_");
    let direction = match &*test {
        test if test.ends_with("rr") || test.contains("connect") => "Send|Recv",
        test if test.contains("maerts") || test.ends_with("receive") => "Receive",
        _ => "Send",
    };
    let mut row = Row::default();
    row.put_named("(test)", &test);
    row.put_named("direction", direction);
    row.put_named("remote_(host)", &found["remote"]);
    for word in found["more"].split(" : ").map(str::trim) {
        match word.strip_prefix("first burst ") {
            Some(burst) => row.put_named("burst_size", burst),
            None if word == "nodelay" => {
                row.put_named("local_nodelay", "1");
                row.put_named("remote_nodelay", "1");
            }
            None => row.put_named(
                "(confidence)",
                word.strip_suffix(" conf.").unwrap_or_default(),
            ),
        }
    }
    Some(row)
}

pub(crate) fn read(runs: &mut Runs, text: &str) -> Done {
    let mut reader = Reader::default();
    for (number, line) in (1..).zip(text.lines()) {
        match line.len() > LINE_BYTES {
            true => drop(reader.strange.get_or_insert(number)),
            false => reader.line(number, line, runs)?,
        }
    }
    reader.end(runs)?;
    let left_out = reader
        .strange
        .map(|line| format!("lines that are not rows were left out, the first is line {line}"));
    left_out.iter().for_each(|note| runs.note(note));
    match runs.all.is_empty() && !reader.columns.is_empty() {
        true => Err(match left_out {
            Some(note) => format!("it holds no run: {note}"),
            None => "it holds no run".to_owned(),
        }),
        false => Ok(()),
    }
}

/// A width in netperf's warning about results that vary by more than was requested; absent for
/// other lines.
fn width(line: &str) -> Option<String> {
    let (what, share) = line.trim().strip_prefix("!!!")?.rsplit_once(':')?;
    let what = what.trim().trim_start_matches("Confidence intervals: ");
    let (what, share) = (what.trim(), share.trim());
    share.ends_with('%').then(|| format!("{what} {share}"))
}

/// `SELECTOR=value`
fn pair(line: &str) -> Option<(Option<Column>, &str)> {
    let is_letter = |letter| matches!(letter, 'A'..='Z' | '0'..='9' | '_');
    let (name, value) = line.split_once('=')?;
    let is_name = !name.is_empty() && name.chars().all(is_letter);
    is_name.then(|| (Column::of(name), value))
}

fn fields(line: &str) -> Option<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(line.as_bytes());
    let record = reader.records().next()?.ok()?;
    Some(record.iter().map(|field| field.trim().to_owned()).collect())
}

/// The columns in a line that starts a table: half of them are known, or a size and a throughput are
/// among them. `is_first` where the line follows a banner, or starts the text; only then one known
/// name is enough.
fn header(names: &[String], is_first: bool) -> Option<Vec<Option<Column>>> {
    // A command line among the values of a human-readable table also contains selectors.
    let is_value = |name: &String| name.contains('"') || name.parse::<f64>().is_ok();
    if names.iter().any(is_value) || (names.len() < 2 && !is_first) {
        return None;
    }
    let columns: Vec<_> = names.iter().map(|name| Column::of(name)).collect();
    let known = || columns.iter().flatten();
    let is_table = known().any(Column::is_size) && known().any(Column::is_throughput);
    let count = known().count();
    (count > 0 && (count * 2 >= names.len() || is_table)).then_some(columns)
}

#[derive(Default)]
struct Reader<'a> {
    /// The first line below a header that is no row.
    strange: Option<u64>,
    /// What the banner above the lines that are being read says, with its line.
    banner: Option<(u64, Row)>,
    /// False until the first line below a banner, or of the text.
    has_line: bool,
    has_run: bool,
    columns: Vec<Option<Column>>,
    /// `SELECTOR=value` of one run, and the line of the first.
    pairs: Row,
    pairs_line: u64,
    /// Lines of another form below the banner.
    lines: Vec<&'a str>,
    /// The widths in warnings about the next run.
    widths: Vec<String>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, number: u64, line: &'a str, runs: &mut Runs) -> Done {
        if let Some(row) = banner(line) {
            self.end(runs)?;
            *self = Reader {
                strange: self.strange,
                banner: Some((number, row)),
                ..Reader::default()
            };
        } else if line.starts_with("!!!") {
            let width = width(line).filter(|_| self.widths.len() < MOST_WIDTHS);
            self.widths.extend(width);
        } else if line.starts_with("Interim result:") || line.starts_with("NETPERF_INTERIM") {
            // What a running test prints (`-D`) is no result.
        } else if let Some((column, value)) = pair(line) {
            let Some(column) = column else {
                return Ok(());
            };
            if self.pairs.has(&column) {
                self.end_pairs(runs)?;
            }
            if self.pairs.is_empty() {
                self.pairs_line = number;
            }
            self.pairs.put(column, value);
        } else {
            self.values(number, line, runs)?;
        }
        Ok(())
    }

    /// A header, a row below one, or a line of a table for people. A repeated header, as in
    /// concatenated outputs, starts another table.
    fn values(&mut self, number: u64, line: &'a str, runs: &mut Runs) -> Done {
        if number > HEAD_LINES && self.banner.is_none() && self.columns.is_empty() {
            return Ok(());
        }
        let Some(mut values) = fields(line).filter(|_| !line.trim().is_empty()) else {
            self.keep(line);
            return Ok(());
        };
        let is_first = !std::mem::replace(&mut self.has_line, true);
        if let Some(columns) = header(&values, is_first) {
            self.columns = columns;
            return Ok(());
        }
        // `20826.16,10^6bits/s,1.120,1795275750.660`: an interim result.
        let is_interim = matches!(&values[..], [_, units, _, _] if units.ends_with("/s"));
        if is_interim && self.columns.len() != values.len() {
            return Ok(());
        }
        // netperf ends a row with an additional comma where the last value is empty.
        while values.len() > self.columns.len() && values.last().is_some_and(String::is_empty) {
            values.pop();
        }
        if self.columns.is_empty() && self.banner.is_some() {
            self.keep(line);
        } else if values.len() != self.columns.len() {
            self.strange.get_or_insert(number);
        } else {
            let mut row = Row::default();
            row.put_all(&self.columns, values.iter().map(String::as_str));
            self.push(number, row, runs)?;
        }
        Ok(())
    }

    fn keep(&mut self, line: &'a str) {
        if self.banner.is_some() && self.lines.len() < MOST_LINES {
            self.lines.push(line);
        }
    }

    /// Takes a run. Its row is empty where its test did not finish.
    fn push(&mut self, line: u64, mut row: Row, runs: &mut Runs) -> Done {
        self.has_run = true;
        if let Some((_, banner)) = &self.banner {
            row.join(banner.clone());
        }
        let mut run = runs.begin("netperf", Some(format!("line {line}")));
        row.take(&mut run);
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
        match pairs.is_empty() {
            true => Ok(()),
            false => self.push(self.pairs_line, pairs, runs),
        }
    }

    fn end(&mut self, runs: &mut Runs) -> Done {
        self.end_pairs(runs)?;
        let Some((line, banner)) = self.banner.as_ref().filter(|_| !self.has_run) else {
            return Ok(());
        };
        let (line, rows) = (*line, human::rows(banner, &self.lines));
        rows.into_iter()
            .try_for_each(|row| self.push(line, row, runs))
    }
}
