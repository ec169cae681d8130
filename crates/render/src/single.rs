//! One run alone as text: its cost, and requests that are not in effect.

use std::fmt::Write;

use bitcost_analysis::metrics::{METRICS, Mark, Metric, RunView, Shown, attribute, marks, parts};
use bitcost_model::conditions::{Conditions, Direction};
use bitcost_model::modes;
use bitcost_model::record::{EndpointRecord, FlowRecord, Role};

use crate::losses;
use crate::notes::softirqs_words;
use crate::number;
use crate::words::around;
use bitcost_analysis::log::{cached_metrics, foreign_datagrams, not_in_effect, undelivered};

/// The metrics that the text of such a run shows.
pub(crate) fn shown(run: &RunView) -> impl Iterator<Item = &'static Metric> {
    let is_transactional = run.conditions.workload.is_transactional();
    shown_in(if is_transactional {
        Shown::Transactions
    } else {
        Shown::Streams
    })
}

fn shown_in(place: Shown) -> impl Iterator<Item = &'static Metric> {
    METRICS
        .iter()
        .filter(move |metric| metric.shown_in.contains(&place))
}

/// The result of one run as lines of text.
pub fn single_text(run: &RunView) -> String {
    let mut text = String::new();
    if run.is_alone() {
        let _ = writeln!(text, "{}", heading(run.conditions));
        part(&mut text, run);
    } else {
        for of in parts(run) {
            let _ = writeln!(text, "{}", heading(&of.conditions));
            part(&mut text, &of.view());
        }
        let _ = writeln!(text, "all flows");
        figures(&mut text, run, shown_in(Shown::Totals));
    }
    text.push_str(&losses::text(run));
    match attribute(run) {
        Ok(attribution) => {
            let softirqs = attribution.softirqs.map(softirqs_words).unwrap_or_default();
            let _ = writeln!(text, "CPU time: {}{softirqs}", attribution.method.doc());
        }
        Err(reason) => {
            let _ = writeln!(text, "no CPU time of each end: {reason}");
        }
    }
    if let Some(trouble) = bitcost_analysis::metrics::emulator_trouble(run) {
        let _ = writeln!(text, "caveat: {trouble}");
    }
    if let Some(disturbance) = bitcost_analysis::metrics::disturbance(run) {
        let _ = writeln!(text, "disturbed: {disturbance}; measure on an idle machine");
    }
    for Mark { weak, end, pct, .. } in marks(run).iter().filter(|mark| mark.attributed) {
        if let Some(end) = end {
            let _ = writeln!(
                text,
                "caveat: {}: {} ({} %)",
                end.name(),
                weak.reason(),
                number::plain(*pct)
            );
        }
    }
    for setting in not_in_effect(run) {
        let _ = writeln!(text, "not in effect: {setting}");
    }
    for caveat in cached_metrics(run)
        .into_iter()
        .chain(foreign_datagrams(run))
        .chain(undelivered(run))
    {
        let _ = writeln!(text, "note: {caveat}");
    }
    text
}

/// `← tcp_rr: to the host called sender, requests of 1 byte, responses of 1 byte`
fn heading(conditions: &Conditions) -> String {
    let to = match conditions.direction {
        Direction::Reverse => "to the host called sender",
        Direction::Forward | Direction::Both => "from the host called sender",
    };
    format!("{}: {to}{}", conditions.phrase(), sizes(conditions))
}

/// The sizes of a message or of a transaction.
fn sizes(conditions: &Conditions) -> String {
    let bytes = |count: u32| format!("{count} {}", if count == 1 { "byte" } else { "bytes" });
    if !conditions.workload.is_transactional() {
        return format!(", messages of {}", bytes(conditions.message_size_bytes));
    }
    if !conditions.workload.has_requests() {
        return String::new();
    }
    let [request, response] = [
        conditions.request_size_bytes,
        conditions.response_size_bytes,
    ]
    .map(bytes);
    format!(", requests of {request}, responses of {response}")
}

/// The figures of one workload, its threads and its modes.
fn part(text: &mut String, run: &RunView) {
    figures(text, run, shown(run));
    if run.conditions.flows > 1 {
        let _ = writeln!(text, "{} flows", run.conditions.flows);
    }
    for end in [run.sender, run.receiver] {
        if let Some(line) = mode(run, end) {
            let _ = writeln!(text, "{line}");
        }
        if let Some(line) = socket_sizes(end) {
            let _ = writeln!(text, "{line}");
        }
    }
}

fn figures(text: &mut String, run: &RunView, shown: impl Iterator<Item = &'static Metric>) {
    for metric in shown {
        let is_news = |value: &f64| *value != 0.0 || !metric.is_hidden_at_zero;
        if let Some(value) = (metric.compute)(run).filter(is_news) {
            let _ = writeln!(
                text,
                "{:<42} {:>10} {}",
                metric.title,
                number::plain(value),
                metric.unit
            );
        }
    }
}

/// `send_mode: splice (tee_calls 812)`, for streams.
fn mode(run: &RunView, end: &EndpointRecord) -> Option<String> {
    let mode = match end.role {
        Role::Sender => run.conditions.send_mode,
        Role::Receiver => run.conditions.receive_mode,
    };
    let counters = FlowRecord::sum(&end.flows).mode_counters;
    let counters: Vec<String> = counters
        .iter()
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    let counters = around(" (", &counters.join(", "), ")");
    (!run.conditions.workload.is_transactional())
        .then(|| format!("{}: {}{counters}", modes::setting(end.role), mode.name()))
}

/// `sender socket: send buffer 8192 → 1313280 bytes, …`: before the first message and after the
/// last, for the first flow.
fn socket_sizes(end: &EndpointRecord) -> Option<String> {
    let flow = end.flows.first()?;
    let (begin, end_sizes) = (flow.at_start, flow.at_end);
    let change = |what: &str, begin: Option<u32>, end: Option<u32>| match (begin?, end?) {
        (begin, end) if begin == end => Some(format!("{what} {end}")),
        (begin, end) => Some(format!("{what} {begin} → {end}")),
    };
    let parts = [
        change(
            "send buffer",
            begin.send_buffer_bytes,
            end_sizes.send_buffer_bytes,
        ),
        change(
            "receive buffer",
            begin.receive_buffer_bytes,
            end_sizes.receive_buffer_bytes,
        ),
        change("MSS", begin.mss_bytes, end_sizes.mss_bytes),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("{} socket: {} bytes", end.role.name(), parts.join(", ")))
}
