//! The metrics: one row each, and the formulas behind them.

use bitcost_model::conditions::Conditions;
use bitcost_model::record::Role;

use crate::metrics::attribution::{Attribution, Method, attribute};
use crate::metrics::counting;
use crate::metrics::cpu;
use crate::metrics::disturbance;
use crate::metrics::packaging;
use crate::metrics::parts;
use crate::metrics::path;
use crate::metrics::timing;
use crate::metrics::view::RunView;

/// The direction in which a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither direction is better: the metric says what happened.
    Neither,
}

/// Where the text of a single run shows a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// In a run with streams.
    Streams,
    /// In a run with transactions.
    Transactions,
    /// Once for all flows, if a run has background flows.
    Totals,
}

/// One derived figure of a run.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name in studies and JSON, the unit last.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its unit for people.
    pub unit: &'static str,
    /// Which way it is better.
    pub better: Better,
    /// True if it needs the CPU time of each endpoint ([`attribute`]).
    pub attributed: bool,
    /// The formula in words.
    pub doc: &'static str,
    /// The formula; absent where the records do not allow it.
    pub compute: fn(&RunView) -> Option<f64>,
    /// The places where the text of a single run shows it.
    pub shown_in: &'static [Shown],
    /// True if that text leaves it out when it is 0.
    pub is_hidden_at_zero: bool,
}

impl Metric {
    /// Whether more or less of it is better.
    pub fn has_better_side(&self) -> bool {
        self.better != Better::Neither
    }
}

/// The name of the metric that says how fast the machine was.
pub const SPEED: &str = "speed_loop_us";

/// The name of the metric of the distance between the endpoints' CPUs.
pub const CORE_TO_CORE: &str = "core_to_core_round_trip_ns";

/// The name of the metric of the share of time in which packets are full.
pub const FULL_PACKETS: &str = "full_packets_pct";

/// The name of the metric that is relative to what calibration found.
pub(crate) const OF_CAPACITY: &str = "throughput_of_capacity_pct";

/// The metric of this name.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
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

/// A row is: name, title, unit, which way is better, its marks, the places that show it, the formula,
/// and the formula in words.
macro_rules! metrics {
    ($($name:expr, $title:literal, $unit:literal, $better:ident $(, $mark:ident)* $(, [$($place:ident)*])?
        => $compute:expr, $doc:expr;)*) => {
        &[$(Metric {
            $($mark: true,)*
            $(shown_in: &[$(Shown::$place),*],)?
            ..row($name, $title, $unit, Better::$better, $doc, $compute)
        }),*]
    };
}

/// Every metric. KiB are 1024 bytes of user data, Mbit are 10^6 bits of user data, both of the
/// measured window.
pub const METRICS: &[Metric] = metrics! {
    "throughput_mbps", "Throughput", "Mbit/s", Higher, [Streams]
        => |run| mbps(run, Role::Receiver),
        "bits received ÷ window; datagrams by the sender's marks and window, TCP by the receiver's window";
    "send_throughput_mbps", "Throughput offered", "Mbit/s", Higher, [Streams]
        => |run| mbps(run, Role::Sender),
        "bits that the send calls took ÷ the sender's window";
    OF_CAPACITY, "Throughput relative to path capacity", "%", Neither
        => |run| Some(100.0 * mbps(run, Role::Receiver)? / run.capacity_mbps?),
        "throughput ÷ capacity of the lab's path with the run's settings, measured before the first run";
    "total_throughput_mbps", "Throughput, measured and background flows", "Mbit/s", Higher, [Totals]
        => |run| parts::sum(run, |part| mbps(part, Role::Receiver)),
        "sum of the throughput of the measured and all background flows";
    "sender_total_service_demand_us_per_kib", "Sender service demand, measured and background flows", "µs/KiB", Lower, attributed, [Totals]
        => |run| parts::total_demand(run, Role::Sender),
        "the sender's attributed CPU time ÷ KiB that it sent and received in all flows";
    "receiver_total_service_demand_us_per_kib", "Receiver service demand, measured and background flows", "µs/KiB", Lower, attributed, [Totals]
        => |run| parts::total_demand(run, Role::Receiver),
        "the receiver's attributed CPU time ÷ KiB that it sent and received in all flows";
    "send_service_demand_us_per_kib", "Send service demand", "µs/KiB", Lower, attributed, [Streams]
        => |run| demand(run, Role::Sender, Role::Sender),
        "the sender's attributed CPU time ÷ KiB sent";
    "receive_service_demand_us_per_kib", "Receive service demand", "µs/KiB", Lower, attributed, [Streams]
        => |run| demand(run, Role::Receiver, Role::Receiver),
        "the receiver's attributed CPU time ÷ KiB received";
    "receive_service_demand_per_kib_sent_us", "Receive service demand by netperf's definition", "µs per KiB sent", Lower, attributed
        => |run| demand(run, Role::Receiver, Role::Sender),
        "the receiver's attributed CPU time ÷ KiB sent, as netperf divides; lost data makes it look cheaper";
    "wire_service_demand_us_per_kib", "Wire service demand", "µs/KiB", Lower, attributed
        => wire_demand,
        "CPU time of a lab's wire (charged to neither endpoint) ÷ KiB received; `own_cpus` only";
    "netperf_send_service_demand_us_per_kib", "Send service demand as netperf computes it", "µs/KiB", Lower
        => |run| netperf_demand(run, Role::Sender),
        "netperf's CPU share of the sender's host (1 − idle ÷ all ticks, per CPU) × 10000 × CPUs ÷ (KiB sent per second)";
    "netperf_receive_service_demand_us_per_kib", "Receive service demand as netperf computes it", "µs/KiB", Lower
        => |run| netperf_demand(run, Role::Receiver),
        "netperf's CPU share of the receiver's host × 10000 × CPUs ÷ (KiB *sent* per second)";
    "iperf3_sender_cpu_pct", "CPU of iperf3's process that sends", "% of a CPU", Neither
        => |_| None,
        "of imported runs of iperf3 alone: CPU time of its process at the sender ÷ elapsed time, as its file reports it; it leaves out what the kernel does for it in soft interrupts and other threads";
    "iperf3_receiver_cpu_pct", "CPU of iperf3's process that receives", "% of a CPU", Neither
        => |_| None,
        "the same at the receiver";
    "sender_host_service_demand_us_per_kib", "Service demand of the sender's whole host", "µs/KiB", Lower
        => |run| host_demand(run, Role::Sender),
        "busy time (wall clock − idle − iowait) of all CPUs of the sender's host ÷ KiB received";
    "receiver_host_service_demand_us_per_kib", "Service demand of the receiver's whole host", "µs/KiB", Lower
        => |run| host_demand(run, Role::Receiver),
        "busy time (wall clock − idle − iowait) of all CPUs of the receiver's host ÷ KiB received";
    "sender_thread_cpu_us_per_kib", "CPU time of the sending thread", "µs/KiB", Lower
        => |run| thread_demand(run, Role::Sender),
        "run time of the traffic thread ÷ KiB sent; includes softirqs that ran in its context";
    "receiver_thread_cpu_us_per_kib", "CPU time of the receiving thread", "µs/KiB", Lower
        => |run| thread_demand(run, Role::Receiver),
        "run time of the traffic thread ÷ KiB received; includes softirqs that ran in its context";
    "sender_cpu_util_pct", "CPU use of the sender's host", "%", Lower, [Streams Transactions Totals]
        => |run| cpu_util(run, Role::Sender),
        "busy time (wall clock − idle − iowait) ÷ wall clock, all CPUs";
    "receiver_cpu_util_pct", "CPU use of the receiver's host", "%", Lower, [Streams Transactions Totals]
        => |run| cpu_util(run, Role::Receiver),
        "busy time (wall clock − idle − iowait) ÷ wall clock, all CPUs";
    "sender_peak_cpu_pct", "Busiest CPU of the sender's host", "%", Lower, [Streams Transactions Totals]
        => |run| peak_cpu(run, Role::Sender),
        "busy time ÷ wall clock of the busiest CPU over the window";
    "receiver_peak_cpu_pct", "Busiest CPU of the receiver's host", "%", Lower, [Streams Transactions Totals]
        => |run| peak_cpu(run, Role::Receiver),
        "busy time ÷ wall clock of the busiest CPU over the window";
    "sender_thread_wait_pct", "Sending thread waiting for a CPU", "%", Lower
        => |run| thread_wait(run, Role::Sender),
        "run-queue delay of the traffic thread ÷ wall clock";
    "receiver_thread_wait_pct", "Receiving thread waiting for a CPU", "%", Lower
        => |run| thread_wait(run, Role::Receiver),
        "run-queue delay of the traffic thread ÷ wall clock";
    "sender_traffic_cpu_pct", "CPU of the sending program", "% of a CPU", Lower
        => |run| traffic_cpu(run, Role::Sender),
        "run time of the traffic threads ÷ wall clock: what time(1) shows as %P of a program that only sends";
    "receiver_traffic_cpu_pct", "CPU of the receiving program", "% of a CPU", Lower
        => |run| traffic_cpu(run, Role::Receiver),
        "run time of the traffic threads ÷ wall clock: what time(1) shows as %P of a program that only receives";
    "send_attribution_error_pct", "Standard error of the sender's CPU share", "%", Neither
        => |run| attribution_error(run, Role::Sender),
        "standard error ÷ attributed CPU time, of the time of soft interrupts: of the mean of those that were timed, or binomial over USER_HZ ticks";
    "receive_attribution_error_pct", "Standard error of the receiver's CPU share", "%", Neither
        => |run| attribution_error(run, Role::Receiver),
        "standard error ÷ attributed CPU time, of the time of soft interrupts: of the mean of those that were timed, or binomial over USER_HZ ticks";
    "loss_pct", "Datagrams lost", "%", Lower, [Streams]
        => loss,
        "datagrams of the measured window that never came ÷ those sent, by sequence number";
    "segment_size_bytes", "User data per segment", "bytes", Neither, [Streams Transactions]
        => counting::segment_size,
        "the sender's bytes ÷ data segments of the whole connection, retransmitted ones included (TCP_INFO)";
    "retransmits", "Retransmitted segments", "", Lower, [Streams Transactions]
        => |run| Some(f64::from(run.sender.tcp_info.as_ref()?.total_retrans?)),
        "of the whole connection (TCP_INFO)";
    "retransmitted_pct", "Share of segments retransmitted", "%", Lower
        => counting::retransmitted,
        "retransmitted segments ÷ data segments sent, between the first and the last sample (TCP_INFO)";
    "window_plateau_segments", "Congestion window", "segments", Neither
        => path::window_plateau,
        "median over the samples of the window's second half, at the sender (TCP_INFO)";
    "queue_dropped_packets", "Packets dropped on the path", "", Lower, [Streams]
        => |run| path::drops(run, |_| true),
        "at all queues between the endpoints of a lab; a super-packet counts once";
    "emulator_dropped_packets", "Packets dropped by the emulator", "", Lower
        => |run| path::drops(run, path::QueueDrops::is_emulator),
        "at the queues of the link emulators; a super-packet counts once";
    "emulator_late_p99_us", "Lateness of the link emulator, p99", "µs", Lower, [Streams]
        => |run| path::late_us(run, 0.99),
        "time after the scheduled departure that 99 % of the packets did not exceed, on the worst link";
    "emulator_failed_packets", "Packets that the link emulator failed to carry", "", Lower, [Streams]
        => path::emulator_failures,
        "arrived faster than it read them, or were refused when it sent them";
    "emulator_cpu_pct", "CPU use of the link emulators", "% of a CPU", Lower, [Streams]
        => |run| path::emulator_cpus(run).map(|cpus| 100.0 * cpus),
        "CPU time of their threads ÷ the samples' span";
    "rtt_us", "Round-trip time", "µs", Lower, [Streams]
        => |run| Some(f64::from(run.sender.tcp_info.as_ref()?.rtt_us?)),
        "smoothed, at the end of the run, at the sender (TCP_INFO)";
    "messages_per_second", "Messages sent", "1/s", Higher, [Streams]
        => |run| Some(run.measured(Role::Sender).messages as f64 / run.window_seconds(Role::Sender)?),
        "messages handed over whole ÷ the sender's window";
    "receive_calls_per_second", "Receive calls", "1/s", Neither
        => |run| Some(receive_calls(run)? / run.window_seconds(Role::Receiver)?),
        "receive calls of a stream that brought data ÷ window";
    "bytes_per_receive_call", "User data per receive call", "bytes", Neither, [Streams]
        => |run| quotient(run.measured(Role::Receiver).bytes as f64, receive_calls(run)?),
        "received ÷ calls, of a stream";
    "transactions_per_second", "Transactions", "1/s", Higher, [Transactions]
        => |run| Some(transactions(run, Role::Sender)? / run.window_seconds(Role::Sender)?),
        "requests with their responses, or connections ÷ the sender's window";
    "requests_lost_pct", "Requests without a response", "%", Lower, [Transactions]
        => requests_lost,
        "requests that were given up after the timeout ÷ all requests of the measured window";
    "send_service_demand_us_per_transaction", "Client service demand", "µs/transaction", Lower, attributed, [Transactions]
        => |run| transaction_demand(run, Role::Sender),
        "the sender's attributed CPU time ÷ transactions";
    "receive_service_demand_us_per_transaction", "Server service demand", "µs/transaction", Lower, attributed, [Transactions]
        => |run| transaction_demand(run, Role::Receiver),
        "the receiver's attributed CPU time ÷ transactions that it counted";
    "latency_mean_us", "Latency, mean", "µs", Lower, [Transactions]
        => |run| timing::mean_us(timing::latency(run)?),
        "sum of the times ÷ completed transactions of the measured window; from the end of the one before, or from the intended time where a rate was requested";
    "latency_p50_us", "Latency, median", "µs", Lower, [Transactions]
        => |run| latency_us(run, 500),
        LATENCY_DOC;
    "latency_p90_us", "Latency, 90 %", "µs", Lower, [Transactions]
        => |run| latency_us(run, 900),
        LATENCY_DOC;
    "latency_p99_us", "Latency, 99 %", "µs", Lower, [Transactions]
        => |run| latency_us(run, 990),
        LATENCY_DOC;
    "latency_p999_us", "Latency, 99.9 %", "µs", Lower, [Transactions]
        => |run| latency_us(run, 999),
        LATENCY_DOC;
    "latency_max_us", "Latency, maximum", "µs", Lower, [Transactions]
        => |run| timing::max_us(timing::latency(run)?),
        "the maximum, exact";
    "sender_wakeups_per_message", "Wake-ups of the sending thread", "per message", Lower, [Streams Transactions]
        => |run| counting::wakeups(run, Role::Sender),
        "voluntary switches of the traffic thread per second ÷ messages handed over per second";
    "receiver_wakeups_per_message", "Wake-ups of the receiving thread", "per message", Lower, [Streams Transactions]
        => |run| counting::wakeups(run, Role::Receiver),
        "voluntary switches of the traffic thread per second ÷ messages received per second";
    "sender_wakeups_per_mib", "Wake-ups of the sending thread", "per MiB", Lower
        => |run| counting::wakeups_per_mib(run, Role::Sender),
        "voluntary switches of the traffic thread per second ÷ MiB sent per second";
    "receiver_wakeups_per_mib", "Wake-ups of the receiving thread", "per MiB", Lower
        => |run| counting::wakeups_per_mib(run, Role::Receiver),
        "voluntary switches of the traffic thread per second ÷ MiB received per second";
    "sender_involuntary_switches_per_second", "Sender involuntary context switches", "1/s", Lower
        => |run| counting::involuntary_switches(run, Role::Sender),
        "involuntary switches of the traffic thread ÷ wall clock";
    "receiver_involuntary_switches_per_second", "Receiver involuntary context switches", "1/s", Lower
        => |run| counting::involuntary_switches(run, Role::Receiver),
        "involuntary switches of the traffic thread ÷ wall clock";
    "receiver_empty_calls_per_message", "Receive calls without data", "per message", Neither, is_hidden_at_zero, [Streams Transactions]
        => |run| counting::failed_calls(run, Role::Receiver, |counts| counts.empty_calls),
        "receive calls that answered EAGAIN per second ÷ messages received per second";
    "sender_system_calls_per_message", "System calls of the sending loop", "per message", Lower
        => |run| counting::system_calls(run, Role::Sender),
        "all calls that the loop makes for its messages ÷ messages: send calls and failed ones; streams";
    "receiver_system_calls_per_message", "System calls of the receiving loop", "per message", Lower
        => |run| counting::system_calls(run, Role::Receiver),
        "all calls that the loop makes for its messages per second ÷ messages per second: receive calls and those without data; streams";
    "failed_sends_pct", "Send calls that failed", "%", Lower, is_hidden_at_zero, [Streams]
        => counting::failed_sends,
        "send calls of datagrams that failed (full queue, refused) ÷ all send calls";
    "segments_per_message", "Segments per message", "per message", Neither, [Streams Transactions]
        => counting::segments_per_message,
        "data segments sent, retransmitted ones included, per second (TCP_INFO) ÷ messages handed over per second";
    "acks_per_segment", "ACKs per data segment received", "per segment", Neither, [Streams Transactions]
        => counting::acks_per_segment,
        "segments without data that the receiver sent ÷ data segments that it received, between the first and the last sample (TCP_INFO)";
    "sender_segments_per_packet", "Segments per packet in the sender's stack", "segments", Neither, [Streams]
        => packaging::in_the_senders_stack,
        "data segments sent (Tcp.OutSegs; UDP: datagrams) ÷ packets that the transport handed to IP, a super-packet once";
    "sender_interface_segments_per_packet", "Segments per packet into the sender's interface", "segments", Neither, [Streams]
        => packaging::at_the_senders_interface,
        "data segments sent (Tcp.OutSegs) ÷ packets that the interface was given, a super-packet once";
    "receiver_segments_per_packet", "Segments per packet in the receiver's stack", "segments", Neither, [Streams]
        => packaging::in_the_receivers_stack,
        "data segments received (IpExt.In…Pkts) ÷ packets that IP delivered to the transport, after GRO";
    "sender_bytes_per_packet", "User data per packet in the sender's stack", "bytes", Neither
        => |run| packaging::bytes_per_packet(run, Role::Sender),
        "segments per packet in the sender's stack × user data per segment; a super-packet is one packet";
    "receiver_bytes_per_packet", "User data per packet in the receiver's stack", "bytes", Neither
        => |run| packaging::bytes_per_packet(run, Role::Receiver),
        "segments per packet in the receiver's stack (after GRO) × user data per segment";
    FULL_PACKETS, "Time with full packets", "%", Neither
        => packaging::full_packets_pct,
        "share of the time between samples in which the sender's packets carry more than 1.5 messages, or 32 KiB";
    "receive_window_limited_pct", "Busy time limited by the receive window", "%", Neither
        => |run| packaging::of_busy_time(run, |info| info.rwnd_limited_us),
        "growth of tcpi_rwnd_limited ÷ growth of tcpi_busy_time, between the first and the last sample";
    "send_buffer_limited_pct", "Busy time limited by the send buffer", "%", Neither
        => |run| packaging::of_busy_time(run, |info| info.sndbuf_limited_us),
        "growth of tcpi_sndbuf_limited ÷ growth of tcpi_busy_time, between the first and the last sample";
    "neither_limited_pct", "Busy time limited by neither", "%", Neither
        => |run| packaging::of_busy_time(run, packaging::in_neither),
        "the rest of the growth of tcpi_busy_time, between the first and the last sample";
    "reordered_pct", "Datagrams out of order", "%", Lower, is_hidden_at_zero, [Streams]
        => |run| counting::arrivals(run, |arrivals| arrivals.reordered),
        "datagrams of the window that came after a later one ÷ those sent";
    "duplicated_pct", "Duplicate datagrams", "%", Lower, is_hidden_at_zero, [Streams]
        => |run| counting::arrivals(run, |arrivals| arrivals.duplicated),
        "datagrams of the window that arrived a second time ÷ those sent";
    "late_pct", "Datagrams too late to count", "%", Lower, is_hidden_at_zero, [Streams]
        => |run| counting::arrivals(run, |arrivals| arrivals.late),
        "datagrams of the window that came more than 65 536 numbers late ÷ those sent; they are among the lost";
    "own_cpu_share_pct", "Share of busy time used by the run", "%", Neither, [Streams Transactions Totals]
        => counting::own_cpu_share,
        "run time of both ends' traffic, NAPI and watching threads ÷ busy time of the host or hosts";
    "other_cpu_pct", "CPU time of everything else", "%", Lower
        => counting::other_cpu,
        "busy time of the host or hosts less the run time of the run's own threads, ÷ wall clock of all their CPUs";
    "foreign_cpu_pct", "CPU time of other programs", "% of a CPU", Lower
        => disturbance::foreign_pct,
        "CPU time of all processes that are not part of the run, by their own clocks, ÷ the time from before the traffic to after the window";
    "stolen_cpu_pct", "CPU time taken by the hypervisor", "% of a CPU", Lower
        => disturbance::stolen_pct,
        "stolen ticks of the CPU that lost most ÷ wall clock";
    SPEED, "Time of the machine's fixed loop", "µs", Neither
        => cpu::speed_loop_us,
        "mean over all samples and CPUs of the time of a fixed loop, ten times a second on each CPU; longer: a slower machine";
    CORE_TO_CORE, "Core-to-core round trip", "ns", Neither
        => cpu::core_to_core_round_trip_ns,
        "mean over the samples of the time in which a cache line goes from the sender's CPU to the receiver's and back, where both endpoints are on one machine; longer: CPUs that share fewer caches";
    "send_call_mean_us", "Send call, mean", "µs", Lower, [Streams]
        => |run| timing::mean_us(timing::send_calls(run)?),
        "sum of the times ÷ send calls of the window that took data";
    "send_call_p50_us", "Send call, median", "µs", Lower, [Streams]
        => |run| timing::quantile_us(timing::send_calls(run)?, 500),
        SEND_CALL_DOC;
    "send_call_p99_us", "Send call, 99 %", "µs", Lower, [Streams]
        => |run| timing::quantile_us(timing::send_calls(run)?, 990),
        SEND_CALL_DOC;
    "send_call_max_us", "Send call, maximum", "µs", Lower, [Streams]
        => |run| timing::max_us(timing::send_calls(run)?),
        "the maximum, exact";
    "delay_variation_mean_us", "Delay variation, mean", "µs", Lower, [Streams]
        => |run| timing::delay_variation(run, timing::mean_us),
        "mean difference of one-way delay, without sign, between datagrams sent one after the other (RFC 3393)";
    "delay_variation_p99_us", "Delay variation, 99 %", "µs", Lower, [Streams]
        => |run| timing::delay_variation(run, |times| timing::quantile_us(times, 990)),
        DELAY_DOC;
    "jitter_us", "Interarrival jitter", "µs", Lower, [Streams]
        => timing::jitter_us,
        "the smoothed difference of delay after the last datagram of the window (RFC 3550, 6.4.1)";
    "rate_error_pct", "Pacing error", "%", Neither, [Streams]
        => timing::rate_error_pct,
        "messages per second of the window ÷ requested rate − 1";
    "pacing_late_max_us", "Burst lateness, maximum", "µs", Lower, [Streams]
        => |run| timing::lateness_us(run, |pacing| pacing.late_max_ns as f64),
        "time from the intended to the actual departure of a burst, of the burst that was latest";
    "pacing_cpu_pct", "CPU time of pacing", "% of a CPU", Lower, [Streams]
        => timing::pacing_cpu_pct,
        "CPU time of the sender's waiting, sleeps and spins, ÷ the run's length, of one CPU";
    "background_throughput_mbps", "Background stream throughput", "Mbit/s", Higher
        => |run| background_stream(run, "throughput_mbps"),
        BACKGROUND_DOC;
    "background_loss_pct", "Background datagrams lost", "%", Lower
        => |run| background_stream(run, "loss_pct"),
        BACKGROUND_DOC;
    "background_transactions_per_second", "Background transactions", "1/s", Higher
        => |run| background_transactions(run, "transactions_per_second"),
        BACKGROUND_DOC;
    "background_latency_mean_us", "Background latency, mean", "µs", Lower
        => |run| background_transactions(run, "latency_mean_us"),
        BACKGROUND_DOC;
    "background_latency_p99_us", "Background latency, 99 %", "µs", Lower
        => |run| background_transactions(run, "latency_p99_us"),
        BACKGROUND_DOC;
};

const BACKGROUND_DOC: &str = "the same figure of the first background flow that has it";

const SEND_CALL_DOC: &str =
    "the time that this share of the window's send calls did not exceed, to three digits";

const DELAY_DOC: &str =
    "what this share of the differences of one-way delay did not exceed, to three digits";

const LATENCY_DOC: &str =
    "the time that this share of the completed transactions did not exceed, to three digits";

/// A metric of the first background stream that has it.
fn background_stream(run: &RunView, name: &str) -> Option<f64> {
    let is_stream = |conditions: &Conditions| !conditions.workload.is_transactional();
    parts::of_background(run, is_stream, metric(name)?.compute)
}

/// A metric of the first background flow with transactions that has it.
fn background_transactions(run: &RunView, name: &str) -> Option<f64> {
    let has_transactions = |conditions: &Conditions| conditions.workload.is_transactional();
    parts::of_background(run, has_transactions, metric(name)?.compute)
}

fn receive_calls(run: &RunView) -> Option<f64> {
    let streams = !run.conditions.workload.is_transactional();
    streams.then(|| run.measured(Role::Receiver).calls as f64)
}

fn transactions(run: &RunView, role: Role) -> Option<f64> {
    run.conditions
        .workload
        .is_transactional()
        .then(|| run.measured(role).messages as f64)
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
    if run.is_alone() {
        attribute(run).ok()
    } else {
        None
    }
}

/// CPU time attributed to `end` over its window, in µs per transaction that it counted.
fn transaction_demand(run: &RunView, end: Role) -> Option<f64> {
    let count = transactions(run, end)?;
    quotient(
        alone(run)?.end(end)?.cpus * run.window_seconds(end)? * 1e6,
        count,
    )
}

/// TCP loses none.
fn requests_lost(run: &RunView) -> Option<f64> {
    let answered =
        transactions(run, Role::Sender).filter(|_| run.conditions.workload.is_datagram())?;
    let lost = run.measured(Role::Sender).unanswered as f64;
    quotient(100.0 * lost, answered + lost)
}

fn latency_us(run: &RunView, thousandths: u64) -> Option<f64> {
    timing::quantile_us(timing::latency(run)?, thousandths)
}

fn quotient(above: f64, below: f64) -> Option<f64> {
    (below > 0.0).then(|| above / below)
}

fn mbps(run: &RunView, role: Role) -> Option<f64> {
    Some(run.measured(role).bytes as f64 * 8.0 / 1e6 / run.window_seconds(role)?)
}

/// CPU time attributed to `end` over its window, in µs, per KiB that `per` counted.
fn demand(run: &RunView, end: Role, per: Role) -> Option<f64> {
    let cpus = alone(run)?.end(end)?.cpus;
    Some(cpus * run.window_seconds(end)? * 1e6 / run.kib(per)?)
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

/// CPU seconds per second of a whole host.
fn host_cpus(run: &RunView, role: Role) -> Option<f64> {
    cpu::busy_cpus(run.end(role))
}

fn host_demand(run: &RunView, role: Role) -> Option<f64> {
    let cpus = host_cpus(run, role).filter(|_| run.is_alone())?;
    Some(cpus * 1e6 / run.kib_per_second(Role::Receiver)?)
}

fn thread_demand(run: &RunView, role: Role) -> Option<f64> {
    let (seconds, _) = cpu::first_part_seconds(run.end(role))?;
    Some(seconds / cpu::span_seconds(run.end(role))? * 1e6 / run.kib_per_second(role)?)
}

fn thread_wait(run: &RunView, role: Role) -> Option<f64> {
    let (_, waiting) = cpu::first_part_seconds(run.end(role))?;
    Some(100.0 * waiting / cpu::span_seconds(run.end(role))?)
}

fn traffic_cpu(run: &RunView, role: Role) -> Option<f64> {
    let (seconds, _) = cpu::first_part_seconds(run.end(role))?;
    Some(100.0 * seconds / cpu::span_seconds(run.end(role))?)
}

fn cpu_util(run: &RunView, role: Role) -> Option<f64> {
    let count = cpu::cpus(run.end(role))?.len() as f64;
    Some(100.0 * host_cpus(run, role)? / count)
}

fn peak_cpu(run: &RunView, role: Role) -> Option<f64> {
    let busiest = cpu::cpus(run.end(role))?
        .iter()
        .map(|cpu| cpu.busy_seconds)
        .max_by(f64::total_cmp)?;
    Some(100.0 * busiest / cpu::span_seconds(run.end(role))?)
}

fn attribution_error(run: &RunView, role: Role) -> Option<f64> {
    let attribution = attribute(run).ok().filter(|attribution| {
        matches!(attribution.method, Method::SoftirqTicks | Method::OwnCpus)
    })?;
    Some(100.0 * attribution.end(role)?.relative_standard_error?)
}

fn loss(run: &RunView) -> Option<f64> {
    let sequence = run.receiver.sequence?;
    quotient(
        100.0 * sequence.measured_lost as f64,
        sequence.measured_sent as f64,
    )
}
