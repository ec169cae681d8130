//! netperf's omni selectors: the columns of "Not All Mbit/s Are the Same", as comma-separated values and as `SELECTOR=value`.

use metrics::{RunView, metric};
use model::record::Role;
use model::study::Cell;

use crate::frame::{Table, Value};

/// A selector and its value; absent where it was not measured (netperf prints −1).
type Selector = (&'static str, fn(&RunView, &str) -> Value);

const SELECTORS: &[Selector] = &[
    ("PROTOCOL", |run, _| Value::from(if run.conditions.workload.is_datagram() { "UDP" } else { "TCP" })),
    ("RESULT_BRAND", |_, brand| Value::from(brand)),
    ("ELAPSED_TIME", |run, _| Value::from(run.window_seconds(Role::Sender))),
    ("THROUGHPUT", |run, _| {
        let name =
            if run.conditions.workload.is_transactional() { "transactions_per_second" } else { "throughput_mbps" };
        figure(run, name)
    }),
    ("THROUGHPUT_UNITS", |run, _| {
        Value::from(if run.conditions.workload.is_transactional() { "Trans/s" } else { "10^6bits/s" })
    }),
    ("LOCAL_SEND_SIZE", |run, _| {
        let conditions = run.conditions;
        let bytes = if conditions.workload.is_transactional() {
            conditions.request_size_bytes
        } else {
            conditions.message_size_bytes
        };
        Value::from(bytes)
    }),
    ("TRANSPORT_MSS", |run, _| {
        let mss = run.sender.tcp_info.as_ref().and_then(|info| info.snd_mss_bytes);
        mss.map_or(Value::Absent, Value::from)
    }),
    ("LOCAL_SEND_THROUGHPUT", |run, _| figure(run, "send_throughput_mbps")),
    ("REMOTE_RECV_THROUGHPUT", |run, _| figure(run, "throughput_mbps")),
    ("LOCAL_SEND_CALLS", |run, _| Value::Whole(run.measured(Role::Sender).calls as i64)),
    ("REMOTE_RECV_CALLS", |run, _| Value::Whole(run.measured(Role::Receiver).calls as i64)),
    ("LOCAL_CPU_UTIL", |run, _| figure(run, "sender_cpu_util_pct")),
    ("LOCAL_CPU_PEAK_UTIL", |run, _| figure(run, "sender_peak_cpu_pct")),
    ("LOCAL_SD", |run, _| figure(run, "netperf_send_service_demand_us_per_kib")),
    ("REMOTE_CPU_UTIL", |run, _| figure(run, "receiver_cpu_util_pct")),
    ("REMOTE_CPU_PEAK_UTIL", |run, _| figure(run, "receiver_peak_cpu_pct")),
    ("REMOTE_SD", |run, _| figure(run, "netperf_receive_service_demand_us_per_kib")),
    ("SD_UNITS", |_, _| Value::from("usec/KB")),
    ("LOCAL_TRANSPORT_RETRANS", |run, _| match figure(run, "retransmits") {
        Value::Number(count) => Value::Whole(count as i64),
        other => other,
    }),
    ("MEAN_LATENCY", |run, _| figure(run, "latency_mean_us")),
    ("P50_LATENCY", |run, _| figure(run, "latency_p50_us")),
    ("P90_LATENCY", |run, _| figure(run, "latency_p90_us")),
    ("P99_LATENCY", |run, _| figure(run, "latency_p99_us")),
    ("MAX_LATENCY", |run, _| figure(run, "latency_max_us")),
];

fn figure(run: &RunView, name: &str) -> Value {
    Value::from(metric(name).and_then(|metric| (metric.compute)(run)))
}

/// The selectors of one run; `brand` is netperf's `-B`, a name for the run.
pub fn netperf_row(run: &RunView, brand: &str) -> Vec<(&'static str, Value)> {
    SELECTORS.iter().map(|(name, of)| (*name, of(run, brand))).collect()
}

/// A row per run, branded with its cell's levels.
pub fn netperf_table<'a>(runs: impl IntoIterator<Item = (&'a Cell, RunView<'a>)>) -> Table {
    let mut table = Table::new(SELECTORS.iter().map(|(name, _)| *name));
    for (cell, run) in runs {
        table.rows.push(netperf_row(&run, &cell.name()).into_iter().map(|(_, value)| value).collect());
    }
    table
}

/// A table of selectors as `SELECTOR=value`, what was not measured left out.
pub fn netperf_keyval(table: &Table) -> String {
    let mut text = String::new();
    for row in &table.rows {
        for (name, value) in table.columns.iter().zip(row) {
            let words = match value {
                Value::Absent => continue,
                Value::Whole(number) => number.to_string(),
                Value::Number(number) => number.to_string(),
                Value::Text(words) => words.replace(['\n', '\r'], " "),
            };
            text += &format!("{name}={words}\n");
        }
    }
    text
}
