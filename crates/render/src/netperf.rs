//! netperf's omni selectors: the columns of "Not All Mbit/s Are the Same", as comma-separated
//! values and as `SELECTOR=value`.

use bitcost_analysis::metrics::{RunView, metric};
use bitcost_model::record::Role;
use bitcost_model::study::Cell;
use bitcost_model::units::counted;

use bitcost_analysis::cells::{RunRow, Status};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::{Table, Value};

use crate::csv::csv;
use crate::export::{ExportError, Exported, Form};
use crate::own_runs::with_result;

/// `--format netperf`.
pub(crate) const FORM: Form = Form::new(
    "netperf",
    "The columns of netperf's omni test as comma-separated values: a row per run",
    |input| used_runs(input.executions, "netperf", csv),
);

/// `--format netperf-keyval`.
pub(crate) const KEYVAL: Form =
    Form::new("netperf-keyval", "The same as SELECTOR=value", |input| {
        used_runs(input.executions, "netperf-keyval", netperf_keyval)
    });

/// The most run numbers in one sentence.
const NUMBERED: usize = 20;

/// Every used run, and a sentence per execution on the runs that are left out.
fn used_runs(
    executions: &[Findings],
    form: &str,
    write: fn(&Table) -> String,
) -> Result<Exported, ExportError> {
    let (mut table, mut remarks) = (netperf_table([]), Vec::new());
    for execution in executions {
        let mut left_out = with_result(execution, form)?;
        left_out.retain(|row| row.status == Status::LeftOut);
        if !left_out.is_empty() {
            remarks.push(left_out_words(execution, &left_out));
        }
        let used = |row: &RunRow| row.status == Status::Used;
        execution.each_run(used, &mut |_, cell, view| {
            table.rows.extend(netperf_table([(cell, *view)]).rows)
        });
    }
    Ok(Exported {
        bytes: write(&table).into_bytes(),
        remarks,
    })
}

fn left_out_words(execution: &Findings, left_out: &[&RunRow]) -> String {
    let numbers: Vec<String> = left_out
        .iter()
        .take(NUMBERED)
        .map(|row| (row.run + 1).to_string())
        .collect();
    let more = if left_out.len() > NUMBERED {
        ", …"
    } else {
        ""
    };
    format!(
        "left out: {} of {} ({}{more}); --format text gives the reasons",
        counted(left_out.len(), "run"),
        execution.name,
        numbers.join(", ")
    )
}

/// One of netperf's omni selectors.
struct Selector {
    /// Its name in `-k` and in lists of selectors, in capitals as netperf prints it.
    name: &'static str,
    /// The heading of its column with `-o` (netperf 2.7, src/nettest_omni.c).
    title: &'static str,
    /// Its value; absent where it was not measured or has no meaning (netperf prints −1).
    of: fn(&RunView, &str) -> Value,
}

const fn row(name: &'static str, title: &'static str, of: fn(&RunView, &str) -> Value) -> Selector {
    Selector { name, title, of }
}

/// The columns of the paper are together and in its order, from the size of messages to the units
/// of service demand.
const SELECTORS: &[Selector] = &[
    row("PROTOCOL", "Protocol", |run, _| {
        Value::from(if run.conditions.workload.is_datagram() {
            "UDP"
        } else {
            "TCP"
        })
    }),
    row("RESULT_BRAND", "Result Tag", |_, brand| Value::from(brand)),
    row("DIRECTION", "Direction", |run, _| {
        either(run, "Send|Recv", "Send")
    }),
    row("ELAPSED_TIME", "Elapsed Time (sec)", |run, _| {
        Value::from(run.window_seconds(Role::Sender))
    }),
    row(
        "THROUGHPUT",
        "Throughput",
        |run, _| match has_transactions(run) {
            true => figure(run, "transactions_per_second"),
            false => figure(run, "throughput_mbps"),
        },
    ),
    row("THROUGHPUT_UNITS", "Throughput Units", |run, _| {
        either(run, "Trans/s", "10^6bits/s")
    }),
    row("LOCAL_SEND_SIZE", "Local Send Size", |run, _| {
        if has_transactions(run) {
            Value::Absent
        } else {
            Value::from(run.conditions.message_size_bytes)
        }
    }),
    row(
        "LOCAL_SEND_THROUGHPUT",
        "Local Send Throughput",
        |run, _| sent(run, "send_throughput_mbps"),
    ),
    row(
        "REMOTE_RECV_THROUGHPUT",
        "Remote Recv Throughput",
        |run, _| sent(run, "throughput_mbps"),
    ),
    row("LOCAL_SEND_CALLS", "Local Send Calls", |run, _| {
        calls(run, Role::Sender)
    }),
    row("REMOTE_RECV_CALLS", "Remote Recv Calls", |run, _| {
        calls(run, Role::Receiver)
    }),
    row("LOCAL_CPU_UTIL", "Local CPU Util %", |run, _| {
        figure(run, "sender_cpu_util_pct")
    }),
    row(
        "LOCAL_CPU_PEAK_UTIL",
        "Local Peak Per CPU Util %",
        |run, _| figure(run, "sender_peak_cpu_pct"),
    ),
    row("LOCAL_SD", "Local Service Demand", |run, _| {
        demand(run, "netperf_send_service_demand_us_per_kib")
    }),
    row("REMOTE_CPU_UTIL", "Remote CPU Util %", |run, _| {
        figure(run, "receiver_cpu_util_pct")
    }),
    row(
        "REMOTE_CPU_PEAK_UTIL",
        "Remote Peak Per CPU Util %",
        |run, _| figure(run, "receiver_peak_cpu_pct"),
    ),
    row("REMOTE_SD", "Remote Service Demand", |run, _| {
        demand(run, "netperf_receive_service_demand_us_per_kib")
    }),
    row("SD_UNITS", "Service Demand Units", |run, _| {
        either(run, "usec/Tran", "usec/KB")
    }),
    row("TRANSPORT_MSS", "Transport MSS bytes", |run, _| {
        let mss = run
            .sender
            .tcp_info
            .as_ref()
            .and_then(|info| info.snd_mss_bytes);
        mss.map_or(Value::Absent, Value::from)
    }),
    row(
        "LOCAL_TRANSPORT_RETRANS",
        "Local Transport Retransmissions",
        |run, _| match figure(run, "retransmits") {
            Value::Number(count) => Value::Whole(count as i64),
            other => other,
        },
    ),
    row("REQUEST_SIZE", "Request Size Bytes", |run, _| {
        of_transactions(run, run.conditions.request_size_bytes)
    }),
    row("RESPONSE_SIZE", "Response Size Bytes", |run, _| {
        of_transactions(run, run.conditions.response_size_bytes)
    }),
    row("MEAN_LATENCY", "Mean Latency Microseconds", |run, _| {
        figure(run, "latency_mean_us")
    }),
    row(
        "P50_LATENCY",
        "50th Percentile Latency Microseconds",
        |run, _| figure(run, "latency_p50_us"),
    ),
    row(
        "P90_LATENCY",
        "90th Percentile Latency Microseconds",
        |run, _| figure(run, "latency_p90_us"),
    ),
    row(
        "P99_LATENCY",
        "99th Percentile Latency Microseconds",
        |run, _| figure(run, "latency_p99_us"),
    ),
    row("MAX_LATENCY", "Maximum Latency Microseconds", |run, _| {
        figure(run, "latency_max_us")
    }),
];

fn has_transactions(run: &RunView) -> bool {
    run.conditions.workload.is_transactional()
}

fn either(run: &RunView, of_transactions: &str, of_stream: &str) -> Value {
    Value::from(match has_transactions(run) {
        true => of_transactions,
        false => of_stream,
    })
}

fn of_transactions(run: &RunView, bytes: u32) -> Value {
    if has_transactions(run) {
        Value::from(bytes)
    } else {
        Value::Absent
    }
}

fn number(run: &RunView, name: &str) -> Option<f64> {
    metric(name).and_then(|metric| (metric.compute)(run))
}

/// Throughput from the local endpoint to the remote one, in Mbit/s; for transactions, that of the
/// requests.
fn sent(run: &RunView, name: &str) -> Value {
    if !has_transactions(run) {
        return figure(run, name);
    }
    let bits = f64::from(run.conditions.request_size_bytes) * 8.0;
    Value::from(number(run, "transactions_per_second").map(|rate| rate * bits / 1e6))
}

/// Calls by which an endpoint handed over or took messages; one per transaction.
fn calls(run: &RunView, role: Role) -> Value {
    let counts = run.measured(role);
    Value::Whole(if has_transactions(run) {
        counts.messages
    } else {
        counts.calls
    } as i64)
}

/// CPU time per KiB sent; for transactions, per transaction.
fn demand(run: &RunView, name: &str) -> Value {
    let per_kib = number(run, name);
    if !has_transactions(run) {
        return Value::from(per_kib);
    }
    let kib = number(run, "send_throughput_mbps").map(|rate| rate * 1e6 / 8.0 / 1024.0);
    let per_transaction =
        |per_kib: f64| Some(per_kib * kib? / number(run, "transactions_per_second")?);
    Value::from(per_kib.and_then(per_transaction))
}

fn figure(run: &RunView, name: &str) -> Value {
    Value::from(number(run, name))
}

/// A row per run under netperf's own headings, branded (netperf's `-B`) with its cell's levels.
pub fn netperf_table<'a>(runs: impl IntoIterator<Item = (&'a Cell, RunView<'a>)>) -> Table {
    let mut table = Table::new(SELECTORS.iter().map(|selector| selector.title));
    for (cell, run) in runs {
        table.rows.push(
            SELECTORS
                .iter()
                .map(|selector| (selector.of)(&run, &cell.name()))
                .collect(),
        );
    }
    table
}

/// Such a table as `SELECTOR=value`, without figures that were not measured. netperf puts the brand
/// in quotes.
pub fn netperf_keyval(table: &Table) -> String {
    let mut text = String::new();
    for row in &table.rows {
        for (selector, value) in SELECTORS.iter().zip(row) {
            let words = match value {
                Value::Absent => continue,
                Value::Whole(number) => number.to_string(),
                Value::Number(number) => number.to_string(),
                Value::Text(words) if selector.name == "RESULT_BRAND" => {
                    format!("\"{}\"", words.replace(['\n', '\r', '"'], " "))
                }
                Value::Text(words) => words.replace(['\n', '\r'], " "),
            };
            text += &format!("{}={words}\n", selector.name);
        }
    }
    text
}
