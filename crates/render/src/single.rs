//! All figures of one run alone as text.

use std::fmt::Write;

use bitcost_analysis::metrics::{METRICS, Metric, RunView, Shown, attribute, parts};
use bitcost_model::modes;
use bitcost_model::record::{EndpointRecord, FlowRecord, Role};

use crate::losses;
use crate::notes::softirqs_words;
use crate::number;
use crate::words::around;

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

/// All figures of one run as lines of text; its answer has the caveats.
pub fn single_text(run: &RunView) -> String {
    let mut text = String::new();
    if run.is_alone() {
        let _ = writeln!(text, "{}", run.conditions.phrase());
        part(&mut text, run);
    } else {
        for of in parts(run) {
            let _ = writeln!(text, "{}", of.conditions.phrase());
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
    text
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
    let sizes = [
        (
            "send buffer",
            begin.send_buffer_bytes,
            end_sizes.send_buffer_bytes,
        ),
        (
            "receive buffer",
            begin.receive_buffer_bytes,
            end_sizes.receive_buffer_bytes,
        ),
        ("MSS", begin.mss_bytes, end_sizes.mss_bytes),
    ];
    let parts = sizes
        .into_iter()
        .filter_map(|(what, begin, end)| change(what, begin, end));
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| format!("{} socket: {} bytes", end.role.name(), parts.join(", ")))
}
