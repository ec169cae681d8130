//! Runs that are repeated at an interval: a line while they are made, and their table over time.

use bitcost_analysis::cells::{RunRow, Status};
use bitcost_analysis::metrics::{METRICS, Metric, RunView, metric};
use bitcost_analysis::summary::Summary;
use bitcost_model::harmless;
use bitcost_model::units::show_duration;
use serde_json::{Map, Value, json};

use crate::lines::Lines;
use crate::number;
use crate::progress::show_rate;
use crate::test_answer::retransmitted;

/// A metric of the table, with the heading of its column.
struct Column(&'static str, &'static str);

/// The columns, of which those are shown that a repetition has.
const COLUMNS: [Column; 13] = [
    Column("throughput_mbps", "Mbit/s"),
    Column("transactions_per_second", "transactions/s"),
    Column("latency_p50_us", "median µs"),
    Column("latency_p99_us", "p99 µs"),
    Column("retransmits", "retransmitted"),
    Column("loss_pct", "lost %"),
    Column("requests_lost_pct", "requests lost %"),
    Column("send_service_demand_us_per_kib", "send µs/KiB"),
    Column("receive_service_demand_us_per_kib", "receive µs/KiB"),
    Column(
        "send_service_demand_us_per_transaction",
        "client µs/transaction",
    ),
    Column(
        "receive_service_demand_us_per_transaction",
        "server µs/transaction",
    ),
    Column("sender_cpu_util_pct", "sender CPU %"),
    Column("receiver_cpu_util_pct", "receiver CPU %"),
];

/// The characters of a local time before its offset (RFC 3339).
const LOCAL: usize = 19;

/// `2026-11-21 10:00:00` from a local time with its offset.
fn day_and_time(at: &str) -> String {
    harmless(at.get(..LOCAL).unwrap_or(at)).replacen('T', " ", 1)
}

/// `10:00:00` from a local time with its offset.
fn time_of_day(at: &str) -> String {
    harmless(at.get("2026-11-21T".len()..LOCAL).unwrap_or(at))
}

/// `10:00:00  941 Mbit/s, 0 segments retransmitted, 0.21 µs/KiB to send, 0.33 µs/KiB to receive`:
/// what one repetition that began at this local time measured. What was not measured is left out;
/// where the cost is not known, the line has the CPU use of both hosts.
pub fn repetition_line(began_at: &str, run: &RunView) -> String {
    let mut words = match run.conditions.workload.is_transactional() {
        true => transactions(run),
        false => stream(run),
    };
    words.extend(cpu_use(run));
    format!("{}  {}", time_of_day(began_at), words.join(", "))
}

/// The line of a repetition without a result.
pub fn repetition_failed(began_at: &str, reason: &str) -> String {
    format!("{}  no result: {}", time_of_day(began_at), harmless(reason))
}

fn figure(run: &RunView, name: &str) -> Option<f64> {
    (metric(name)?.compute)(run)
}

fn stream(run: &RunView) -> Vec<String> {
    let said =
        |name: &str, words: &str| Some(format!("{}{words}", number::plain(figure(run, name)?)));
    let rate = figure(run, "throughput_mbps").map(|mbps| show_rate(mbps * 1e6));
    let known = [
        rate,
        retransmitted(run),
        said("loss_pct", " % lost"),
        said("send_service_demand_us_per_kib", " µs/KiB to send"),
        said("receive_service_demand_us_per_kib", " µs/KiB to receive"),
    ];
    known.into_iter().flatten().collect()
}

/// CPU use of both hosts, where the cost of one end is not known.
fn cpu_use(run: &RunView) -> Option<String> {
    let unit = match run.conditions.workload.is_transactional() {
        true => "transaction",
        false => "kib",
    };
    let is_known = |end| figure(run, &format!("{end}_service_demand_us_per_{unit}")).is_some();
    if is_known("send") && is_known("receive") {
        return None;
    }
    let busy = |name: &str| figure(run, name).map(number::plain);
    let (sender, receiver) = (busy("sender_cpu_util_pct")?, busy("receiver_cpu_util_pct")?);
    Some(format!(
        "CPU use {sender} % at the sender's host, {receiver} % at the receiver's"
    ))
}

fn transactions(run: &RunView) -> Vec<String> {
    let said = |name: &str, before: &str, words: &str| {
        let value = number::plain(figure(run, name)?);
        Some(format!("{before}{value}{words}"))
    };
    let known = [
        said("transactions_per_second", "", " transactions/s"),
        said("latency_p50_us", "median ", " µs"),
        said("latency_p99_us", "p99 ", " µs"),
        said("requests_lost_pct", "", " % of the requests lost"),
        said(
            "send_service_demand_us_per_transaction",
            "",
            " µs/transaction at the client",
        ),
        said(
            "receive_service_demand_us_per_transaction",
            "",
            " µs/transaction at the server",
        ),
    ];
    known.into_iter().flatten().collect()
}

/// The runs that were tried, where they are repeated at an interval.
fn tried(summary: &Summary) -> Vec<&RunRow> {
    let runs = summary.runs.iter().filter(|_| summary.interval.is_some());
    runs.filter(|row| row.status != Status::Missing).collect()
}

/// The columns that any of these runs has.
fn columns(rows: &[&RunRow]) -> Vec<(&'static Metric, &'static str)> {
    let known = COLUMNS.iter().filter_map(|Column(name, heading)| {
        let metric = METRICS.iter().find(|metric| metric.name == *name)?;
        Some((metric, *heading))
    });
    let is_shown = |metric: &Metric| rows.iter().any(|row| row.value(metric).is_some());
    let mut shown: Vec<_> = known.filter(|(metric, _)| is_shown(metric)).collect();
    // Transactions have a throughput, which says nothing.
    if shown
        .iter()
        .any(|(metric, _)| metric.name == "transactions_per_second")
    {
        shown.retain(|(metric, _)| metric.name != "throughput_mbps");
    }
    shown
}

/// The heading and the table of the repetitions in their order; absent where runs were not repeated
/// at an interval, or none was tried.
pub(crate) fn repetitions_table(summary: &Summary) -> Option<(String, Lines)> {
    let interval = summary.interval?;
    let rows = tried(summary);
    if rows.is_empty() {
        return None;
    }
    let columns = columns(&rows);
    let headings = columns.iter().map(|(_, heading)| (*heading).to_owned());
    let header = ["began".to_owned()].into_iter().chain(headings).collect();
    let words = |row: &&RunRow| {
        let began = row
            .began_at
            .as_deref()
            .map_or_else(String::new, day_and_time);
        let began = match row.status {
            Status::Used => began,
            other => format!("{began} ({})", other.name()),
        };
        let value = |metric: &Metric| match row.value(metric) {
            Some(count) if metric.unit.is_empty() => format!("{count:.0}"),
            Some(value) => number::plain(value),
            None => "-".to_owned(),
        };
        let values = columns.iter().map(|(metric, _)| value(metric));
        (false, [began].into_iter().chain(values).collect())
    };
    let lines = Lines {
        header,
        rows: rows.iter().map(words).collect(),
    };
    let title = format!("Repetitions, one every {}", show_duration(interval));
    Some((title, lines))
}

/// The repetitions of a run, each with `run`, `began_at`, `status`, the `reason` of one that is not
/// used, and its metrics by name.
pub(crate) fn repetitions_json(summary: &Summary) -> Value {
    let rows = tried(summary);
    let columns = columns(&rows);
    let entry = |row: &&RunRow| {
        let mut entry = Map::from_iter([
            ("run".to_owned(), json!(row.run)),
            ("status".to_owned(), json!(row.status.name())),
        ]);
        if let Some(at) = &row.began_at {
            entry.insert("began_at".to_owned(), json!(at));
        }
        if let Some(reason) = &row.reason {
            entry.insert("reason".to_owned(), json!(reason));
        }
        for (metric, _) in &columns {
            if let Some(value) = row.value(metric) {
                entry.insert(metric.name.to_owned(), json!(value));
            }
        }
        Value::Object(entry)
    };
    rows.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_times_are_shown_without_their_offset() {
        let at = "2026-11-21T10:00:00+01:00";
        assert_eq!(day_and_time(at), "2026-11-21 10:00:00");
        assert_eq!(time_of_day(at), "10:00:00");
        assert_eq!(time_of_day("soon"), "soon");
        assert_eq!(
            repetition_failed(at, "no route to host"),
            "10:00:00  no result: no route to host"
        );
    }
}
