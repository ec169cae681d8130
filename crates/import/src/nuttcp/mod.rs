//! nuttcp's lines: `  112.37 MB /   1.00 sec =  941.9 Mbps 4 %TX 9 %RX 0 retrans 0.35 msRTT`, and
//! those of `-fparse`.

pub(crate) mod nttcp;
mod verbose;

use std::collections::BTreeMap;

use bitcost_model::imported::ImportedInterval;
use bitcost_model::record::Role;
use bitcost_model::study::Label;

use self::verbose::Verbose;
use crate::Found;

pub(crate) fn is(text: &str) -> bool {
    text.lines()
        .any(|line| summary(line).is_some() || verbose::line(line).is_some())
}

/// The numbers of a line, each with the word that follows it.
struct Line {
    /// The name of the test that `-I` sets.
    name: Option<String>,
    rate_mbps: f64,
    seconds: f64,
    /// Word and number: `%TX` 4.
    rest: Vec<(String, f64)>,
}

impl Line {
    fn get(&self, word: &str) -> Option<f64> {
        self.rest
            .iter()
            .find(|(known, _)| known == word)
            .map(|(_, number)| *number)
    }

    /// True for the line that ends a test.
    fn is_last(&self) -> bool {
        self.get("%TX").is_some() || self.get("%RX").is_some()
    }
}

fn summary(line: &str) -> Option<Line> {
    // `study:  112.37 MB /…`
    let named = line
        .split_once(": ")
        .filter(|(name, rest)| !name.contains('=') && rest.contains('='));
    let (name, line) = named.map_or((None, line), |(name, rest)| {
        (Some(name.trim().to_owned()), rest)
    });
    if line.trim_start().starts_with("megabytes=") {
        return parsed(line).map(|line| Line { name, ..line });
    }
    let (amount, rest) = line.split_once('=')?;
    let (_, seconds) = amount.split_once('/')?;
    let seconds = seconds.trim().strip_suffix("sec")?.trim().parse().ok()?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let unit = match *words.get(1)? {
        "Mbps" => 1.0,
        "Gbps" => 1e3,
        "Kbps" => 1e-3,
        _ => return None,
    };
    let rate_mbps = words[0].parse::<f64>().ok()? * unit;
    let mut numbers: Vec<(String, f64)> = Vec::new();
    let mut place = 2;
    while place < words.len() {
        let number = words[place].parse::<f64>().ok().zip(words.get(place + 1));
        match number {
            // `3 / 1024 drop/pkt 0.29 %loss`
            Some((lost, slash)) if **slash == *"/" => {
                numbers.push(("dropped".to_owned(), lost));
                place += 2;
            }
            Some((number, word)) => {
                // The numbers of an interval are marked as approximate: `~%loss`.
                numbers.push((word.trim_start_matches('~').to_owned(), number));
                place += 2;
            }
            None => place += 1,
        }
    }
    Some(Line {
        name,
        rate_mbps,
        seconds,
        rest: numbers,
    })
}

/// `megabytes=1.0 real_seconds=1.00 rate_Mbps=941.9 tx_cpu=4 rx_cpu=9 retrans=0 rtt_ms=0.3`
fn parsed(line: &str) -> Option<Line> {
    const WORDS: [(&str, &str); 6] = [
        ("tx_cpu", "%TX"),
        ("rx_cpu", "%RX"),
        ("retrans", "retrans"),
        ("rtt_ms", "msRTT"),
        ("data_loss", "%loss"),
        ("drop", "dropped"),
    ];
    let pairs: Vec<(&str, f64)> = line
        .split_whitespace()
        .filter_map(|word| word.split_once('='))
        .filter_map(|(n, v)| Some((n, v.parse().ok()?)))
        .collect();
    let get = |name: &str| {
        pairs
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, number)| *number)
    };
    let rest = WORDS
        .iter()
        .filter_map(|(name, word)| Some(((*word).to_owned(), get(name)?)))
        .collect();
    // The line of an interval has `real_sec`.
    let seconds = get("real_seconds").or_else(|| get("real_sec"))?;
    Some(Line {
        name: None,
        rate_mbps: get("rate_Mbps")?,
        seconds,
        rest,
    })
}

pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Found>, String> {
    let mut reader = Reader {
        file,
        ..Reader::default()
    };
    for (number, line) in (1..).zip(text.lines()) {
        if let Some((end, rest)) = verbose::line(line) {
            if reader
                .verbose
                .as_ref()
                .is_some_and(|verbose| verbose.is_another(end, rest))
            {
                reader.end_verbose();
            }
            reader
                .verbose
                .get_or_insert_with(|| Verbose::new(file, number))
                .take(end, rest);
        } else if let Some(line) = summary(line) {
            reader.take(number, &line);
        }
    }
    reader.end_verbose();
    if !reader.intervals.is_empty() {
        let count = reader.intervals.len();
        let reason = format!(
            "{count} lines of intervals and no line of the result: the test was broken off"
        );
        let mut run = Found {
            error: Some(reason),
            ..Found::of("nuttcp", file)
        };
        run.run.intervals = reader.intervals;
        reader.found.push(run);
    }
    Ok(reader.found)
}

/// The state of the reader.
#[derive(Default)]
struct Reader<'a> {
    file: &'a str,
    found: Vec<Found>,
    /// The intervals before the next result, and their length in seconds.
    intervals: Vec<ImportedInterval>,
    passed: f64,
    /// The lines of `-v` of a run that is not complete yet.
    verbose: Option<Verbose>,
}

impl Reader<'_> {
    fn take(&mut self, number: u64, line: &Line) {
        if self.verbose.as_ref().is_some_and(Verbose::is_complete) || line.is_last() {
            self.end_verbose();
        }
        if !line.is_last() {
            self.intervals.push(interval(line, self.passed));
            self.passed += line.seconds;
            return;
        }
        let mut run = Found::of("nuttcp", self.file);
        run.run.place = Some(format!("line {number}"));
        figures(&mut run, line);
        self.end(run);
    }

    fn end_verbose(&mut self) {
        if let Some(verbose) = self.verbose.take() {
            self.end(verbose.finish());
        }
    }

    fn end(&mut self, mut run: Found) {
        run.run.intervals = std::mem::take(&mut self.intervals);
        self.passed = 0.0;
        self.found.push(run);
    }
}

fn figures(found: &mut Found, line: &Line) {
    found.figure("throughput_mbps", Some(line.rate_mbps));
    found.figure("retransmits", line.get("retrans"));
    found.figure("loss_pct", line.get("%loss"));
    if let Some(name) = &line.name {
        found.level("brand", Label::Text(name.clone()));
    }
    let udp = line.get("%loss").is_some();
    found.level(
        "protocol",
        Label::Text(if udp { "udp" } else { "tcp" }.to_owned()),
    );
    for (word, fact) in [
        ("%TX", "sender_cpu_pct_of_one_cpu"),
        ("%RX", "receiver_cpu_pct_of_one_cpu"),
        ("msRTT", "rtt_at_begin_ms"),
    ] {
        if let Some(value) = line.get(word) {
            found.fact(fact, value);
        }
    }
    found.fact("elapsed_time", line.seconds);
}

fn interval(line: &Line, begin_s: f64) -> ImportedInterval {
    let mut figures = BTreeMap::from([("throughput_mbps".to_owned(), line.rate_mbps)]);
    figures.extend(
        line.get("retrans")
            .map(|count| ("retransmits".to_owned(), count)),
    );
    figures.extend(line.get("%loss").map(|pct| ("loss_pct".to_owned(), pct)));
    ImportedInterval {
        end: Role::Receiver,
        begin_s,
        end_s: begin_s + line.seconds,
        figures,
    }
}
