//! nuttcp's lines: `  112.37 MB /   1.00 sec =  941.9 Mbps 4 %TX 9 %RX 0 retrans 0.35 msRTT`, and those of `-fparse`.

pub(crate) mod nttcp;

use std::collections::BTreeMap;

use model::imported::ImportedInterval;
use model::record::Role;
use model::study::Label;

use crate::Found;

pub(crate) fn is(text: &str) -> bool {
    text.lines().any(|line| summary(line).is_some() || verbose(line).is_some())
}

/// The end and its rate of a line of `-v`: `nuttcp-r: 12.0 MB in 1.00 real seconds = 12288.00 KB/sec = 100.66 Mbps`.
fn verbose(line: &str) -> Option<(Role, f64)> {
    let end = if line.starts_with("nuttcp-t: ") { Role::Sender } else { Role::Receiver };
    let rate = line.starts_with("nuttcp-").then(|| line.split_once(" real seconds = "))??.1;
    let rate = rate.split_once(" = ")?.1.trim().strip_suffix("Mbps")?.trim().parse().ok()?;
    Some((end, rate))
}

/// A line's numbers, each with the word that follows it.
struct Line {
    rate_mbps: f64,
    seconds: f64,
    /// Word and number: `%TX` 4.
    rest: Vec<(String, f64)>,
}

impl Line {
    fn get(&self, word: &str) -> Option<f64> {
        self.rest.iter().find(|(known, _)| known == word).map(|(_, number)| *number)
    }

    /// True of the line that ends a test.
    fn is_last(&self) -> bool {
        self.get("%TX").is_some() || self.get("%RX").is_some()
    }
}

fn summary(line: &str) -> Option<Line> {
    if line.trim_start().starts_with("megabytes=") {
        return parsed(line);
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
                numbers.push(((*word).to_owned(), number));
                place += 2;
            }
            None => place += 1,
        }
    }
    Some(Line { rate_mbps, seconds, rest: numbers })
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
    let get = |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    let rest = WORDS.iter().filter_map(|(name, word)| Some(((*word).to_owned(), get(name)?))).collect();
    Some(Line { rate_mbps: get("rate_Mbps")?, seconds: get("real_seconds")?, rest })
}

pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Found>, String> {
    let mut found = Vec::new();
    let (mut intervals, mut passed) = (Vec::new(), 0.0);
    let mut both = Found::of("nuttcp", file);
    for (number, line) in (1..).zip(text.lines()) {
        if let Some((end, rate)) = verbose(line) {
            both.figure(if end == Role::Sender { "send_throughput_mbps" } else { "throughput_mbps" }, Some(rate));
        }
        let Some(line) = summary(line) else { continue };
        if !line.is_last() {
            intervals.push(interval(&line, passed));
            passed += line.seconds;
            continue;
        }
        let mut run = Found::of("nuttcp", file);
        run.run.place = Some(format!("line {number}"));
        figures(&mut run, &line);
        run.run.intervals = std::mem::take(&mut intervals);
        passed = 0.0;
        found.push(run);
    }
    if found.is_empty() && !both.run.figures.is_empty() {
        found.push(both);
    }
    if found.is_empty() && !intervals.is_empty() {
        let mut run = Found::of("nuttcp", file);
        run.error =
            Some(format!("{} lines of intervals and no line of the result: the test was broken off", intervals.len()));
        run.run.intervals = intervals;
        found.push(run);
    }
    Ok(found)
}

fn figures(found: &mut Found, line: &Line) {
    found.figure("throughput_mbps", Some(line.rate_mbps));
    found.figure("retransmits", line.get("retrans"));
    found.figure("loss_pct", line.get("%loss"));
    let udp = line.get("%loss").is_some();
    found.level("protocol", Label::Text(if udp { "udp" } else { "tcp" }.to_owned()));
    for (word, fact) in
        [("%TX", "sender_cpu_pct_of_one_cpu"), ("%RX", "receiver_cpu_pct_of_one_cpu"), ("msRTT", "rtt_at_begin_ms")]
    {
        if let Some(value) = line.get(word) {
            found.fact(fact, value);
        }
    }
    found.fact("elapsed_time", line.seconds);
}

fn interval(line: &Line, begin_s: f64) -> ImportedInterval {
    let mut figures = BTreeMap::from([("throughput_mbps".to_owned(), line.rate_mbps)]);
    figures.extend(line.get("retrans").map(|count| ("retransmits".to_owned(), count)));
    figures.extend(line.get("%loss").map(|pct| ("loss_pct".to_owned(), pct)));
    ImportedInterval { end: Role::Receiver, begin_s, end_s: begin_s + line.seconds, figures }
}
