//! What iperf3, iperf 2, nuttcp, nttcp and netperf print in lines, in any order in one file: lines of a
//! known form, netperf's tables for people, `SELECTOR=value`, and comma-separated values, also in
//! tables made from them.

mod forms;
mod iperf;
mod rows;
mod tables;

use self::forms::Line;
use self::rows::{Column, Row};
use self::tables::Table;
use crate::run::{Done, Runs};

/// The longest line, in bytes.
const LINE_BYTES: usize = 100_000;

/// In how many lines a table of comma-separated values starts, where it has no banner.
const HEAD_LINES: u64 = 50;

pub(crate) fn read(runs: Runs, text: &str) -> Result<Runs, String> {
    let mut reader = Reader {
        runs,
        ..Reader::default()
    };
    for (number, line) in (1..).zip(text.lines()) {
        reader.number = number;
        match line.len() > LINE_BYTES {
            true => reader.leave_out(),
            false => reader.line(line)?,
        }
    }
    reader.end()?;
    if let Some(line) = reader.left_out {
        let note = "lines that are not rows were left out, the first is line";
        reader.runs.note(&format!("{note} {line}"));
    }
    match !reader.columns.is_empty() && reader.runs.all.is_empty() {
        true => Err("its table holds no run".to_owned()),
        false => Ok(reader.runs),
    }
}

/// `SELECTOR=value`
fn pair(line: &str) -> Option<(&str, &str)> {
    let is_letter = |letter| matches!(letter, 'A'..='Z' | '0'..='9' | '_');
    let is_name = |name: &str| !name.is_empty() && name.chars().all(is_letter);
    line.split_once('=').filter(|(name, _)| is_name(name))
}

fn fields(line: &str) -> Option<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(line.trim().as_bytes());
    let record = reader.records().next()?.ok()?;
    Some(record.iter().map(|field| field.trim().to_owned()).collect())
}

/// The columns in a line that starts a table: half of them are known. `is_first` where the line is
/// below a banner, or starts the text; only then one name is enough.
fn header(names: &[String], is_first: bool) -> Option<Vec<Option<Column>>> {
    // A command line among the values of a human-readable table also contains selectors.
    let is_value = |name: &String| name.contains('"') || name.parse::<f64>().is_ok();
    if names.iter().any(is_value) || (names.len() < 2 && !is_first) {
        return None;
    }
    let columns: Vec<_> = names.iter().map(|name| Column::of(name)).collect();
    let count = columns.iter().flatten().count();
    (count > 0 && count * 2 >= names.len()).then_some(columns)
}

/// What is known of the run that is being read.
#[derive(Default)]
struct Begun {
    /// Its program; empty before its first line.
    tool: &'static str,
    error: Option<String>,
    row: Row,
    test: iperf::Test,
}

#[derive(Default)]
struct Reader<'a> {
    runs: Runs,
    number: u64,
    /// The first line below a header that is no row.
    left_out: Option<u64>,
    run: Begun,
    /// What netperf's banner above the lines that are being read says.
    banner: Row,
    /// The columns of comma-separated values, and netperf's table for people.
    columns: Vec<Option<Column>>,
    table: Table<'a>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, text: &'a str) -> Done {
        let has_head = !self.banner.is_empty() || !self.columns.is_empty();
        if let Some(line) = Line::of(text) {
            self.formed(&line)
        } else if let Some((name, value)) = pair(text) {
            let values = Column::of(name).map(|column| (column, value));
            self.put("netperf", values.as_slice())
        } else if self.number <= HEAD_LINES || has_head {
            self.values(text)
        } else {
            Ok(())
        }
    }

    fn formed(&mut self, line: &Line<'a>) -> Done {
        let (is, tool) = (line.form.is, line.form.tool);
        match is {
            "banner" => {
                self.end()?;
                self.begin(tool)?;
                self.banner = Row::of_banner(line);
                self.columns.clear();
                self.table = Table::default();
            }
            "failure" => self.begin(tool)?.error = line.word("error").map(str::to_owned),
            "warning" | "figures" | "result" => {
                if is == "warning" && !self.run.row.is_empty() {
                    self.end()?;
                }
                // A server does not know the client's share.
                let is_server = self.run.test.way.is_server;
                let values = line.words().filter_map(|(name, value)| {
                    let is_known = !is_server || value.parse() != Ok(0.0);
                    Some((Column::of(name)?, value)).filter(|_| is_known)
                });
                self.put(tool, &values.collect::<Vec<_>>())?;
                if is == "result" {
                    self.end()?;
                }
            }
            "rate" => {
                let Some(rate) = self.run.test.rate(line) else {
                    return Ok(());
                };
                if self.run.test.is_of_next(&rate, line) {
                    self.end()?;
                }
                self.begin(tool)?.test.take(rate, line)?;
            }
            "hosts" => {
                if self.run.test.has_rates() {
                    self.end()?;
                }
                self.begin(tool)?.test.line(line);
            }
            _ => {
                if ["begin", "accept"].contains(&is) {
                    self.end()?;
                }
                self.run.test.line(line);
            }
        }
        Ok(())
    }

    /// A header, a row below one, or a line of a table for people. A repeated header, as in
    /// concatenated outputs, starts another table.
    fn values(&mut self, text: &'a str) -> Done {
        let mut values = fields(text).unwrap_or_default();
        let has_banner = !self.banner.is_empty();
        let is_first = self.columns.is_empty() && (has_banner || self.number == 1);
        if let Some(columns) = header(&values, is_first) {
            self.columns = columns;
        } else if !self.columns.is_empty() {
            // netperf ends a row with an additional comma where the last value is empty.
            while values.len() > self.columns.len() && values.last().is_some_and(String::is_empty) {
                values.pop();
            }
            if values.len() == self.columns.len() {
                let values = self.columns.iter().zip(&values);
                let values =
                    values.filter_map(|(column, value)| Some(((*column)?, value.as_str())));
                self.put("netperf", &values.collect::<Vec<_>>())?;
                return self.end();
            }
            if !values.is_empty() {
                self.leave_out();
            }
        } else if has_banner {
            let values = self.table.values(text, &self.banner, &self.run.row);
            self.put("netperf", &values)?;
            if let (Some(units), false) = (self.table.units, values.is_empty()) {
                self.run.row.put("throughput_units", units);
            }
        }
        Ok(())
    }

    fn leave_out(&mut self) {
        self.left_out = self.left_out.or(Some(self.number));
    }

    /// The run of this program that is being read; it begins here where there is none.
    fn begin(&mut self, tool: &'static str) -> Result<&mut Begun, String> {
        let of = self.run.tool;
        if !tool.starts_with(of) && !of.starts_with(tool) {
            self.end()?;
        }
        if self.run.tool.is_empty() {
            self.run.tool = tool;
        }
        Ok(&mut self.run)
    }

    /// Takes values; where the run that is being read has one of them, another begins.
    fn put(&mut self, tool: &'static str, values: &[(Column, &str)]) -> Done {
        if values.is_empty() {
            return Ok(());
        }
        if values.iter().any(|(column, _)| self.run.row.has(column)) {
            self.end()?;
        }
        let run = self.begin(tool)?;
        let values = values.iter();
        values.for_each(|(column, value)| run.row.put_in(*column, value));
        Ok(())
    }

    /// Ends the run that is being read. One of netperf, which its banner begins, has failed where it has
    /// no figures.
    fn end(&mut self) -> Done {
        let test = self.run.test.next();
        let next = Begun {
            test,
            ..Begun::default()
        };
        let mut own = std::mem::replace(&mut self.run, next);
        let mut run = self.runs.begin(own.tool);
        run.error = own.error;
        own.test.sum_up(&mut run);
        let is_netperf = own.tool == "netperf";
        if is_netperf {
            own.row.join(&self.banner);
        }
        own.row.take(&mut run);
        if is_netperf && run.imported.figures.is_empty() {
            let error = "no row of results with known columns: the test did not finish, or its \
                columns have no names (netperf -k prints them)";
            run.error = Some(error.to_owned());
        }
        if run.error.is_some() || !run.imported.figures.is_empty() {
            self.runs.push(run)?;
        }
        Ok(())
    }
}
