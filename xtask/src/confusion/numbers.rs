//! Every number of a record that recordings keep, with the name that it has there.

use bitcost_model::counters::{
    Amount, ForeignLoad, Interface, LinkEmulator, Queue, SocketMemory, Softnet, Throttling,
};
use bitcost_model::record::{
    Counts, CpuTicks, EndpointRecord, Sample, Sequence, Switches, TcpInfo, ThreadTime,
};

/// A number that a reading replaces, whatever its width. Numbers of 64 bits keep their bits.
pub trait Number {
    fn set(&mut self, value: Option<i64>);
}

macro_rules! whole_numbers {
    ($($kind:ty),+) => {$(
        impl Number for $kind {
            fn set(&mut self, value: Option<i64>) {
                *self = value.unwrap_or(0) as $kind;
            }
        }
    )+};
}

whole_numbers!(u8, u32, u64);

impl Number for bool {
    fn set(&mut self, value: Option<i64>) {
        *self = value.unwrap_or(0) != 0;
    }
}

impl<N: Number + Default> Number for Option<N> {
    fn set(&mut self, value: Option<i64>) {
        *self = value.map(|value| {
            let mut number = N::default();
            number.set(Some(value));
            number
        });
    }
}

/// Takes the name and the place of a number.
pub type Visit<'a> = &'a mut dyn FnMut(String, &mut dyn Number);

/// A function that visits the fields of a type, each with its name in a recording, where that is another.
macro_rules! numbers {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    ($function:ident($kind:ty): $($field:ident $(= $name:literal)?),+ $(,)?) => {
        fn $function(of: &str, value: &mut $kind, visit: Visit) {
            $(visit(format!("{of}.{}", numbers!(@name $field $($name)?)), &mut value.$field);)+
        }
    };
}

numbers!(counts(Counts):
    calls, messages, bytes, short_calls, failed_calls, unanswered, empty_calls, wait_calls, sleeps, slept_ns);

numbers!(cpu(CpuTicks): user, system, irq, softirq, steal, idle, iowait);

numbers!(thread(ThreadTime): run_ns, wait_ns, slices);

numbers!(switches(Switches): voluntary = "sleeps", involuntary = "preempted");

numbers!(tcp(TcpInfo):
    snd_mss_bytes = "mss_bytes", ca_state, rtt_us, min_rtt_us, snd_cwnd_segments = "cwnd_segments",
    snd_ssthresh_segments = "ssthresh_segments", snd_wnd_bytes = "peer_window_bytes",
    rcv_wnd_bytes = "own_window_bytes", unacked_segments, notsent_bytes = "unsent_bytes",
    pacing_rate_bytes_per_second = "pacing_bytes_per_second",
    delivery_rate_bytes_per_second = "delivery_bytes_per_second",
    delivery_rate_app_limited = "delivery_app_limited", total_retrans = "retransmitted_segments",
    dsack_dups = "duplicates", reord_seen = "reorderings", rcv_ooopack = "out_of_order_segments",
    data_segs_out = "data_segments_sent", data_segs_in = "data_segments_received", bytes_sent, bytes_acked,
    bytes_received, busy_time_us = "busy_us", rwnd_limited_us = "receive_window_limited_us",
    sndbuf_limited_us = "send_buffer_limited_us");

numbers!(socket(SocketMemory):
    receive_queue_bytes, receive_buffer_bytes, send_allocated_bytes, send_buffer_bytes, send_queue_bytes,
    backlog_bytes, drops);

numbers!(queue(Queue): bytes, packets, drops, overlimits, backlog_packets = "waiting_packets", rate_bps);

numbers!(interface(Interface):
    rx_packets = "received_packets", rx_dropped = "received_dropped", tx_packets = "sent_packets",
    tx_dropped = "sent_dropped");

numbers!(emulator(LinkEmulator): missed_packets, cpu_ns, rate_bps);

numbers!(amount(Amount): packets, segments);

numbers!(softnet(Softnet): processed, dropped, time_squeeze = "squeezed");

numbers!(throttling(Throttling): periods, throttled_periods, throttled_us);

numbers!(sequence(Sequence):
    measured_sent = "sent", measured_lost = "lost", total_lost = "lost_in_all", reordered, duplicated, late);

numbers!(foreign(ForeignLoad): start_ns, end_ns, cpu_ns);

numbers!(sample(Sample): at_ns, process_ns);

numbers!(record(EndpointRecord): window_start_ns, window_end_ns, ticks_per_second);

pub fn of_sample(of: &mut Sample, visit: Visit) {
    sample("sample", of, visit);
    counts("loop", &mut of.counts, visit);
    for one in &mut of.cpus {
        cpu(&format!("cpu{}", one.cpu), one, visit);
    }
    for (number, one) in of.threads.iter_mut().enumerate() {
        thread(&format!("thread{number}"), one, visit);
        if let Some(switched) = &mut one.switches {
            switches(&format!("thread{number}"), switched, visit);
        }
    }
    if let Some(one) = &mut of.tcp_info {
        tcp("tcp", one, visit);
    }
    for (number, one) in of.connections.iter_mut().enumerate() {
        tcp(&format!("tcp{number}"), one, visit);
    }
    for (number, one) in of.sockets.iter_mut().enumerate() {
        socket(&format!("socket{number}"), one, visit);
    }
    for (number, one) in of.queues.iter_mut().enumerate() {
        queue(&format!("queue{number}"), one, visit);
    }
    for (number, one) in of.interfaces.iter_mut().enumerate() {
        interface(&format!("interface{number}"), one, visit);
    }
    for (number, one) in of.emulators.iter_mut().enumerate() {
        let name = format!("emulator{number}");
        emulator(&name, one, visit);
        amount(&format!("{name}.arrived"), &mut one.arrived, visit);
        amount(&format!("{name}.departed"), &mut one.departed, visit);
        amount(&format!("{name}.lost"), &mut one.lost, visit);
        amount(&format!("{name}.overflowed"), &mut one.overflowed, visit);
    }
    for one in &mut of.softnet {
        softnet(&format!("softnet{}", one.cpu), one, visit);
    }
    if let Some(one) = &mut of.throttling {
        throttling("quota", one, visit);
    }
}

pub fn of_run(of: &mut EndpointRecord, visit: Visit) {
    record("run", of, visit);
    counts("outside", &mut of.counts.outside, visit);
    counts("measured", &mut of.counts.measured, visit);
    if let Some(one) = &mut of.tcp_info {
        tcp("tcp", one, visit);
    }
    if let Some(one) = &mut of.sequence {
        sequence("datagrams", one, visit);
    }
    if let Some(one) = &mut of.foreign {
        foreign("programs", one, visit);
    }
}
