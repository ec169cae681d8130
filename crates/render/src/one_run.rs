//! One run: its answer in a few lines (throughput, loss, cost, bottleneck, caveats), and all its figures.

use bitcost_analysis::explain::ExplainedCell;
use bitcost_analysis::log::caveats_of;
use bitcost_analysis::metrics::{
    METRICS, Metric, PartRun, RunView, Shown, actual, attribute, figure_of, flow_rates_mbps, parts,
    retransmitted_in_window, single_run,
};
use bitcost_analysis::statistics::Interval;
use bitcost_model::conditions::{Conditions, Direction};
use bitcost_model::record::{EndpointRecord, Program, Role};
use bitcost_model::units::counted;
use bitcost_model::workload::Workload;
use bitcost_model::{harmless, modes};

use crate::answer::of_cell;
use crate::block::Block;
use crate::experiment::proof_sentence;
use crate::explained::remedy;
use crate::lines::Lines;
use crate::losses::{losses, sentence};
use crate::number;
use crate::words::{around, softirqs_words};

/// The answer about one run; `place` says where the endpoints were, `limiter` what limited the run and `floor` what it cannot
/// cost less than, absent where that is not known.
pub fn test_answer(
    run: &RunView,
    place: &str,
    limiter: Option<&ExplainedCell>,
    floor: Option<Block>,
) -> Vec<Block> {
    let mut blocks = vec![Block::words(headline(run, place))];
    let losses = sentence(run).map(|words| Block::labelled("losses", words));
    if run.is_alone() {
        blocks.extend(figures(run));
    } else {
        let of_part = |part: &PartRun| {
            let mark = format!("{}: ", part.conditions.phrase());
            let figures = figures(&part.view()).into_iter();
            figures.map(move |block| match block {
                Block::Note(label, words) => Block::Note(format!("{mark}{label}"), words),
                other => other,
            })
        };
        blocks.extend(parts(run).iter().flat_map(of_part));
    }
    blocks.extend(losses);
    blocks.extend(cost(run).map_or_else(|| no_cost(run), |cost| vec![cost]));
    blocks.extend(floor);
    blocks.extend(bottleneck(limiter));
    let caveats = caveats_of(run).into_iter();
    blocks.extend(caveats.map(|words| Block::labelled("caveat", words)));
    blocks
}

/// The bottleneck, what experiments show of it, and what to change about it.
pub(crate) fn bottleneck(limiter: Option<&ExplainedCell>) -> Vec<Block> {
    let mut blocks = vec![Block::labelled("bottleneck", of_cell(limiter))];
    let proof = limiter.and_then(|cell| cell.proof.as_ref());
    blocks.extend(proof.map(|proof| Block::labelled("experiment", proof_sentence(proof))));
    let words = limiter.and_then(what_to_do);
    blocks.extend(words.map(|words| Block::labelled("remedy", words)));
    blocks
}

/// What to change about the bottleneck. Absent where no limiter is known and nothing gained, or it differs within the
/// run.
fn what_to_do(cell: &ExplainedCell) -> Option<String> {
    let is_known = !cell.verdict()?.limiter().is_unknown();
    let gained = cell.remedies.iter().any(|one| one.gain.is_some());
    let is_one = cell.shares().len() == 1 && (is_known || gained);
    is_one.then(|| remedy(cell)).flatten()
}

/// `TCP stream, 131072-byte messages, cubic, 10 s, h1 to h2 in lab wire`.
fn headline(run: &RunView, place: &str) -> String {
    if let Some(words) = of_program(run) {
        return words;
    }
    let conditions = run.conditions;
    let workload = conditions.workload;
    let direction = match conditions.direction {
        Direction::Forward => "",
        Direction::Reverse => " in reverse (the receiver's host sends)",
        Direction::Both => " in both directions",
    };
    let mut words = vec![format!("{}{direction}", workload.info().title)];
    let Conditions {
        request_size_bytes: request,
        response_size_bytes: response,
        message_size_bytes: message,
        ..
    } = conditions;
    if !workload.is_transactional() {
        words.push(format!("{message}-byte messages"));
    } else if workload.has_requests() {
        words.push(format!(
            "{request}-byte requests, {response}-byte responses"
        ));
    }
    if conditions.flows > 1 {
        words.push(counted(conditions.flows as usize, "flow"));
    }
    words.extend(actual(run.sender, "congestion_control").map(harmless));
    let seconds = run.window_seconds(Role::Receiver);
    words.extend(seconds.map(|seconds| format!("{} s", number::plain(seconds))));
    words.push(harmless(place));
    words.join(", ")
}

/// `iperf3 (77), 10.0.0.1:40000 to 10.0.0.2:5201, 5 s`, of another program's connections, or of both ends' programs:
/// `iperf3 (77) to iperf3 (78), …`.
fn of_program(run: &RunView) -> Option<String> {
    let (end, program) = run.programs().next()?;
    let named = |(_, program): (_, &Program)| {
        let name = program.name.as_deref().map(harmless);
        let name = name.unwrap_or_else(|| "a program that this user may not look at".to_owned());
        let pid = program.pid.map_or(String::new(), |pid| format!(" ({pid})"));
        name + &pid
    };
    let names: Vec<String> = run.programs().map(named).collect();
    let way = match end.role {
        Role::Sender => "to",
        Role::Receiver => "from",
    };
    let connections = match &program.connections[..] {
        [] => "no connection that lasted".to_owned(),
        [[local, peer]] => format!("{} {way} {}", harmless(local), harmless(peer)),
        [[_, peer], ..] => {
            let count = counted(program.connections.len(), "connection");
            format!("{count} {way} {} and others", harmless(peer))
        }
    };
    let mut words = vec![names.join(" to "), connections];
    let seconds = run.window_seconds(end.role);
    words.extend(seconds.map(|seconds| format!("{} s", number::plain(seconds))));
    Some(words.join(", "))
}

fn share(run: &RunView, name: &str, words: &str) -> Option<String> {
    let pct = figure_of(run, name)?;
    Some(format!("{} % {words}", number::plain(pct)))
}

/// Throughput and loss of a stream, or rate and latency of transactions.
fn figures(run: &RunView) -> Vec<Block> {
    let not_measured = || "not measured".to_owned();
    if run.conditions.workload.is_transactional() {
        let at = [
            ("median", "latency_p50_us"),
            ("p90", "latency_p90_us"),
            ("p99", "latency_p99_us"),
            ("p99.9", "latency_p999_us"),
        ];
        let latency = at.iter().filter_map(|(words, name)| {
            let us = number::plain(figure_of(run, name)?);
            Some(format!("{words} {us} µs"))
        });
        let latency: Vec<String> = latency.collect();
        let latency = (!latency.is_empty()).then(|| latency.join(", "));
        let (unit, lost) = match run.conditions.workload {
            Workload::TcpConnect => ("connections/s", "of the connections failed"),
            one if one.makes_connections() => ("transactions/s", "of the connections failed"),
            _ => ("transactions/s", "of the requests lost"),
        };
        let rate = with_interval(run, "transactions_per_second", unit);
        let lost = share(run, "requests_lost_pct", lost);
        let rate = [rate.unwrap_or_else(not_measured)].into_iter().chain(lost);
        let rate = Block::labelled("rate", Vec::from_iter(rate).join(", "));
        let latency = latency.map(|words| Block::labelled("latency", words));
        return latency.into_iter().chain([rate]).collect();
    }
    let received = size(run.measured(Role::Receiver).bytes);
    let mut words = vec![throughput(run).unwrap_or_else(not_measured)];
    words.push(format!("{received} received"));
    if run.conditions.workload.is_datagram() {
        words.extend(share(run, "loss_pct", "lost"));
        let is_reordered = figure_of(run, "reordered_pct") > Some(0.0);
        words.extend(share(run, "reordered_pct", "reordered").filter(|_| is_reordered));
    } else if sentence(run).is_none() {
        let count = retransmitted_in_window(run);
        let count = count.map(|count| counted(count as usize, "segment"));
        words.extend(count.map(|count| format!("{count} retransmitted")));
    }
    let datagrams = figure_of(run, "messages_per_second");
    let datagrams = datagrams.filter(|_| run.conditions.workload.is_datagram());
    let datagrams = datagrams.map(|rate| {
        let jitter = figure_of(run, "jitter_us").map(number::plain);
        let jitter = jitter.map(|us| format!(", jitter {us} µs (RFC 3550)"));
        let words = format!(
            "{}/s sent{}",
            number::plain(rate),
            jitter.unwrap_or_default()
        );
        Block::labelled("datagrams", words)
    });
    [Block::labelled("throughput", words.join(", "))]
        .into_iter()
        .chain(datagrams)
        .chain(each_flow(run))
        .collect()
}

/// The most flows whose rates fit into a line or two.
const FLOWS: usize = 16;

/// `372 381 365 Mbit/s`, of more flows the lowest, the median and the highest.
fn each_flow(run: &RunView) -> Option<Block> {
    let mut rates = flow_rates_mbps(run);
    let words = match rates.len() {
        0..=1 => return None,
        2..=FLOWS => rates
            .iter()
            .map(|rate| number::plain(*rate))
            .collect::<Vec<_>>()
            .join(", "),
        count => {
            rates.sort_by(f64::total_cmp);
            let [low, median, high] =
                [0, count / 2, count - 1].map(|place| number::plain(rates[place]));
            format!("{low} to {high}, median {median}")
        }
    };
    Some(Block::labelled("each flow", format!("{words} Mbit/s")))
}

/// `0.200 ± 0.013 µs/KiB to send, 0.460 ± 0.032 to receive`: CPU time at both ends; of parts that run at once, for a
/// KiB of all of them.
fn cost(run: &RunView) -> Option<Block> {
    if !run.is_alone() {
        let of = |end| figure_of(run, &format!("{end}_total_service_demand_us_per_kib"));
        let [sender, receiver] = [of("sender")?, of("receiver")?].map(number::plain);
        let words = format!(
            "{sender} µs/KiB at the sender's host, {receiver} at the receiver's, of all data in both directions"
        );
        return Some(Block::labelled("cost", words));
    }
    let (unit, ends) = match run.conditions.workload.is_transactional() {
        true => ("transaction", ["at the client", "at the server"]),
        false => ("KiB", ["to send", "to receive"]),
    };
    let per = format!("µs/{unit}");
    let mut said: Vec<String> = Vec::new();
    for (end, words) in ["send", "receive"].into_iter().zip(ends) {
        let name = format!("{end}_service_demand_us_per_{}", unit.to_lowercase());
        let figure = with_interval(run, &name, if said.is_empty() { &per } else { "" });
        said.extend(figure.map(|figure| format!("{figure} {words}")));
    }
    (!said.is_empty()).then(|| Block::labelled("cost", said.join(", ")))
}

/// Why the CPU time of one end alone is not known, and CPU use of both hosts.
fn no_cost(run: &RunView) -> Vec<Block> {
    let why = attribute(run).err();
    let why = why.map(|why| Block::labelled("cost", format!("not known: {why}")));
    why.into_iter().chain(total_cost(run)).collect()
}

fn total_cost(run: &RunView) -> Option<Block> {
    let busy = |name: &str| figure_of(run, name).map(number::plain);
    let (sender, receiver) = (busy("sender_cpu_util_pct")?, busy("receiver_cpu_util_pct")?);
    let words = match run.shared_cpus {
        true => format!("{sender} % of this machine, which both ends share"),
        false => format!("sender's host {sender} %, receiver's host {receiver} %"),
    };
    Some(Block::labelled("CPU use", words))
}

/// `0.370 ± 0.021 µs/KiB`. Absent where it was not measured.
fn with_interval(run: &RunView, name: &str, unit: &str) -> Option<String> {
    Some(number::known(&measured(run, name)?, &around(" ", unit, "")))
}

/// `12.1 ± 0.6 Gbit/s`: the throughput in units of 10^3. Absent where it was not measured.
fn throughput(run: &RunView) -> Option<String> {
    Some(number::throughput(&measured(run, "throughput_mbps")?))
}

/// A figure; without an interval where one run shows none.
fn measured(run: &RunView, name: &str) -> Option<Interval> {
    let found = single_run(run, name).map(|found| found.interval());
    found.or_else(|| figure_of(run, name).map(Interval::alone))
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

/// The metrics that the text of such a run shows.
pub(crate) fn shown(run: &RunView) -> impl Iterator<Item = &'static Metric> {
    shown_in(match run.conditions.workload.is_transactional() {
        true => Shown::Transactions,
        false => Shown::Streams,
    })
}

fn shown_in(place: Shown) -> impl Iterator<Item = &'static Metric> {
    let all = METRICS.iter();
    all.filter(move |metric| metric.shown_in.contains(&place))
}

/// All figures of one run; its answer has the caveats.
pub fn all_figures(run: &RunView) -> Vec<Block> {
    let mut blocks = Vec::new();
    if run.is_alone() {
        blocks.push(table(run.conditions.phrase(), run, shown(run)));
        blocks.extend(settings(run));
    } else {
        for part in parts(run) {
            let view = part.view();
            blocks.push(table(part.conditions.phrase(), &view, shown(&view)));
            blocks.extend(settings(&view));
        }
        blocks.push(table("all flows".to_owned(), run, shown_in(Shown::Totals)));
    }
    blocks.extend(losses(run));
    blocks.push(Block::words(match attribute(run) {
        Ok(attribution) => {
            let softirqs = attribution.softirqs.map(softirqs_words).unwrap_or_default();
            format!("CPU time: {}{softirqs}", attribution.method.doc())
        }
        Err(reason) => format!("no CPU time of each end: {reason}"),
    }));
    blocks
}

fn table(name: String, run: &RunView, shown: impl Iterator<Item = &'static Metric>) -> Block {
    let row = |metric: &'static Metric| {
        let is_news = |value: &f64| *value != 0.0 || !metric.is_hidden_at_zero;
        let value = (metric.compute)(run).filter(is_news)?;
        let words = [metric.title, &number::plain(value), metric.unit];
        Some(words.map(str::to_owned).to_vec())
    };
    let header = ["metric", "value", "unit"];
    Block::Table(name, Lines::new(header, shown.filter_map(row)))
}

/// The flows of one workload, the modes of its streams, and the sizes of its sockets.
fn settings(run: &RunView) -> Vec<Block> {
    let flows = run.conditions.flows;
    let flows = (flows > 1).then(|| format!("{flows} flows"));
    let ends = [run.sender, run.receiver].into_iter();
    let of_ends = ends.flat_map(|end| mode(run, end).into_iter().chain(socket_sizes(end)));
    flows.into_iter().chain(of_ends).map(Block::words).collect()
}

/// `send_mode: sendfile`, for streams.
fn mode(run: &RunView, end: &EndpointRecord) -> Option<String> {
    let mode = match end.role {
        Role::Sender => run.conditions.send_mode,
        Role::Receiver => run.conditions.receive_mode,
    };
    (!run.conditions.workload.is_transactional())
        .then(|| format!("{}: {}", modes::setting(end.role), mode.name()))
}

/// `sender socket: send buffer 8192 → 1313280 bytes, …`: before the first message and after the
/// last, for the first flow.
fn socket_sizes(end: &EndpointRecord) -> Option<String> {
    let flow = end.flows.first()?;
    let (begin, last) = (flow.at_start, flow.at_end);
    let sizes = [
        (
            "send buffer",
            begin.send_buffer_bytes,
            last.send_buffer_bytes,
        ),
        (
            "receive buffer",
            begin.receive_buffer_bytes,
            last.receive_buffer_bytes,
        ),
        ("MSS", begin.mss_bytes, last.mss_bytes),
    ];
    let parts = sizes
        .into_iter()
        .filter_map(|(what, begin, last)| match (begin?, last?) {
            (begin, last) if begin == last => Some(format!("{what} {last}")),
            (begin, last) => Some(format!("{what} {begin} → {last}")),
        });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| format!("{} socket: {} bytes", end.role.name(), parts.join(", ")))
}
