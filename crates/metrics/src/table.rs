//! The metrics: one row each, and the formulas behind them.

use model::record::Role;

use crate::attribution::{Attribution, Method, attribute};
use crate::counting;
use crate::cpu;
use crate::parts;
use crate::path;
use crate::timing;
use crate::view::RunView;

/// Which way a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither: it says what happened.
    Neither,
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
    /// True where it needs the two ends' CPU time told apart ([`attribute`]).
    pub attributed: bool,
    /// The formula in words.
    pub doc: &'static str,
    /// The formula; absent where the records do not allow it.
    pub compute: fn(&RunView) -> Option<f64>,
}

/// The metric of this name.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

const fn row(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    better: Better,
    doc: &'static str,
    compute: fn(&RunView) -> Option<f64>,
) -> Metric {
    Metric { name, title, unit, better, attributed: false, doc, compute }
}

/// Every metric. KiB are 1024 bytes of user data, Mbit are 10^6 bits of user data, both of the measured window.
pub const METRICS: &[Metric] = &[
    row(
        "throughput_mbps",
        "Throughput",
        "Mbit/s",
        Better::Higher,
        "bits received ÷ window; datagrams by the sender's marks and window, TCP by the receiver's window",
        |run| mbps(run, Role::Receiver),
    ),
    row(
        "send_throughput_mbps",
        "Throughput offered",
        "Mbit/s",
        Better::Higher,
        "bits that the send calls took ÷ the sender's window",
        |run| mbps(run, Role::Sender),
    ),
    row(
        "throughput_of_ceiling_pct",
        "Throughput as a part of what the path carried in calibration",
        "%",
        Better::Neither,
        "throughput ÷ ceiling of the run's setting of the lab's path, measured before the first run",
        |run| Some(100.0 * mbps(run, Role::Receiver)? / run.ceiling_mbps?),
    ),
    Metric {
        attributed: true,
        ..row(
            "send_service_demand_us_per_kib",
            "Send service demand",
            "µs/KiB",
            Better::Lower,
            "the sender's attributed CPU time ÷ KiB sent",
            |run| demand(run, Role::Sender, Role::Sender),
        )
    },
    Metric {
        attributed: true,
        ..row(
            "receive_service_demand_us_per_kib",
            "Receive service demand",
            "µs/KiB",
            Better::Lower,
            "the receiver's attributed CPU time ÷ KiB received",
            |run| demand(run, Role::Receiver, Role::Receiver),
        )
    },
    Metric {
        attributed: true,
        ..row(
            "receive_service_demand_per_kib_sent_us",
            "Receive service demand by netperf's definition",
            "µs per KiB sent",
            Better::Lower,
            "the receiver's attributed CPU time ÷ KiB sent, as netperf divides; lost data makes it look cheaper",
            |run| demand(run, Role::Receiver, Role::Sender),
        )
    },
    row(
        "netperf_send_service_demand_us_per_kib",
        "Send service demand as netperf computes it",
        "µs/KiB",
        Better::Lower,
        "netperf's CPU share of the sender's host (1 − idle ÷ all ticks, per CPU) × 10000 × CPUs ÷ (KiB sent per second)",
        |run| netperf_demand(run, Role::Sender),
    ),
    row(
        "netperf_receive_service_demand_us_per_kib",
        "Receive service demand as netperf computes it",
        "µs/KiB",
        Better::Lower,
        "netperf's CPU share of the receiver's host × 10000 × CPUs ÷ (KiB *sent* per second)",
        |run| netperf_demand(run, Role::Receiver),
    ),
    row(
        "sender_host_service_demand_us_per_kib",
        "Service demand of the sender's whole host",
        "µs/KiB",
        Better::Lower,
        "busy time (wall clock − idle − iowait) of all CPUs of the sender's host ÷ KiB received",
        |run| host_demand(run, Role::Sender),
    ),
    row(
        "receiver_host_service_demand_us_per_kib",
        "Service demand of the receiver's whole host",
        "µs/KiB",
        Better::Lower,
        "busy time (wall clock − idle − iowait) of all CPUs of the receiver's host ÷ KiB received",
        |run| host_demand(run, Role::Receiver),
    ),
    row(
        "sender_host_service_demand_above_idle_us_per_kib",
        "Service demand of the sender's host, above idle",
        "µs/KiB",
        Better::Lower,
        "(busy time − that of the same host before the block, with nothing of bitcost at work) ÷ KiB received",
        |run| demand_above_idle(run, Role::Sender),
    ),
    row(
        "receiver_host_service_demand_above_idle_us_per_kib",
        "Service demand of the receiver's host, above idle",
        "µs/KiB",
        Better::Lower,
        "(busy time − that of the same host before the block, with nothing of bitcost at work) ÷ KiB received",
        |run| demand_above_idle(run, Role::Receiver),
    ),
    row(
        "sender_idle_cpu_pct",
        "CPU use of the sender's host before the block",
        "%",
        Better::Neither,
        "busy time (wall clock − idle − iowait) ÷ wall clock, all CPUs, with nothing of bitcost at work",
        |run| idle_util(run, Role::Sender),
    ),
    row(
        "receiver_idle_cpu_pct",
        "CPU use of the receiver's host before the block",
        "%",
        Better::Neither,
        "busy time (wall clock − idle − iowait) ÷ wall clock, all CPUs, with nothing of bitcost at work",
        |run| idle_util(run, Role::Receiver),
    ),
    row(
        "sender_thread_cpu_us_per_kib",
        "CPU time of the sending thread",
        "µs/KiB",
        Better::Lower,
        "run time of the traffic thread ÷ KiB sent; carries soft interrupts that ran on its back",
        |run| thread_demand(run, Role::Sender),
    ),
    row(
        "receiver_thread_cpu_us_per_kib",
        "CPU time of the receiving thread",
        "µs/KiB",
        Better::Lower,
        "run time of the traffic thread ÷ KiB received; carries soft interrupts that ran on its back",
        |run| thread_demand(run, Role::Receiver),
    ),
    row(
        "sender_cpu_util_pct",
        "CPU use of the sender's host",
        "%",
        Better::Lower,
        "busy time (wall clock − idle − iowait) ÷ wall clock, all CPUs",
        |run| cpu_util(run, Role::Sender),
    ),
    row(
        "receiver_cpu_util_pct",
        "CPU use of the receiver's host",
        "%",
        Better::Lower,
        "busy time (wall clock − idle − iowait) ÷ wall clock, all CPUs",
        |run| cpu_util(run, Role::Receiver),
    ),
    row(
        "sender_peak_cpu_pct",
        "Busiest CPU of the sender's host",
        "%",
        Better::Lower,
        "busy time ÷ wall clock of the busiest CPU over the window",
        |run| peak_cpu(run, Role::Sender),
    ),
    row(
        "receiver_peak_cpu_pct",
        "Busiest CPU of the receiver's host",
        "%",
        Better::Lower,
        "busy time ÷ wall clock of the busiest CPU over the window",
        |run| peak_cpu(run, Role::Receiver),
    ),
    row(
        "sender_thread_wait_pct",
        "Sending thread waiting for a CPU",
        "%",
        Better::Lower,
        "run-queue delay of the traffic thread ÷ wall clock",
        |run| thread_wait(run, Role::Sender),
    ),
    row(
        "receiver_thread_wait_pct",
        "Receiving thread waiting for a CPU",
        "%",
        Better::Lower,
        "run-queue delay of the traffic thread ÷ wall clock",
        |run| thread_wait(run, Role::Receiver),
    ),
    row(
        "sender_traffic_cpu_pct",
        "CPU of the sending program",
        "% of a CPU",
        Better::Lower,
        "run time of the traffic threads ÷ wall clock: what time(1) shows as %P of a program that only sends",
        |run| traffic_cpu(run, Role::Sender),
    ),
    row(
        "receiver_traffic_cpu_pct",
        "CPU of the receiving program",
        "% of a CPU",
        Better::Lower,
        "run time of the traffic threads ÷ wall clock: what time(1) shows as %P of a program that only receives",
        |run| traffic_cpu(run, Role::Receiver),
    ),
    row(
        "send_attribution_error_pct",
        "Standard error of the sender's share",
        "%",
        Better::Neither,
        "standard error ÷ attributed CPU time where ticks told the shares apart (binomial over USER_HZ ticks)",
        |run| attribution_error(run, Role::Sender),
    ),
    row(
        "receive_attribution_error_pct",
        "Standard error of the receiver's share",
        "%",
        Better::Neither,
        "standard error ÷ attributed CPU time where ticks told the shares apart (binomial over USER_HZ ticks)",
        |run| attribution_error(run, Role::Receiver),
    ),
    row(
        "loss_pct",
        "Datagrams lost",
        "%",
        Better::Lower,
        "datagrams of the measured window that never came ÷ those sent, by sequence number",
        loss,
    ),
    row(
        "segment_size_bytes",
        "User data per segment",
        "bytes",
        Better::Neither,
        "the sender's bytes ÷ data segments of the whole connection, again-sent ones too (TCP_INFO)",
        segment_size,
    ),
    row("retransmits", "Segments sent again", "", Better::Lower, "of the whole connection (TCP_INFO)", |run| {
        Some(f64::from(run.sender.tcp_info.as_ref()?.total_retrans?))
    }),
    row(
        "window_plateau_segments",
        "Congestion window",
        "segments",
        Better::Neither,
        "median over the samples of the window's second half, at the sender (TCP_INFO)",
        path::window_plateau,
    ),
    row(
        "queue_dropped_packets",
        "Packets dropped on the path",
        "",
        Better::Lower,
        "at all queues between the ends of a lab; a super-packet is one",
        |run| path::drops(run, |_| true),
    ),
    row(
        "emulator_dropped_packets",
        "Packets dropped by the emulator",
        "",
        Better::Lower,
        "at the queues that delay: netem's, or the delay lines'; a super-packet is one",
        |run| path::drops(run, path::QueueDrops::is_emulator),
    ),
    row(
        "line_late_p99_us",
        "Lateness of the delay line",
        "µs",
        Better::Lower,
        "time after their own that 99 % of the packets did not exceed, at the latest line",
        |run| path::late_us(run, 0.99),
    ),
    row(
        "line_late_max_us",
        "Most lateness of the delay line",
        "µs",
        Better::Lower,
        "time after their own that no packet exceeded, at the latest line",
        |run| path::late_us(run, 1.0),
    ),
    row(
        "line_failed_packets",
        "Packets that the delay line could not carry",
        "",
        Better::Lower,
        "came faster than it read them, or were not taken from it",
        path::line_failures,
    ),
    row(
        "line_cpu_pct",
        "CPU use of the delay lines",
        "% of a CPU",
        Better::Lower,
        "CPU time of their threads ÷ the samples' span",
        |run| path::line_cpus(run).map(|cpus| 100.0 * cpus),
    ),
    row(
        "rtt_us",
        "Round-trip time",
        "µs",
        Better::Lower,
        "smoothed, at the end of the run, at the sender (TCP_INFO)",
        |run| Some(f64::from(run.sender.tcp_info.as_ref()?.rtt_us?)),
    ),
    row(
        "messages_per_second",
        "Messages sent",
        "1/s",
        Better::Higher,
        "messages handed over whole ÷ the sender's window",
        |run| Some(run.measured(Role::Sender).messages as f64 / run.window_seconds(Role::Sender)?),
    ),
    row(
        "receive_calls_per_second",
        "Receive calls",
        "1/s",
        Better::Neither,
        "receive calls of a stream that brought data ÷ window",
        |run| Some(receive_calls(run)? / run.window_seconds(Role::Receiver)?),
    ),
    row(
        "bytes_per_receive_call",
        "User data per receive call",
        "bytes",
        Better::Neither,
        "received ÷ calls, of a stream",
        |run| quotient(run.measured(Role::Receiver).bytes as f64, receive_calls(run)?),
    ),
    row(
        "transactions_per_second",
        "Transactions",
        "1/s",
        Better::Higher,
        "requests with their responses, or connections ÷ the sender's window",
        |run| Some(transactions(run, Role::Sender)? / run.window_seconds(Role::Sender)?),
    ),
    row(
        "requests_lost_pct",
        "Requests without an answer",
        "%",
        Better::Lower,
        "requests that were given up after the timeout ÷ all requests of the measured window",
        |run| {
            // TCP loses none.
            let answered = transactions(run, Role::Sender).filter(|_| run.conditions.workload.is_datagram())?;
            let lost = run.measured(Role::Sender).unanswered as f64;
            quotient(100.0 * lost, answered + lost)
        },
    ),
    Metric {
        attributed: true,
        ..row(
            "send_service_demand_us_per_transaction",
            "Service demand of the asking end",
            "µs/transaction",
            Better::Lower,
            "the sender's attributed CPU time ÷ transactions",
            |run| transaction_demand(run, Role::Sender),
        )
    },
    Metric {
        attributed: true,
        ..row(
            "receive_service_demand_us_per_transaction",
            "Service demand of the answering end",
            "µs/transaction",
            Better::Lower,
            "the receiver's attributed CPU time ÷ transactions that it counted",
            |run| transaction_demand(run, Role::Receiver),
        )
    },
    row(
        "latency_mean_us",
        "Latency, mean",
        "µs",
        Better::Lower,
        "sum of the times ÷ answered transactions of the measured window; from the end of the one before, or from the intended time where a rate was asked",
        |run| timing::mean_us(timing::latency(run)?),
    ),
    row("latency_p50_us", "Latency, median", "µs", Better::Lower, LATENCY_DOC, |run| latency_us(run, 500)),
    row("latency_p90_us", "Latency, 90 %", "µs", Better::Lower, LATENCY_DOC, |run| latency_us(run, 900)),
    row("latency_p99_us", "Latency, 99 %", "µs", Better::Lower, LATENCY_DOC, |run| latency_us(run, 990)),
    row("latency_p999_us", "Latency, 99.9 %", "µs", Better::Lower, LATENCY_DOC, |run| latency_us(run, 999)),
    row("latency_max_us", "Latency, longest", "µs", Better::Lower, "the longest time, exact", |run| {
        timing::max_us(timing::latency(run)?)
    }),
    row(
        "sender_context_switches_per_message",
        "Context switches of the sending thread",
        "per message",
        Better::Lower,
        "voluntary and involuntary switches of the traffic thread per second ÷ messages handed over per second",
        |run| counting::context_switches(run, Role::Sender),
    ),
    row(
        "receiver_context_switches_per_message",
        "Context switches of the receiving thread",
        "per message",
        Better::Lower,
        "voluntary and involuntary switches of the traffic thread per second ÷ messages received per second",
        |run| counting::context_switches(run, Role::Receiver),
    ),
    row(
        "sender_wakeups_per_message",
        "Wakeups of the sending thread",
        "per message",
        Better::Lower,
        "voluntary switches of the traffic thread per second ÷ messages handed over per second",
        |run| counting::wakeups(run, Role::Sender),
    ),
    row(
        "receiver_wakeups_per_message",
        "Wakeups of the receiving thread",
        "per message",
        Better::Lower,
        "voluntary switches of the traffic thread per second ÷ messages received per second",
        |run| counting::wakeups(run, Role::Receiver),
    ),
    row(
        "sender_involuntary_switches_per_second",
        "Sending thread put aside for another",
        "1/s",
        Better::Lower,
        "involuntary switches of the traffic thread ÷ wall clock",
        |run| counting::involuntary_switches(run, Role::Sender),
    ),
    row(
        "receiver_involuntary_switches_per_second",
        "Receiving thread put aside for another",
        "1/s",
        Better::Lower,
        "involuntary switches of the traffic thread ÷ wall clock",
        |run| counting::involuntary_switches(run, Role::Receiver),
    ),
    row(
        "receiver_empty_calls_per_message",
        "Receive calls that found nothing",
        "per message",
        Better::Neither,
        "receive calls that answered EAGAIN per second ÷ messages received per second",
        |run| counting::calls_in_vain(run, Role::Receiver, |counts| counts.empty_calls),
    ),
    row(
        "sender_empty_calls_per_message",
        "Send calls that found no room",
        "per message",
        Better::Neither,
        "send calls that answered EAGAIN per second ÷ messages handed over per second; threads that flows share only",
        |run| counting::calls_in_vain(run, Role::Sender, |counts| counts.empty_calls),
    ),
    row(
        "sender_wait_calls_per_message",
        "Calls of epoll_wait at the sender",
        "per message",
        Better::Neither,
        "epoll_wait calls per second ÷ messages handed over per second; threads that flows share only",
        |run| counting::calls_in_vain(run, Role::Sender, |counts| counts.wait_calls),
    ),
    row(
        "receiver_wait_calls_per_message",
        "Calls of epoll_wait at the receiver",
        "per message",
        Better::Neither,
        "epoll_wait calls per second ÷ messages received per second; threads that flows share only",
        |run| counting::calls_in_vain(run, Role::Receiver, |counts| counts.wait_calls),
    ),
    row(
        "sender_system_calls_per_message",
        "System calls of the sending loop",
        "per message",
        Better::Lower,
        "all calls that the loop makes for its messages ÷ messages: send calls, failed ones, epoll_wait; streams",
        |run| counting::system_calls(run, Role::Sender),
    ),
    row(
        "receiver_system_calls_per_message",
        "System calls of the receiving loop",
        "per message",
        Better::Lower,
        "all calls that the loop makes for its messages per second ÷ messages per second: receive calls, those that found nothing, epoll_wait; streams",
        |run| counting::system_calls(run, Role::Receiver),
    ),
    row(
        "short_sends_pct",
        "Send calls that took less than a message",
        "%",
        Better::Neither,
        "short send calls ÷ send calls of a TCP stream",
        counting::short_sends,
    ),
    row(
        "failed_sends_pct",
        "Send calls that failed",
        "%",
        Better::Lower,
        "send calls of datagrams that failed (full queue, refused) ÷ all send calls",
        counting::failed_sends,
    ),
    row(
        "segments_per_message",
        "Segments per message",
        "per message",
        Better::Neither,
        "data segments sent, again-sent ones too, per second (TCP_INFO) ÷ messages handed over per second",
        counting::segments_per_message,
    ),
    row(
        "segments_sent_per_second",
        "Segments sent",
        "1/s",
        Better::Neither,
        "data segments sent ÷ time between the first and the last sample (TCP_INFO); UDP: datagrams ÷ window",
        |run| counting::segments_per_second(run, Role::Sender),
    ),
    row(
        "segments_received_per_second",
        "Segments received",
        "1/s",
        Better::Neither,
        "data segments received ÷ time between the first and the last sample (TCP_INFO); UDP: datagrams ÷ window",
        |run| counting::segments_per_second(run, Role::Receiver),
    ),
    row(
        "reordered_pct",
        "Datagrams out of order",
        "%",
        Better::Lower,
        "datagrams of the window that came after a later one ÷ those sent",
        |run| counting::arrivals(run, |arrivals| arrivals.reordered),
    ),
    row(
        "duplicated_pct",
        "Datagrams that came again",
        "%",
        Better::Lower,
        "datagrams of the window that came once more ÷ those sent",
        |run| counting::arrivals(run, |arrivals| arrivals.duplicated),
    ),
    row(
        "late_pct",
        "Datagrams that came too late",
        "%",
        Better::Lower,
        "datagrams of the window that came more than 65 536 numbers late ÷ those sent; they are among the lost",
        |run| counting::arrivals(run, |arrivals| arrivals.late),
    ),
    row(
        "after_window_pct",
        "Datagrams after the window's end",
        "%",
        Better::Neither,
        "datagrams of the window that were taken after the receiver's own window ÷ those sent; they are received",
        |run| counting::arrivals(run, |arrivals| arrivals.after_window),
    ),
    row(
        "own_cpu_share_pct",
        "Share of the busy time that was the run's own",
        "%",
        Better::Neither,
        "run time of both ends' traffic, NAPI and watching threads ÷ busy time of the host or hosts",
        counting::own_cpu_share,
    ),
    row(
        "other_cpu_pct",
        "CPU time of everything else",
        "%",
        Better::Lower,
        "busy time of the host or hosts less the run time of the run's own threads, ÷ wall clock of all their CPUs",
        counting::other_cpu,
    ),
    row(
        "send_call_mean_us",
        "Send call, mean",
        "µs",
        Better::Lower,
        "sum of the times ÷ send calls of the window that took data",
        |run| timing::mean_us(timing::send_calls(run)?),
    ),
    row("send_call_p50_us", "Send call, median", "µs", Better::Lower, SEND_CALL_DOC, |run| {
        timing::quantile_us(timing::send_calls(run)?, 500)
    }),
    row("send_call_p99_us", "Send call, 99 %", "µs", Better::Lower, SEND_CALL_DOC, |run| {
        timing::quantile_us(timing::send_calls(run)?, 990)
    }),
    row("send_call_p999_us", "Send call, 99.9 %", "µs", Better::Lower, SEND_CALL_DOC, |run| {
        timing::quantile_us(timing::send_calls(run)?, 999)
    }),
    row("send_call_max_us", "Send call, longest", "µs", Better::Lower, "the longest time, exact", |run| {
        timing::max_us(timing::send_calls(run)?)
    }),
    row(
        "delay_variation_mean_us",
        "Delay variation, mean",
        "µs",
        Better::Lower,
        "mean difference of one-way delay, without sign, between datagrams sent one after the other (RFC 3393)",
        |run| timing::delay_variation(run, timing::mean_us),
    ),
    row("delay_variation_p50_us", "Delay variation, median", "µs", Better::Lower, DELAY_DOC, |run| {
        timing::delay_variation(run, |times| timing::quantile_us(times, 500))
    }),
    row("delay_variation_p99_us", "Delay variation, 99 %", "µs", Better::Lower, DELAY_DOC, |run| {
        timing::delay_variation(run, |times| timing::quantile_us(times, 990))
    }),
    row("delay_variation_max_us", "Delay variation, longest", "µs", Better::Lower, DELAY_DOC, |run| {
        timing::delay_variation(run, timing::max_us)
    }),
    row(
        "jitter_us",
        "Interarrival jitter",
        "µs",
        Better::Lower,
        "the smoothed difference of delay after the last datagram of the window (RFC 3550, 6.4.1)",
        timing::jitter_us,
    ),
    row(
        "rate_error_pct",
        "Rate against the one asked",
        "%",
        Better::Neither,
        "messages per second of the window ÷ those asked for − 1",
        timing::rate_error_pct,
    ),
    row(
        "pacing_gap_spread_us",
        "Time between bursts, mean deviation",
        "µs",
        Better::Lower,
        "mean difference, without sign, of the time between two bursts from the intended one, of the whole run",
        |run| timing::gap_us(run, |pacing| pacing.gap_deviation_total_ns as f64 / pacing.gaps as f64),
    ),
    row(
        "pacing_gap_min_us",
        "Time between bursts, shortest",
        "µs",
        Better::Neither,
        "of the whole run, at the sender that paces itself",
        |run| timing::gap_us(run, |pacing| pacing.gap_min_ns as f64),
    ),
    row(
        "pacing_gap_max_us",
        "Time between bursts, longest",
        "µs",
        Better::Neither,
        "of the whole run, at the sender that paces itself",
        |run| timing::gap_us(run, |pacing| pacing.gap_max_ns as f64),
    ),
    row(
        "pacing_late_mean_us",
        "Bursts behind their time, mean",
        "µs",
        Better::Lower,
        "by how much a burst came after its time, of the whole run",
        |run| timing::lateness_us(run, |pacing| pacing.late_total_ns as f64 / pacing.bursts as f64),
    ),
    row(
        "pacing_late_max_us",
        "Bursts behind their time, most",
        "µs",
        Better::Lower,
        "by how much the latest burst came after its time, of the whole run",
        |run| timing::lateness_us(run, |pacing| pacing.late_max_ns as f64),
    ),
    row(
        "pacing_cpu_pct",
        "CPU time of pacing itself",
        "%",
        Better::Lower,
        "CPU time of the sender's waiting, sleeps and spins, ÷ the run's length, of one CPU",
        timing::pacing_cpu_pct,
    ),
    row(
        "sender_self_cost_ns_per_message",
        "The sending loop's own cost",
        "ns per message",
        Better::Lower,
        "the loop with nothing in the kernel's place, fastest of the batches of 20 ms",
        |run| timing::self_cost_ns(run, Role::Sender),
    ),
    row(
        "receiver_self_cost_ns_per_message",
        "The receiving loop's own cost",
        "ns per message",
        Better::Lower,
        "the loop with nothing in the kernel's place, fastest of the batches of 20 ms",
        |run| timing::self_cost_ns(run, Role::Receiver),
    ),
    row(
        "total_throughput_mbps",
        "Throughput of all parts",
        "Mbit/s",
        Better::Higher,
        "sum of the throughput of every part, each as it is by itself",
        parts::total_throughput_mbps,
    ),
    Metric {
        attributed: true,
        ..row(
            "sender_total_service_demand_us_per_kib",
            "Service demand of the sender, all parts",
            "µs/KiB",
            Better::Lower,
            "the sender's attributed CPU time ÷ KiB that it sent and received in all parts",
            |run| parts::total_demand(run, Role::Sender),
        )
    },
    Metric {
        attributed: true,
        ..row(
            "receiver_total_service_demand_us_per_kib",
            "Service demand of the receiver, all parts",
            "µs/KiB",
            Better::Lower,
            "the receiver's attributed CPU time ÷ KiB that it sent and received in all parts",
            |run| parts::total_demand(run, Role::Receiver),
        )
    },
    row("beside_throughput_mbps", "Throughput of the stream beside", "Mbit/s", Better::Higher, BESIDE_DOC, |run| {
        parts::beside_stream(run, "throughput_mbps")
    }),
    row("beside_loss_pct", "Datagrams lost of the stream beside", "%", Better::Lower, BESIDE_DOC, |run| {
        parts::beside_stream(run, "loss_pct")
    }),
    row("beside_transactions_per_second", "Transactions beside", "1/s", Better::Higher, BESIDE_DOC, |run| {
        parts::beside_transactions(run, "transactions_per_second")
    }),
    row("beside_requests_lost_pct", "Requests without an answer, beside", "%", Better::Lower, BESIDE_DOC, |run| {
        parts::beside_transactions(run, "requests_lost_pct")
    }),
    row("beside_latency_mean_us", "Latency beside, mean", "µs", Better::Lower, BESIDE_DOC, |run| {
        parts::beside_transactions(run, "latency_mean_us")
    }),
    row("beside_latency_p50_us", "Latency beside, median", "µs", Better::Lower, BESIDE_DOC, |run| {
        parts::beside_transactions(run, "latency_p50_us")
    }),
    row("beside_latency_p90_us", "Latency beside, 90 %", "µs", Better::Lower, BESIDE_DOC, |run| {
        parts::beside_transactions(run, "latency_p90_us")
    }),
    row("beside_latency_p99_us", "Latency beside, 99 %", "µs", Better::Lower, BESIDE_DOC, |run| {
        parts::beside_transactions(run, "latency_p99_us")
    }),
    row("beside_latency_p999_us", "Latency beside, 99.9 %", "µs", Better::Lower, BESIDE_DOC, |run| {
        parts::beside_transactions(run, "latency_p999_us")
    }),
    row("beside_latency_max_us", "Latency beside, longest", "µs", Better::Lower, BESIDE_DOC, |run| {
        parts::beside_transactions(run, "latency_max_us")
    }),
];

const BESIDE_DOC: &str = "the same figure of the first part beside the run's own workload that has it";

const SEND_CALL_DOC: &str = "the time that this share of the window's send calls did not exceed, to three digits";

const DELAY_DOC: &str = "what this share of the differences of one-way delay did not exceed, to three digits";

const LATENCY_DOC: &str = "the time that this share of the answered transactions did not exceed, to three digits";

fn receive_calls(run: &RunView) -> Option<f64> {
    let streams = !run.conditions.workload.is_transactional();
    streams.then(|| run.measured(Role::Receiver).calls as f64)
}

fn transactions(run: &RunView, role: Role) -> Option<f64> {
    run.conditions.workload.is_transactional().then(|| run.measured(role).messages as f64)
}

/// The ends' CPU time; absent where several parts spent it.
fn alone(run: &RunView) -> Option<Attribution> {
    if run.is_alone() { attribute(run).ok() } else { None }
}

/// CPU time attributed to `end` over its window, in µs per transaction that it counted.
fn transaction_demand(run: &RunView, end: Role) -> Option<f64> {
    let count = transactions(run, end)?;
    quotient(alone(run)?.end(end).cpus * run.window_seconds(end)? * 1e6, count)
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
    let cpus = alone(run)?.end(end).cpus;
    Some(cpus * run.window_seconds(end)? * 1e6 / run.kib(per)?)
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

fn demand_above_idle(run: &RunView, role: Role) -> Option<f64> {
    let cpus = cpu::cpus_above_idle(run.end(role)).filter(|_| run.is_alone())?;
    Some(cpus * 1e6 / run.kib_per_second(Role::Receiver)?)
}

fn idle_util(run: &RunView, role: Role) -> Option<f64> {
    let count = cpu::cpus(run.end(role))?.len() as f64;
    Some(100.0 * cpu::idle_cpus(run.end(role))? / count)
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
    let busiest = cpu::cpus(run.end(role))?.iter().map(|cpu| cpu.busy_seconds).max_by(f64::total_cmp)?;
    Some(100.0 * busiest / cpu::span_seconds(run.end(role))?)
}

fn attribution_error(run: &RunView, role: Role) -> Option<f64> {
    let attribution = attribute(run).ok().filter(|attribution| attribution.method == Method::SoftirqTicks)?;
    Some(100.0 * attribution.end(role).relative_standard_error?)
}

fn loss(run: &RunView) -> Option<f64> {
    let sequence = run.receiver.sequence?;
    quotient(100.0 * sequence.measured_lost as f64, sequence.measured_sent as f64)
}

fn segment_size(run: &RunView) -> Option<f64> {
    let info = run.sender.tcp_info.as_ref()?;
    quotient(info.bytes_sent? as f64, f64::from(info.data_segs_out?))
}
