//! The answer of `bitcost test` in a few lines: what ran where, throughput, loss, cost, the
//! bottleneck, and caveats.

use bitcost_analysis::explain::{ExplainedCell, stop_others};
use bitcost_analysis::log::caveats_of;
use bitcost_analysis::metrics::{PartRun, RunView, actual, attribute, metric, parts};
use bitcost_model::conditions::{Conditions, Direction};
use bitcost_model::harmless;
use bitcost_model::record::{Role, Sample};
use bitcost_model::units::counted;

use crate::answer::of_cell;
use crate::explained::proof_sentence;
use crate::layout::{WIDTH, labelled, paragraph};
use crate::losses::sentence;
use crate::number;
use crate::single_run::{throughput, two_regimes, what_intervals_hold, with_interval};

/// Why a run of several parts has no cost.
const TOGETHER: &str = "not known: each host's CPU time is for all that runs at the same time, and cannot be divided between directions or workloads; test one alone";

/// The lines of the answer about one run; `place` says where the endpoints were, `limiter` what
/// limited the run, absent where that is not known.
pub fn test_answer(run: &RunView, place: &str, limiter: Option<&ExplainedCell>) -> String {
    let mut lines = vec![headline(run, place)];
    if run.is_alone() {
        lines.extend(figures(run));
        lines.extend(two_regimes(run).map(|found| labelled("two regimes", &found.said())));
        lines.extend(losses(run));
        lines.extend(cost(run).map_or_else(|| no_cost(run), |cost| vec![cost]));
        lines.extend(what_intervals_hold(run).map(|words| labelled("interval", &words)));
    } else {
        lines.extend(parts(run).iter().map(part));
        lines.extend(losses(run));
        lines.push(labelled("cost", TOGETHER));
        lines.extend(total_cost(run));
    }
    lines.push(labelled("bottleneck", &of_cell(limiter)));
    let proof = limiter.and_then(|cell| cell.proof.as_ref());
    lines.extend(proof.map(|proof| labelled("experiment", &proof_sentence(proof))));
    lines.extend(
        limiter
            .and_then(remedy)
            .map(|words| labelled("remedy", &words)),
    );
    let caveats = caveats_of(run);
    lines.extend(caveats.iter().map(|words| labelled("caveat", words)));
    lines.concat()
}

/// What to change about the bottleneck. Absent where no limiter is known, or it differs within the
/// run.
fn remedy(cell: &ExplainedCell) -> Option<String> {
    let verdict = cell.verdict()?;
    if let Some(others) = &verdict.others {
        return Some(stop_others(others, verdict.limiter()));
    }
    let is_one = cell.shares().len() == 1 && !verdict.limiter().is_unknown();
    is_one.then(|| verdict.remedy().to_owned())
}

/// `TCP stream, 131072-byte messages, cubic, 10 s, h1 to h2 in lab wire`.
fn headline(run: &RunView, place: &str) -> String {
    let conditions = run.conditions;
    let mut words = vec![format!(
        "{}{}",
        conditions.workload.info().title,
        direction(conditions)
    )];
    if conditions.workload.is_transactional() {
        if conditions.workload.has_requests() {
            let (request, response) = (
                conditions.request_size_bytes,
                conditions.response_size_bytes,
            );
            words.push(format!(
                "{request}-byte requests, {response}-byte responses"
            ));
        }
    } else {
        words.push(format!("{}-byte messages", conditions.message_size_bytes));
    }
    if conditions.flows > 1 {
        words.push(counted(conditions.flows as usize, "flow"));
    }
    words.extend(congestion_control(run));
    words.extend(
        run.window_seconds(Role::Receiver)
            .map(|seconds| format!("{} s", number::plain(seconds))),
    );
    words.push(harmless(place));
    paragraph("", &words.join(", "), WIDTH)
}

/// The congestion control that the sender's socket used.
fn congestion_control(run: &RunView) -> Option<String> {
    actual(run.sender, "congestion_control").map(harmless)
}

fn direction(conditions: &Conditions) -> &'static str {
    match conditions.direction {
        Direction::Forward => "",
        Direction::Reverse => " in reverse (the receiver's host sends)",
        Direction::Both => " in both directions",
    }
}

fn figure(run: &RunView, name: &str) -> Option<f64> {
    (metric(name)?.compute)(run)
}

/// Throughput and loss of a stream, or rate and latency of transactions.
fn figures(run: &RunView) -> Vec<String> {
    if run.conditions.workload.is_transactional() {
        return transactions(run);
    }
    let throughput = throughput(run).unwrap_or_else(|| "not measured".to_owned());
    let received = run.measured(Role::Receiver).bytes;
    let mut rest = vec![format!("{} received", size(received))];
    if run.conditions.workload.is_datagram() {
        rest.extend(share(run, "loss_pct", "lost"));
        rest.extend(share(run, "reordered_pct", "reordered"));
    } else {
        rest.extend(retransmitted(run));
    }
    let mut lines = vec![labelled(
        "throughput",
        &format!("{throughput}, {}", rest.join(", ")),
    )];
    if let Some(jitter) = figure(run, "jitter_us") {
        lines.push(labelled(
            "jitter",
            &format!("{} µs (RFC 3550)", number::plain(jitter)),
        ));
    }
    lines
}

/// `12 segments retransmitted (90 with warm-up and cooldown)`: those of the window, as in the lines
/// of the run's seconds, and those of the whole connection where these are more.
pub(crate) fn retransmitted(run: &RunView) -> Option<String> {
    let whole = figure(run, "retransmits")? as usize;
    let samples = &run.sender.samples;
    let total = |sample: &Sample| sample.tcp_info.as_ref()?.total_retrans;
    let edges = samples
        .first()
        .and_then(total)
        .zip(samples.last().and_then(total));
    let window = edges.map(|(begin, end)| end.wrapping_sub(begin) as usize);
    let said = |count: usize| format!("{} retransmitted", counted(count, "segment"));
    Some(match window {
        Some(window) if window == whole => said(window),
        Some(window) => format!("{} ({whole} with warm-up and cooldown)", said(window)),
        None => format!("{} (with warm-up and cooldown)", said(whole)),
    })
}

/// What became of lost and retransmitted packets.
fn losses(run: &RunView) -> Option<String> {
    Some(labelled("losses", &sentence(run)?))
}

fn share(run: &RunView, name: &str, words: &str) -> Option<String> {
    let pct = figure(run, name)?;
    Some(format!("{} % {words}", number::plain(pct)))
}

fn transactions(run: &RunView) -> Vec<String> {
    let mut lines = Vec::new();
    let latency = |name: &str| figure(run, name).map(number::plain);
    let at = [
        ("median", "latency_p50_us"),
        ("p99", "latency_p99_us"),
        ("p99.9", "latency_p999_us"),
    ];
    let known: Vec<String> = at
        .iter()
        .filter_map(|(words, name)| Some(format!("{words} {} µs", latency(name)?)))
        .collect();
    if !known.is_empty() {
        lines.push(labelled("latency", &known.join(", ")));
    }
    let rate = with_interval(run, "transactions_per_second", "transactions/s");
    let rate = rate.unwrap_or_else(|| "not measured".to_owned());
    let lost = share(run, "requests_lost_pct", "of the requests lost");
    let lost = lost.map_or_else(String::new, |lost| format!(", {lost}"));
    lines.push(labelled("rate", &(rate + &lost)));
    lines
}

/// CPU time at both ends.
fn cost(run: &RunView) -> Option<String> {
    if run.conditions.workload.is_transactional() {
        let ends = [
            ("send_service_demand_us_per_transaction", "at the client"),
            ("receive_service_demand_us_per_transaction", "at the server"),
        ];
        return pair(run, ends, "µs/transaction");
    }
    let ends = [
        ("send_service_demand_us_per_kib", "to send"),
        ("receive_service_demand_us_per_kib", "to receive"),
    ];
    pair(run, ends, "µs/KiB")
}

/// Why the CPU time of one end alone is not known, and CPU use of both hosts.
fn no_cost(run: &RunView) -> Vec<String> {
    let why = attribute(run).err();
    let why = why.map(|why| labelled("cost", &format!("not known: {why}")));
    why.into_iter().chain(total_cost(run)).collect()
}

/// `0.20 µs/KiB [0.15, 0.27] to send, 0.46 [0.34, 0.62] to receive`: metrics with their words, of
/// which the first has the unit.
fn pair(run: &RunView, ends: [(&str, &str); 2], unit: &str) -> Option<String> {
    let mut said: Vec<String> = Vec::new();
    for (name, words) in ends {
        let unit = if said.is_empty() { unit } else { "" };
        let figure = with_interval(run, name, unit);
        said.extend(figure.map(|figure| format!("{figure} {words}")));
    }
    (!said.is_empty()).then(|| labelled("cost", &said.join(", ")))
}

/// CPU use of both hosts.
fn total_cost(run: &RunView) -> Option<String> {
    let busy = |name: &str| figure(run, name).map(number::plain);
    let (sender, receiver) = (busy("sender_cpu_util_pct")?, busy("receiver_cpu_util_pct")?);
    let words = match run.shared_cpus {
        true => format!("{sender} % of this machine, which both ends share"),
        false => format!("sender's host {sender} %, receiver's host {receiver} %"),
    };
    Some(labelled("CPU use", &words))
}

/// One workload of several that ran at the same time.
fn part(part: &PartRun) -> String {
    let mark = format!("{}: ", part.conditions.phrase());
    let lines = figures(&part.view());
    let lines = lines.iter().map(|line| paragraph(&mark, line, WIDTH));
    lines.collect()
}

/// `2.62 GB`, in units of 10^3.
fn size(bytes: u64) -> String {
    let bytes = bytes as f64;
    match bytes {
        bytes if bytes >= 1e9 => format!("{:.2} GB", bytes / 1e9),
        bytes if bytes >= 1e6 => format!("{:.1} MB", bytes / 1e6),
        bytes if bytes >= 1e3 => format!("{:.1} kB", bytes / 1e3),
        bytes => format!("{bytes} bytes"),
    }
}
