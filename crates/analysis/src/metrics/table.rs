//! The metrics: one row each, and the formulas behind them.

use std::sync::LazyLock;

use bitcost_model::conditions::Conditions;
use bitcost_model::record::Role;
use bitcost_model::units::bits_per_second;
use serde::{Serialize, Serializer};

use crate::metrics::attribution::{Attribution, attribute};
use crate::metrics::counting;
use crate::metrics::cpu;
use crate::metrics::disturbance;
use crate::metrics::packaging;
use crate::metrics::parts;
use crate::metrics::path;
use crate::metrics::timing;
use crate::metrics::view::{RunView, quotient};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    Higher,
    Lower,
    /// Neither direction is better: the metric says what happened.
    Neither,
}

/// Where the text of a single run shows a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    Streams,
    Transactions,
    /// Once for all flows, if a run has background flows.
    Totals,
}

#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name in studies and JSON, the unit last.
    pub name: &'static str,
    pub title: &'static str,
    pub unit: &'static str,
    pub better: Better,
    /// True if it needs the CPU time of each endpoint ([`attribute`]).
    pub attributed: bool,
    pub doc: &'static str,
    /// The formula; absent where the records do not allow it.
    pub compute: fn(&RunView) -> Option<f64>,
    /// The places where the text of a single run shows it.
    pub shown_in: &'static [Shown],
    /// True if that text leaves it out when it is 0.
    pub is_hidden_at_zero: bool,
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name)
    }
}

impl Metric {
    pub fn has_better_side(&self) -> bool {
        self.better != Better::Neither
    }
}

pub const SPEED: &str = "speed_loop_us";

pub const CORE_TO_CORE: &str = "core_to_core_round_trip_ns";

pub const FULL_PACKETS: &str = "full_packets_pct";

pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

pub fn place_of(name: &str) -> Option<usize> {
    METRICS.iter().position(|metric| metric.name == name)
}

pub fn figure_of(run: &RunView, name: &str) -> Option<f64> {
    (metric(name)?.compute)(run)
}

/// A metric that no text of a single run shows.
const fn row(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    better: Better,
    doc: &'static str,
    compute: fn(&RunView) -> Option<f64>,
) -> Metric {
    Metric {
        name,
        title,
        unit,
        better,
        attributed: false,
        doc,
        compute,
        shown_in: &[],
        is_hidden_at_zero: false,
    }
}

/// One metric: name, title, unit, which way is better, its marks, the places that show it, the
/// formula, and the formula in words.
macro_rules! metric {
    ($name:expr, $title:expr, $unit:literal, $better:ident $(, $mark:ident)* $(, [$($place:ident)*])?
        => $compute:expr, $doc:expr) => {
        Metric {
            $($mark: true,)*
            $(shown_in: &[$(Shown::$place),*],)?
            ..row($name, $title, $unit, Better::$better, $doc, $compute)
        }
    };
}

macro_rules! one {
    ($($metric:tt)*) => { &[metric!($($metric)*)] };
}

/// What a word of a row of both ends, written for the sender, is for the end.
macro_rules! word {
    ($end:ident $text:literal) => {
        $text
    };
    (Sender $word:ident) => {
        stringify!($word)
    };
    (Receiver sender) => {
        "receiver"
    };
    (Receiver Sender) => {
        "Receiver"
    };
    (Receiver send) => {
        "receive"
    };
    (Receiver Send) => {
        "Receive"
    };
    (Receiver sends) => {
        "receives"
    };
    (Receiver sent) => {
        "received"
    };
    (Receiver sending) => {
        "receiving"
    };
    (Receiver Sending) => {
        "Receiving"
    };
    (Receiver Client) => {
        "Server"
    };
}

macro_rules! end {
    ($end:ident [$($name:tt)*], [$($title:tt)*], [$($doc:tt)*], $compute:path, $($rest:tt)*) => {
        metric!(concat!($(word!($end $name)),*), concat!($(word!($end $title)),*), $($rest)*
            => |run| $compute(run, Role::$end), concat!($(word!($end $doc)),*))
    };
}

/// A row of both ends, as the sender's; words without quotes differ at the receiver.
macro_rules! ends {
    ($name:tt, $title:tt, $unit:literal, $better:ident $(, $mark:ident)* $(, [$($place:ident)*])?
        => $compute:path, $doc:tt) => {
        &[
            end!(Sender $name, $title, $doc, $compute, $unit, $better $(, $mark)* $(, [$($place)*])?),
            end!(Receiver $name, $title, $doc, $compute, $unit, $better $(, $mark)* $(, [$($place)*])?),
        ]
    };
}

/// A row of figures of recorded times: name, title, where they are shown, the times, the mean in
/// words, what the times are of, and the figures.
macro_rules! times {
    ($name:literal, $title:literal, $place:ident, $of:path, $mean:literal, $each:literal; $($figure:ident)*) => {
        &[$(times!($figure ($name, $title, $place, $of) $mean,
            concat!("the time that this share of ", $each, " did not exceed, to three digits"))),*]
    };
    (mean $times:tt $mean:expr, $share:expr) => { times!(@ $times "_mean_us", ", mean", timing::mean_us, $mean) };
    (p50 $times:tt $mean:expr, $share:expr) => { times!(@ $times "_p50_us", ", median", timing::quantile_us::<500>, $share) };
    (p90 $times:tt $mean:expr, $share:expr) => { times!(@ $times "_p90_us", ", 90 %", timing::quantile_us::<900>, $share) };
    (p99 $times:tt $mean:expr, $share:expr) => { times!(@ $times "_p99_us", ", 99 %", timing::quantile_us::<990>, $share) };
    (p999 $times:tt $mean:expr, $share:expr) => { times!(@ $times "_p999_us", ", 99.9 %", timing::quantile_us::<999>, $share) };
    (max $times:tt $mean:expr, $share:expr) => { times!(@ $times "_max_us", ", maximum", timing::max_us, "the maximum, exact") };
    (@ ($name:literal, $title:literal, $place:ident, $of:path) $suffix:literal, $which:literal, $figure:expr, $doc:expr) => {
        metric!(concat!($name, $suffix), concat!($title, $which), "µs", Lower, [$place]
            => |run| $of(run, $figure), $doc)
    };
}

/// A row of metrics of background flows: the metric, title, unit, which way is better, and the flow.
macro_rules! background {
    ($($name:literal, $title:literal, $unit:literal, $better:ident => $of:ident;)*) => {
        &[$(metric!(concat!("background_", $name), $title, $unit, $better => |run| $of(run, $name), BACKGROUND_DOC)),*]
    };
}

/// The rows: metrics that differ in the end, the figure or the flow share one. KiB are 1024 bytes of
/// user data, Mbit are 10^6 bits of user data, both of the measured window.
const ROWS: &[&[Metric]] = &[
    one!("throughput_mbps", "Throughput", "Mbit/s", Higher, [Streams]
        => |run| mbps(run, Role::Receiver),
        "bits received ÷ window; datagrams by the sender's marks and window, TCP by the receiver's window"),
    one!("send_throughput_mbps", "Throughput offered", "Mbit/s", Higher, [Streams]
        => |run| mbps(run, Role::Sender),
        "bits that the send calls took ÷ the sender's window"),
    one!("total_throughput_mbps", "Throughput, measured and background flows", "Mbit/s", Higher, [Totals]
        => |run| parts::sum(run, |part| mbps(part, Role::Receiver)),
        "sum of the throughput of the measured and all background flows"),
    ends!([sender "_total_service_demand_us_per_kib"], [Sender " service demand, measured and background flows"], "µs/KiB", Lower, attributed, [Totals]
        => parts::total_demand,
        ["the " sender "'s attributed CPU time ÷ KiB that it sent and received in all flows"]),
    ends!([send "_service_demand_us_per_kib"], [Send " service demand"], "µs/KiB", Lower, attributed, [Streams]
        => demand,
        ["the " sender "'s attributed CPU time ÷ KiB " sent]),
    one!("wire_service_demand_us_per_kib", "Wire service demand", "µs/KiB", Lower, attributed
        => wire_demand,
        "CPU time of a lab's wire (charged to neither endpoint) ÷ KiB received; `own_cpus` only"),
    ends!(["netperf_" send "_service_demand_us_per_kib"], [Send " service demand as netperf computes it"], "µs/KiB", Lower
        => netperf_demand,
        ["netperf's CPU share of the " sender "'s host (1 − idle ÷ all ticks, per CPU) × 10000 × CPUs ÷ (KiB *sent* per second)"]),
    ends!([sender "_process_cpu_pct"], ["CPU of the program's process that " sends], "% of a CPU", Neither
        => imported_alone,
        ["of imported runs alone: CPU time of the program's process at the " sender " ÷ elapsed time, as the file of iperf3 or nuttcp reports it; it leaves out what the kernel does for it in soft interrupts and other threads"]),
    ends!([sender "_thread_cpu_us_per_kib"], ["CPU time of the " sending " thread"], "µs/KiB", Lower
        => thread_demand,
        ["run time of the traffic thread ÷ KiB " sent "; includes softirqs that ran in its context"]),
    ends!([sender "_cpu_util_pct"], ["CPU use of the " sender "'s host"], "%", Lower, [Streams Transactions Totals]
        => cpu_util,
        ["busy time (wall clock − idle − iowait) ÷ wall clock, all CPUs"]),
    ends!([sender "_peak_cpu_pct"], ["Busiest CPU of the " sender "'s host"], "%", Lower, [Streams Transactions Totals]
        => peak_cpu,
        ["busy time ÷ wall clock of the busiest CPU over the window"]),
    ends!([sender "_traffic_cpu_pct"], ["CPU of the " sending " program"], "% of a CPU", Lower
        => traffic_cpu,
        ["run time of the traffic threads ÷ wall clock: what time(1) shows as %P of a program that only " sends]),
    ends!([send "_attribution_error_pct"], ["Standard error of the " sender "'s CPU share"], "%", Neither
        => attribution_error,
        ["standard error ÷ attributed CPU time, of the time of soft interrupts: of the mean of those that were timed, or binomial over USER_HZ ticks"]),
    one!("loss_pct", "Datagrams lost", "%", Lower, [Streams]
        => loss,
        "datagrams of the measured window that never came ÷ those sent, by sequence number"),
    one!("segment_size_bytes", "User data per segment", "bytes", Neither, [Streams Transactions]
        => counting::segment_size,
        "the sender's bytes ÷ data segments of the whole connection, retransmitted ones included (TCP_INFO)"),
    one!("retransmits", "Retransmitted segments", "", Lower, [Streams Transactions]
        => |run| Some(f64::from(run.sender.tcp_info.as_ref()?.total_retrans?)),
        "of the whole connection (TCP_INFO)"),
    one!("window_plateau_segments", "Congestion window", "segments", Neither
        => path::window_plateau,
        "median over the samples of the window's second half, at the sender (TCP_INFO)"),
    one!("queue_dropped_packets", "Packets dropped on the path", "", Lower, [Streams]
        => |run| path::drops(run, |_| true),
        "at all queues between the endpoints of a lab; a super-packet counts once"),
    one!("emulator_dropped_packets", "Packets dropped by the emulator", "", Lower
        => |run| path::drops(run, path::is_emulator),
        "at the queues of the link emulators; a super-packet counts once"),
    one!("emulator_late_p99_us", "Lateness of the link emulator, p99", "µs", Lower, [Streams]
        => path::late_us::<990>,
        "time after the scheduled departure that 99 % of the packets did not exceed, on the worst link"),
    one!("emulator_failed_packets", "Packets that the link emulator failed to carry", "", Lower, [Streams]
        => path::emulator_failures,
        "arrived faster than it read them, or were refused when it sent them"),
    one!("rtt_us", "Round-trip time", "µs", Lower, [Streams]
        => |run| Some(f64::from(run.sender.tcp_info.as_ref()?.rtt_us?)),
        "smoothed, at the end of the run, at the sender (TCP_INFO)"),
    one!("messages_per_second", "Messages sent", "1/s", Higher, [Streams]
        => |run| Some(run.measured(Role::Sender).messages as f64 / run.window_seconds(Role::Sender)?),
        "messages handed over whole ÷ the sender's window"),
    one!("receive_calls_per_second", "Receive calls", "1/s", Neither
        => |run| Some(receive_calls(run)? / run.window_seconds(Role::Receiver)?),
        "receive calls of a stream that brought data ÷ window"),
    one!("transactions_per_second", "Transactions", "1/s", Higher, [Transactions]
        => |run| Some(transactions(run, Role::Sender)? / run.window_seconds(Role::Sender)?),
        "requests with their responses, or connections ÷ the sender's window"),
    one!("requests_lost_pct", "Requests without a response", "%", Lower, [Transactions]
        => requests_lost,
        "requests that were given up after the timeout, or connections that were not made or ended by force ÷ all of the measured window"),
    ends!([send "_service_demand_us_per_transaction"], [Client " service demand"], "µs/transaction", Lower, attributed, [Transactions]
        => transaction_demand,
        ["the " sender "'s attributed CPU time ÷ transactions that it counted"]),
    times!("latency", "Latency", Transactions, timing::latency,
        "sum of the times ÷ completed transactions of the measured window; from the end of the one before, or from the intended time where a rate was requested",
        "the completed transactions"; mean p50 p90 p99 p999 max),
    ends!([sender "_wakeups_per_message"], ["Wake-ups of the " sending " thread"], "per message", Lower, [Streams Transactions]
        => counting::wakeups,
        ["voluntary switches of the traffic thread per second ÷ messages " sent " per second"]),
    ends!([sender "_system_calls_per_message"], ["System calls of the " sending " loop"], "per message", Lower
        => counting::system_calls,
        ["all calls that the loop makes for its messages per second ÷ messages per second: " send " calls, failed and empty ones; streams"]),
    ends!([sender "_interrupts_per_second"], ["Interrupts of the " sender "'s card"], "1/s", Neither
        => counting::interrupts,
        ["growth of the interrupts of the card that CPUs handled ÷ time"]),
    one!("failed_sends_pct", "Send calls that failed", "%", Lower, is_hidden_at_zero, [Streams]
        => counting::failed_sends,
        "send calls of datagrams that failed (full queue, refused) ÷ all send calls"),
    one!("segments_per_message", "Segments per message", "per message", Neither, [Streams Transactions]
        => counting::segments_per_message,
        "data segments sent, retransmitted ones included, per second (TCP_INFO) ÷ messages handed over per second"),
    ends!([sender "_segments_per_packet"], ["Segments per packet in the " sender "'s stack"], "segments", Neither, [Streams]
        => packaging::segments_per_packet,
        ["data segments " sent " (UDP: datagrams) ÷ packets between IP and transport: a super-packet that is sent counts once, as does what GRO joined"]),
    one!("sender_interface_segments_per_packet", "Segments per packet into the sender's interface", "segments", Neither, [Streams]
        => packaging::at_the_senders_interface,
        "data segments sent (Tcp.OutSegs) ÷ packets that the interface was given, a super-packet once"),
    ends!([sender "_bytes_per_packet"], ["User data per packet in the " sender "'s stack"], "bytes", Neither
        => packaging::bytes_per_packet,
        ["segments per packet in the " sender "'s stack × user data per segment; a super-packet is one packet"]),
    one!(FULL_PACKETS, "Time with full packets", "%", Neither
        => packaging::full_packets_pct,
        "share of the time between samples in which the sender's packets carry at least 1.5 messages or 32 KiB of user data, whichever is less"),
    one!("receive_window_limited_pct", "Busy time limited by the receive window", "%", Neither
        => packaging::receive_window_limited_pct,
        "growth of tcpi_rwnd_limited ÷ growth of tcpi_busy_time, between the first and the last sample"),
    one!("reordered_pct", "Datagrams out of order", "%", Lower, is_hidden_at_zero, [Streams]
        => |run| counting::arrivals(run, |arrivals| arrivals.reordered),
        "datagrams of the window that came after a later one ÷ those sent"),
    one!("duplicated_pct", "Duplicate datagrams", "%", Lower, is_hidden_at_zero, [Streams]
        => |run| counting::arrivals(run, |arrivals| arrivals.duplicated),
        "datagrams of the window that arrived a second time ÷ those sent"),
    one!("late_pct", "Datagrams too late to count", "%", Lower, is_hidden_at_zero, [Streams]
        => |run| counting::arrivals(run, |arrivals| arrivals.late),
        "datagrams of the window that came more than 262 144 numbers late ÷ those sent; they are among the lost"),
    one!("other_cpu_pct", "CPU time of everything else", "%", Lower
        => counting::other_cpu,
        "busy time of the host or hosts less the run time of the run's own threads, ÷ wall clock of all their CPUs"),
    one!("foreign_cpu_pct", "CPU time of other programs", "% of a CPU", Lower
        => |run| disturbance::foreign_cpus(run).map(|cpus| 100.0 * cpus),
        "CPU time of all processes that are not part of the run, by their own clocks, ÷ the time from before the traffic to after the window"),
    one!("stolen_cpu_pct", "CPU time taken by the hypervisor", "% of a CPU", Lower
        => disturbance::stolen_pct,
        "stolen ticks of the CPU that lost most ÷ wall clock"),
    one!(SPEED, "Time of the machine's fixed loop", "µs", Neither
        => cpu::speed_loop_us,
        "mean over all samples and CPUs of the time of a fixed loop, ten times a second on each CPU; longer: a slower machine"),
    one!(CORE_TO_CORE, "Core-to-core round trip", "ns", Neither
        => cpu::core_to_core_round_trip_ns,
        "mean over the samples of the time in which a cache line goes from the sender's CPU to the receiver's and back, where both endpoints are on one machine; longer: CPUs that share fewer caches"),
    times!("delay_variation", "Delay variation", Streams, timing::delay_variation,
        "mean difference of one-way delay, without sign, between datagrams sent one after the other (RFC 3393)",
        "the differences of one-way delay"; mean p99),
    one!("jitter_us", "Interarrival jitter", "µs", Lower, [Streams]
        => timing::jitter_us,
        "the smoothed difference of delay after the last datagram of the window (RFC 3550, 6.4.1)"),
    one!("rate_error_pct", "Pacing error", "%", Neither, [Streams]
        => timing::rate_error_pct,
        "messages per second of the window ÷ requested rate − 1"),
    one!("pacing_cpu_pct", "CPU time of pacing", "% of a CPU", Lower, [Streams]
        => timing::pacing_cpu_pct,
        "CPU time of the sender's waiting, sleeps and spins, ÷ the run's length, of one CPU"),
    background!(
        "throughput_mbps", "Background stream throughput", "Mbit/s", Higher => background_stream;
        "loss_pct", "Background datagrams lost", "%", Lower => background_stream;
        "transactions_per_second", "Background transactions", "1/s", Higher => background_transactions;
        "latency_mean_us", "Background latency, mean", "µs", Lower => background_transactions;
        "latency_p99_us", "Background latency, 99 %", "µs", Lower => background_transactions;
    ),
];

pub static METRICS: LazyLock<Vec<Metric>> = LazyLock::new(|| ROWS.concat());

const BACKGROUND_DOC: &str =
    "the metric of this name without `background_`, of the first background workload that has it";

fn background_stream(run: &RunView, name: &str) -> Option<f64> {
    let is_stream = |conditions: &Conditions| !conditions.workload.is_transactional();
    parts::of_background(run, is_stream, metric(name)?.compute)
}

fn background_transactions(run: &RunView, name: &str) -> Option<f64> {
    let has_transactions = |conditions: &Conditions| conditions.workload.is_transactional();
    parts::of_background(run, has_transactions, metric(name)?.compute)
}

fn receive_calls(run: &RunView) -> Option<f64> {
    let streams = !run.conditions.workload.is_transactional();
    streams.then(|| run.measured(Role::Receiver).calls as f64)
}

fn transactions(run: &RunView, role: Role) -> Option<f64> {
    let is_transactional = run.conditions.workload.is_transactional();
    is_transactional.then(|| run.measured(role).messages as f64)
}

/// What the CPU time of an end is divided by, per second: its transactions, or its KiB.
pub fn units_per_second(run: &RunView, role: Role) -> Option<f64> {
    run.is_alone().then_some(())?;
    match transactions(run, role) {
        Some(count) => quotient(count, run.window_seconds(role)?).filter(|rate| *rate > 0.0),
        None => run.kib_per_second(role),
    }
}

/// The endpoints' CPU time; absent where several parts used it.
fn alone(run: &RunView) -> Option<Attribution> {
    attribute(run).ok().filter(|_| run.is_alone())
}

/// CPU time attributed to `end` over its window, in µs per transaction that it counted.
fn transaction_demand(run: &RunView, end: Role) -> Option<f64> {
    let us = alone(run)?.end(end)?.cpus * run.window_seconds(end)? * 1e6;
    quotient(us, transactions(run, end)?)
}

/// One connection of TCP loses none.
fn requests_lost(run: &RunView) -> Option<f64> {
    let answered = transactions(run, Role::Sender)?;
    let lost = run.measured(Role::Sender).unanswered as f64;
    let loses = run.conditions.workload.is_datagram() || lost > 0.0;
    quotient(100.0 * lost, answered + lost).filter(|_| loses)
}

fn mbps(run: &RunView, role: Role) -> Option<f64> {
    Some(bits_per_second(run.measured(role).bytes, run.window_seconds(role)?) / 1e6)
}

/// CPU time attributed to `end` over its window, in µs, per KiB of its own. Of transactions it is the time of each that counts.
fn demand(run: &RunView, end: Role) -> Option<f64> {
    if run.conditions.workload.is_transactional() {
        return None;
    }
    let cpus = alone(run)?.end(end)?.cpus;
    Some(cpus * run.window_seconds(end)? * 1e6 / run.kib(end)?)
}

/// What only imported runs have.
fn imported_alone(_: &RunView, _: Role) -> Option<f64> {
    None
}

/// CPU time of the wire, in µs per KiB that the receiver took.
fn wire_demand(run: &RunView) -> Option<f64> {
    Some(alone(run)?.wire?.cpus * 1e6 / run.kib_per_second(Role::Receiver)?)
}

/// netperf 2.7, `calc_service_demand_internal`: µs per KiB sent, whole machine.
fn netperf_demand(run: &RunView, role: Role) -> Option<f64> {
    let cpus = cpu::cpus(run.end(role)).filter(|_| run.is_alone())?;
    let shares: Option<Vec<f64>> = cpus.iter().map(|cpu| cpu.netperf_share).collect();
    let util_pct = 100.0 * shares?.iter().sum::<f64>() / cpus.len() as f64;
    Some(util_pct * 10_000.0 * cpus.len() as f64 / run.kib_per_second(Role::Sender)?)
}

fn thread_demand(run: &RunView, role: Role) -> Option<f64> {
    let (cpus, _) = cpu::of_first_part(run.end(role))?;
    Some(cpus * 1e6 / run.kib_per_second(role)?)
}

fn traffic_cpu(run: &RunView, role: Role) -> Option<f64> {
    cpu::of_first_part(run.end(role)).map(|(cpus, _)| 100.0 * cpus)
}

fn cpu_util(run: &RunView, role: Role) -> Option<f64> {
    let count = cpu::cpus(run.end(role))?.len() as f64;
    Some(100.0 * cpu::busy_cpus(run.end(role))? / count)
}

fn peak_cpu(run: &RunView, role: Role) -> Option<f64> {
    let cpus = cpu::cpus(run.end(role))?.into_iter();
    let busiest = cpus.map(|cpu| cpu.busy_seconds).max_by(f64::total_cmp)?;
    Some(100.0 * busiest / cpu::span_seconds(run.end(role))?)
}

fn attribution_error(run: &RunView, role: Role) -> Option<f64> {
    let attribution = attribute(run).ok()?;
    Some(100.0 * attribution.end(role)?.relative_standard_error?)
}

fn loss(run: &RunView) -> Option<f64> {
    let found = run.receiver.sequence?;
    quotient(
        100.0 * found.measured_lost as f64,
        found.measured_sent as f64,
    )
}
