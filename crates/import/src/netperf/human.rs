//! netperf's human-readable tables: the classic ones, whose columns have a fixed order, and those
//! of `-O`, whose column heads are stacked words.

use bitcost_model::study::Label;

use super::interim::{self, Interim};
use super::notes;
use super::stacked;
use crate::Found;
use crate::columns::{Banner, Kind, mbps, of_bits, take};

pub(crate) fn is(text: &str) -> bool {
    text.lines().any(|line| Banner::of(line).is_some())
}

/// Each table with its test.
pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Found>, String> {
    let lines: Vec<&str> = text.lines().collect();
    let banners: Vec<(usize, Banner)> = lines
        .iter()
        .enumerate()
        .filter_map(|(place, line)| Some((place, Banner::of(line)?)))
        .collect();
    let mut found = Vec::new();
    for (index, (begin, banner)) in banners.iter().enumerate() {
        let end = banners
            .get(index + 1)
            .map_or(lines.len(), |(next, _)| *next);
        let lines = &lines[begin + 1..end];
        let interim: Vec<Interim> = lines
            .iter()
            .filter_map(|line| interim::of_line(line))
            .collect();
        let warning = notes::confidence_note(lines.iter().copied());
        let table: Vec<&str> = lines
            .iter()
            .copied()
            .filter(|line| !is_remark(line))
            .collect();
        for mut run in runs(file, banner, &table) {
            run.run.place = Some(format!("line {}", begin + 1));
            banner.levels(&mut run);
            run.run.intervals = interim::intervals(&interim, interim::own_end(banner.is_sending()));
            run.run.notes.extend(warning.clone());
            notes::note(&mut run);
            found.push(run);
        }
    }
    Ok(found)
}

/// A line between banner and table.
fn is_remark(line: &str) -> bool {
    line.starts_with("!!!") || line.starts_with("Interim result:")
}

fn runs(file: &str, banner: &Banner, lines: &[&str]) -> Vec<Found> {
    let Some(rows) = stacked::rows(lines) else {
        return vec![classic(file, banner, lines)];
    };
    let run = |row: &Vec<(String, String)>| {
        let mut found = Found::of("netperf", file);
        take(&mut found, row, Some(banner));
        found
    };
    rows.iter().map(run).collect()
}

fn classic(file: &str, banner: &Banner, lines: &[&str]) -> Found {
    let mut found = Found::of("netperf", file);
    let heads = lines.iter().take_while(|line| numbers(line).is_none());
    let units = heads
        .flat_map(|line| line.split_whitespace())
        .find(|word| word.contains('/') && mbps(1.0, word).is_some());
    let rows: Vec<Vec<f64>> = lines.iter().filter_map(|line| numbers(line)).collect();
    let bits = units.unwrap_or("10^6bits/s");
    let complete = match banner.kind() {
        _ if bare(&mut found, banner, lines) => Some(()),
        _ if banner.is_udp_stream() => datagrams(&mut found, &rows, bits),
        Kind::Transactions => transactions(&mut found, &rows, units),
        _ => stream(&mut found, &rows, bits, banner.is_sending()),
    };
    if complete.is_none() && found.error.is_none() {
        let words = if rows.is_empty() {
            "the table has no row of results: the test did not finish"
        } else {
            "the columns of its table are not known; netperf's -k and -o name theirs"
        };
        found.error = Some(words.to_owned());
    }
    found
}

/// The output of `-v 0`: one number below the banner, the rate of the test; with a letter after it,
/// a service demand of an endpoint that it does not name.
fn bare(found: &mut Found, banner: &Banner, lines: &[&str]) -> bool {
    let mut words = lines.iter().flat_map(|line| line.split_whitespace());
    let Some(value) = words.next().and_then(|word| word.parse::<f64>().ok()) else {
        return false;
    };
    match (words.next(), words.next()) {
        (None, _) => {}
        (Some(method), None) if method.len() == 1 && method.parse::<f64>().is_err() => {
            found.error = Some(
                "-v 0 with -c or -C prints a service demand alone, without its endpoint".to_owned(),
            );
            return true;
        }
        _ => return false,
    }
    let (metric, units) = match banner.kind() {
        Kind::Transactions => ("transactions_per_second", "Trans/s"),
        _ if banner.is_udp_stream() => ("send_throughput_mbps", "10^6bits/s"),
        _ => ("throughput_mbps", "10^6bits/s"),
    };
    found.figure(metric, positive(value));
    found.run.notes.push(format!(
        "the file does not state the units of its rates; netperf's default units are assumed ({units})"
    ));
    true
}

/// The numbers of a line that has nothing else.
fn numbers(line: &str) -> Option<Vec<f64>> {
    let numbers: Option<Vec<f64>> = line
        .split_whitespace()
        .map(|word| word.parse().ok())
        .collect();
    numbers.filter(|numbers| !numbers.is_empty())
}

fn size(found: &mut Found, factor: &str, bytes: f64) {
    if (1.0..9e15).contains(&bytes) {
        found.level(factor, Label::Number(bytes as i64));
    }
}

fn positive(number: f64) -> Option<f64> {
    (number >= 0.0).then_some(number)
}

/// Receive socket, send socket, message, elapsed time, throughput; then CPU of both endpoints,
/// service demand of both endpoints, netperf's local endpoint first.
fn stream(found: &mut Found, rows: &[Vec<f64>], units: &str, is_sending: bool) -> Option<()> {
    let row = rows.iter().find(|row| row.len() == 5 || row.len() == 9)?;
    size(found, "receive_socket_bytes", row[0]);
    size(found, "send_socket_bytes", row[1]);
    size(found, "message_size_bytes", row[2]);
    found.fact("elapsed_time", row[3]);
    found.figure(
        "throughput_mbps",
        positive(row[4]).and_then(|rate| mbps(rate, units)),
    );
    match row[5..] {
        [local, remote, local_demand, remote_demand] if is_sending => {
            costs(found, [local, remote, local_demand, remote_demand]);
        }
        [local, remote, local_demand, remote_demand] => {
            costs(found, [remote, local, remote_demand, local_demand])
        }
        _ => {}
    }
    Some(())
}

/// CPU of sender and receiver in per cent, then their service demands in µs/KiB.
fn costs(found: &mut Found, costs: [f64; 4]) {
    const NAMES: [&str; 4] = [
        "sender_cpu_util_pct",
        "receiver_cpu_util_pct",
        "netperf_send_service_demand_us_per_kib",
        "netperf_receive_service_demand_us_per_kib",
    ];
    for (name, value) in NAMES.into_iter().zip(costs) {
        found.figure(name, positive(value));
    }
}

/// The sender's row: socket, message, elapsed time, sent, errors, throughput, CPU, service demand.
/// The receiver's: socket, elapsed time, received, throughput, CPU, service demand.
fn datagrams(found: &mut Found, rows: &[Vec<f64>], units: &str) -> Option<()> {
    let (sent, received) = rows
        .iter()
        .zip(rows.iter().skip(1))
        .find(|(sent, received)| {
            matches!(
                (sent.len(), received.len()),
                (6, 4) | (8, 6) | (6, 6) | (8, 4)
            )
        })?;
    size(found, "send_socket_bytes", sent[0]);
    size(found, "receive_socket_bytes", received[0]);
    size(found, "message_size_bytes", sent[1]);
    found.fact("elapsed_time", sent[2]);
    found.figure(
        "send_throughput_mbps",
        positive(sent[5]).and_then(|rate| mbps(rate, units)),
    );
    found.figure(
        "throughput_mbps",
        positive(received[3]).and_then(|rate| mbps(rate, units)),
    );
    if sent[3] > 0.0 {
        found.figure("loss_pct", positive(100.0 * (1.0 - received[2] / sent[3])));
    }
    found.figure(
        "sender_cpu_util_pct",
        sent.get(6).copied().and_then(positive),
    );
    found.figure(
        "netperf_send_service_demand_us_per_kib",
        sent.get(7).copied().and_then(positive),
    );
    found.figure(
        "receiver_cpu_util_pct",
        received.get(4).copied().and_then(positive),
    );
    found.figure(
        "netperf_receive_service_demand_us_per_kib",
        received.get(5).copied().and_then(positive),
    );
    Some(())
}

/// Send socket, receive socket, request, response, elapsed time, rate; then CPU and service demand
/// of both endpoints. The rate is one of bits where the table names such units.
fn transactions(found: &mut Found, rows: &[Vec<f64>], units: Option<&str>) -> Option<()> {
    let row = rows.iter().find(|row| row.len() == 6 || row.len() == 10)?;
    size(found, "request_size_bytes", row[2]);
    size(found, "response_size_bytes", row[3]);
    found.fact("elapsed_time", row[4]);
    match units.and_then(|units| mbps(row[5], units)) {
        Some(rate) => of_bits(found, rate),
        None => found.figure("transactions_per_second", positive(row[5])),
    }
    if let [_, _, _, _, _, _, local, remote, local_demand, remote_demand] = row[..] {
        found.figure("sender_cpu_util_pct", positive(local));
        found.figure("receiver_cpu_util_pct", positive(remote));
        found.fact("local_service_demand_us_per_transaction", local_demand);
        found.fact("remote_service_demand_us_per_transaction", remote_demand);
    }
    Some(())
}
