//! netperf's tables for people: the classic ones, whose columns stand in one order, and those of `-O`, whose heads are words
//! one over the other.

use model::study::Label;

use crate::Found;
use crate::columns::{is_known, mbps, plain, take};

pub(crate) fn is(text: &str) -> bool {
    text.lines().any(|line| super::banner(line).is_some())
}

/// Each table with its test.
pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Found>, String> {
    let lines: Vec<&str> = text.lines().collect();
    let begins: Vec<usize> = (0..lines.len()).filter(|place| super::banner(lines[*place]).is_some()).collect();
    let mut found = Vec::new();
    for (index, begin) in begins.iter().enumerate() {
        let end = begins.get(index + 1).copied().unwrap_or(lines.len());
        let test = super::banner(lines[*begin]).unwrap_or_default();
        for mut run in table(file, &test, &lines[begin + 1..end]) {
            run.run.place = Some(format!("line {}", begin + 1));
            super::test(&mut run, &test);
            super::note(&mut run);
            found.push(run);
        }
    }
    Ok(found)
}

fn table(file: &str, test: &str, lines: &[&str]) -> Vec<Found> {
    if let Some(found) = stacked(file, lines).filter(|found| !found.is_empty()) {
        return found;
    }
    let rows: Vec<Vec<f64>> = lines.iter().filter_map(|line| numbers(line)).collect();
    let units = lines
        .iter()
        .flat_map(|line| line.split_whitespace())
        .find(|word| mbps(1.0, word).is_some_and(|_| word.contains('/')));
    let units = units.unwrap_or("10^6bits/s");
    let mut found = Found::of("netperf", file);
    let complete = match (test.contains("udp_stream"), test.contains("rr")) {
        (true, _) => datagrams(&mut found, &rows, units),
        (_, true) => transactions(&mut found, &rows),
        _ => stream(&mut found, &rows, units),
    };
    if complete.is_none() {
        found.error = Some("the table has no row of results: the test was broken off".to_owned());
    }
    vec![found]
}

/// A line of numbers alone.
fn numbers(line: &str) -> Option<Vec<f64>> {
    let numbers: Option<Vec<f64>> = line.split_whitespace().map(|word| word.parse().ok()).collect();
    numbers.filter(|numbers| !numbers.is_empty())
}

fn size(found: &mut Found, factor: &str, bytes: f64) {
    found.level(factor, Label::Number(bytes as i64));
}

fn positive(number: f64) -> Option<f64> {
    (number >= 0.0).then_some(number)
}

/// Recv socket, send socket, message, elapsed, throughput; then CPU of both ends, service demand of both ends.
fn stream(found: &mut Found, rows: &[Vec<f64>], units: &str) -> Option<()> {
    let row = rows.iter().find(|row| row.len() == 5 || row.len() == 9)?;
    size(found, "message_size_bytes", row[2]);
    found.fact("elapsed_time", row[3]);
    found.figure("throughput_mbps", mbps(row[4], units));
    costs(found, &row[5..]);
    Some(())
}

/// CPU of both ends in per cent, then their service demands in µs/KiB.
fn costs(found: &mut Found, rest: &[f64]) {
    const NAMES: [&str; 4] = [
        "sender_cpu_util_pct",
        "receiver_cpu_util_pct",
        "netperf_send_service_demand_us_per_kib",
        "netperf_receive_service_demand_us_per_kib",
    ];
    for (name, value) in NAMES.into_iter().zip(rest) {
        found.figure(name, positive(*value));
    }
}

/// The sender's row: socket, message, elapsed, sent, errors, throughput, CPU, service demand. The receiver's: socket, elapsed,
/// received, throughput, CPU, service demand.
fn datagrams(found: &mut Found, rows: &[Vec<f64>], units: &str) -> Option<()> {
    let (sent, received) = rows
        .iter()
        .zip(rows.iter().skip(1))
        .find(|(sent, received)| matches!((sent.len(), received.len()), (6, 4) | (8, 6) | (6, 6) | (8, 4)))?;
    size(found, "message_size_bytes", sent[1]);
    found.fact("elapsed_time", sent[2]);
    found.figure("send_throughput_mbps", mbps(sent[5], units));
    found.figure("throughput_mbps", mbps(received[3], units));
    if sent[3] > 0.0 {
        found.figure("loss_pct", positive(100.0 * (1.0 - received[2] / sent[3])));
    }
    found.figure("sender_cpu_util_pct", sent.get(6).copied().and_then(positive));
    found.figure("netperf_send_service_demand_us_per_kib", sent.get(7).copied().and_then(positive));
    found.figure("receiver_cpu_util_pct", received.get(4).copied().and_then(positive));
    found.figure("netperf_receive_service_demand_us_per_kib", received.get(5).copied().and_then(positive));
    Some(())
}

/// Send socket, recv socket, request, response, elapsed, rate; then CPU and service demand of both ends.
fn transactions(found: &mut Found, rows: &[Vec<f64>]) -> Option<()> {
    let row = rows.iter().find(|row| row.len() == 6 || row.len() == 10)?;
    size(found, "request_size_bytes", row[2]);
    size(found, "response_size_bytes", row[3]);
    found.fact("elapsed_time", row[4]);
    found.figure("transactions_per_second", Some(row[5]));
    if let [_, _, _, _, _, _, local, remote, local_demand, remote_demand] = row[..] {
        found.figure("sender_cpu_util_pct", positive(local));
        found.figure("receiver_cpu_util_pct", positive(remote));
        found.fact("local_service_demand_us_per_transaction", local_demand);
        found.fact("remote_service_demand_us_per_transaction", remote_demand);
    }
    Some(())
}

/// The table of `-O`: lines of heads, then lines of values. A column begins where its words do, in every line.
fn stacked(file: &str, lines: &[&str]) -> Option<Vec<Found>> {
    let is_value = |line: &str| line.split_whitespace().filter(|word| word.parse::<f64>().is_ok()).count() > 1;
    let first = lines.iter().position(|line| is_value(line) || line.trim().is_empty())?;
    let heads: Vec<&str> = lines[..first].iter().copied().filter(|line| !line.trim().is_empty()).collect();
    let begins = begins(&heads);
    let names: Vec<String> = (0..begins.len())
        .map(|column| plain(&heads.iter().map(|line| field(line, &begins, column)).collect::<Vec<_>>().join(" ")))
        .collect();
    if names.iter().filter(|name| is_known(name)).count() * 2 < names.len().max(1) {
        return None;
    }
    let runs = lines[first..].iter().filter(|line| !line.trim().is_empty()).filter_map(|line| {
        let values: Vec<String> = (0..begins.len()).map(|column| field(line, &begins, column)).collect();
        let mut found = Found::of("netperf", file);
        take(&mut found, &names.iter().cloned().zip(values).collect::<Vec<_>>());
        (!found.run.figures.is_empty()).then_some(found)
    });
    Some(runs.collect())
}

/// Where columns begin: places before which every line has a space, or nothing.
fn begins(heads: &[&str]) -> Vec<usize> {
    let lines: Vec<Vec<char>> = heads.iter().map(|line| line.chars().collect()).collect();
    let width = lines.iter().map(Vec::len).max().unwrap_or(0);
    let blank = |place: usize| lines.iter().all(|line| line.get(place).is_none_or(|letter| *letter == ' '));
    (0..width).filter(|place| !blank(*place) && (*place == 0 || blank(place - 1))).collect()
}

fn field(line: &str, begins: &[usize], column: usize) -> String {
    let until = begins.get(column + 1).copied().unwrap_or(usize::MAX);
    let letters = line.chars().skip(begins[column]).take(until.saturating_sub(begins[column]));
    letters.collect::<String>().trim().to_owned()
}
