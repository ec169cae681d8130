//! Every setting: one row each, with its name, its option, its values, its effect.

use bitcost_model::conditions::bounds;
use bitcost_model::conditions::{
    Conditions, Direction, Mss, Pacing, RateOf, ReceiveSize, Waiting, Workload,
};
use bitcost_model::cpu_list::parse_cpu_list;
use bitcost_model::modes::{Mode, RECEIVE_WORDS, SEND_WORDS};
use bitcost_model::path_change::PathChange;
use bitcost_model::place::{IpVersion, Ports};
use bitcost_model::record::Role;
use bitcost_model::search::Goal;
use bitcost_model::tcp_buffers::{self, TcpBuffers};
use bitcost_model::workload::WORKLOADS;

use super::setting::{Flag, Form, Kind, Setting};
use crate::host_settings::{
    CHANNELS, COALESCE, GOVERNOR, GRO_MAX_SIZE, GSO_MAX_SEGS, GSO_MAX_SIZE, IDLE, MTU, OFFLOADS,
    QDISC, RPS_CPUS, STRESS, SYSCTL, THREADED_NAPI,
};
use crate::topology::{LIMIT, MODERATION, limit, moderation};

const fn row(name: &'static str, flag: Option<Flag>, kind: Kind, about: &'static str) -> Setting {
    Setting {
        name,
        flag,
        kind,
        about,
        of_run: matches!(kind, Kind::Host(_) | Kind::Background),
    }
}

/// A row of a setting that applies to the whole run.
const fn run_row(
    name: &'static str,
    flag: Option<Flag>,
    kind: Kind,
    about: &'static str,
) -> Setting {
    Setting {
        of_run: true,
        ..row(name, flag, kind, about)
    }
}

const fn flag(long: &'static str) -> Option<Flag> {
    Some(Flag { long, letter: None })
}

const fn letter(long: &'static str, letter: char) -> Option<Flag> {
    Some(Flag {
        long,
        letter: Some(letter),
    })
}

/// A form of text with the function that reads and sets it.
macro_rules! form {
    ($value_name:expr, $allowed:expr, $set:expr) => {
        Kind::Text(
            const {
                &Form {
                    value_name: $value_name,
                    allowed: $allowed,
                    set: $set,
                }
            },
        )
    };
}

const ADDRESS: &str = "an address such as \"10.0.0.1\" or \"fd00::1\"";
const PORTS: &str = "a port from 1 to 65535, or a range such as \"40000-40100\"";
const CPUS: &str = "CPU numbers, each once, such as \"0\", \"1,2\" or \"0-3\"";
const NAME: &str = "one name of 1 to 15 letters";

/// A number as the 32 bits of the conditions; the bounds are narrower.
fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A name that the kernel accepts, of at most 15 bytes (linux/if.h, TCP_CA_NAME_MAX of net/tcp.h).
fn name(text: &str) -> Option<String> {
    let is_one = !text.contains([',', ' ', '/']);
    (is_one && (1..16).contains(&text.len())).then(|| text.to_owned())
}

/// A single port is the first of a range with one port for each flow.
fn set_receiver_ports(conditions: &mut Conditions, text: &str) -> Option<()> {
    let mut ports = Ports::parse(text)?;
    if !text.contains('-') {
        ports.last = u16::MAX;
    }
    conditions.places.receiver.ports = Some(ports);
    Some(())
}

/// A row is: whether it is of a workload (`row`) or of the whole run (`run_row`), its name, its option,
/// its values, and its line of help.
macro_rules! settings {
    ($($row:ident $name:literal, $flag:expr, $kind:expr, $about:literal;)*) => {
        &[$($row($name, $flag, $kind, $about)),*]
    };
}

/// Every setting. A new one is a row here and a field of [`Conditions`]; a numeric one has its
/// bounds in [`bounds`].
pub const SETTINGS: &[Setting] = settings! {
    row "workload", None,
        Kind::Named(
            || WORKLOADS.iter().map(|row| row.name).collect(),
            |c, text| {
                c.workload = Workload::named(text)?;
                Some(())
            },
        ),
        "Kind of traffic (default: tcp_stream)";
    row "direction", flag("direction"),
        Kind::Word(&[
            ("forward", |c| c.direction = Direction::Forward),
            ("reverse", |c| c.direction = Direction::Reverse),
            ("both", |c| c.direction = Direction::Both),
        ]),
        "Direction of the traffic: from the sender, towards the sender, or both at once (default: forward)";
    row "background", flag("background"), Kind::Background,
        "Concurrent background workload with its own options, such as \"rr direction=reverse\" (repeatable; default: none)";
    row "send_mode", flag("send-mode"),
        Kind::Named(|| SEND_WORDS.to_vec(), |c, text| { c.send_mode = Mode::named(Role::Sender, text)?; Some(()) }),
        "How the sender hands messages to the kernel: one call each, or a fast path (default: plain)";
    row "receive_mode", flag("receive-mode"),
        Kind::Named(
            || RECEIVE_WORDS.to_vec(),
            |c, text| {
                c.receive_mode = Mode::named(Role::Receiver, text)?;
                Some(())
            },
        ),
        "How the receiver takes messages from the kernel: plain calls, or a fast path (default: plain)";
    run_row "mode", flag("mode"),
        Kind::Word(&[("honest", |c| c.mode_auto = false), ("auto", |c| c.mode_auto = true)]),
        "`honest`: modes as given, else plain calls; `auto`: trials of at most 3 s choose modes, messages per call, receive buffer, low-water mark and waiting, as far as they are not given (default: honest)";
    run_row "search_for", flag("for"),
        Kind::Word(&[("rate", |c| c.search_for = Goal::Rate), ("cost", |c| c.search_for = Goal::Cost)]),
        "What --mode auto looks for: the highest throughput, or the least CPU time of both endpoints per KiB (default: rate)";
    row "messages_per_call", None,
        Kind::Number(&bounds::MESSAGES_PER_CALL, &[], |c, n| c.messages_per_call = Some(small(n))),
        "Maximum number of messages per send call, in a send mode that hands over several (default: 64, gso 128)";
    row "message_size_bytes", letter("message-size", 'l'),
        Kind::Number(&bounds::MESSAGE_SIZE_BYTES, &[], |c, n| c.message_size_bytes = small(n)),
        "Size of a message: the bytes of one send call (default: 128KiB; UDP: 1024, at most 65507)";
    row "payload", None,
        Kind::Word(&[("clean", |c| c.buffers.dirty = false), ("dirty", |c| c.buffers.dirty = true)]),
        "Whether the sender writes every byte of a message before it sends it (dirty) or not (default: clean)";
    row "send_work_ns", None,
        Kind::Number(&bounds::SEND_WORK_NS, &[], |c, n| c.buffers.send_work_ns = small(n)),
        "CPU time that the sender works on each message, as an application does, in ns (default: 0)";
    row "receive_work_ns", None,
        Kind::Number(&bounds::RECEIVE_WORK_NS, &[], |c, n| c.buffers.receive_work_ns = small(n)),
        "CPU time that the receiver works on each message or request after it has received it, in ns (default: 0)";
    row "receive_size_bytes", None,
        Kind::Number(
            &bounds::RECEIVE_SIZE_BYTES,
            &[
                ("auto", |c| c.receive_size_bytes = ReceiveSize::Auto),
                ("message", |c| c.receive_size_bytes = ReceiveSize::Message),
            ],
            |c, n| c.receive_size_bytes = ReceiveSize::Bytes(small(n)),
        ),
        "Buffer size of a receive call, in bytes; `message`: one message; `auto`: at least 256KiB with TCP, and a low-water mark of what arrives in 1 ms, at most 256KiB; one message with UDP (default: message)";
    row "mss", letter("mss", 'M'),
        Kind::Number(
            &bounds::MSS,
            &[("message", |c| c.mss = Some(Mss::Message))],
            |c, n| c.mss = Some(Mss::Bytes(small(n))),
        ),
        "TCP maximum segment size: user data per segment, in bytes; `message`: one message per segment (default: as the path allows)";
    row "offloads", flag("offloads"), Kind::Host(&OFFLOADS),
        "Offloads of the hosts' interfaces: `on` and `off` set tso, gso, gro and lro where offered, `tso-only` leaves tso alone on; or features by ethtool's names, such as `tso off, rx-gro on`; `sender: off` sets one host (default: unchanged)";
    row "gso_max_segs", None, Kind::Host(&GSO_MAX_SEGS),
        "Maximum number of segments per packet that TCP hands to the interface, whatever its offloads are (default: unchanged)";
    row "gso_max_size", None, Kind::Host(&GSO_MAX_SIZE),
        "Maximum size of a packet that TCP hands to the interface, in bytes, with headers (default: unchanged)";
    row "gro_max_size", None, Kind::Host(&GRO_MAX_SIZE),
        "Maximum size of a packet that GRO merges, in bytes (default: unchanged)";
    row "emulator_queue_limit", None,
        form!("LIMIT", LIMIT, |c, text| {
            c.emulator_queue_limit = Some(limit(text)?);
            Some(())
        }),
        "Queue limit of the lab's link emulators (netem's limit), in place of the lab file's (default: the lab file's)";
    row "moderation", None,
        form!("TIME", MODERATION, |c, text| {
            c.moderation_us = Some(moderation(text)?);
            Some(())
        }),
        "Interrupt moderation of the lab's interfaces that receive a stream: the time between two polls, in place of the lab's (default: the lab's)";
    run_row "path_change", None,
        form!("WHAT SHARE", PathChange::ALLOWED, |c, text| {
            c.path_change = Some(PathChange::parse(text)?);
            Some(())
        }),
        "Rate, delay or loss of the lab's links, relative to the lab's own (default: 100%)";
    row "mtu_bytes", flag("device-mtu"), Kind::Host(&MTU),
        "MTU of the hosts' interfaces, in bytes (default: unchanged)";
    row "qdisc", flag("qdisc"), Kind::Host(&QDISC),
        "Root queueing discipline of the hosts' interfaces, in tc's words, such as `netem delay 20ms`; a time alone is in seconds, a rate in bit/s (default: unchanged)";
    row "sysctl", flag("sysctl"), Kind::Host(&SYSCTL),
        "Kernel parameters of the hosts below net., as sysctl writes them (default: unchanged)";
    row "idle", None, Kind::Host(&IDLE),
        "Keep idle CPUs of the hosts from sleeping (/dev/cpu_dma_latency held at 0; root or permission to write it; default: unchanged)";
    row "channels", None, Kind::Host(&CHANNELS),
        "Numbers of queues of the interfaces, as ethtool -L sets them, such as `combined 4` (default: unchanged)";
    row "coalesce", None, Kind::Host(&COALESCE),
        "Interrupt coalescing of the interfaces, as ethtool -C sets it, such as `rx_usecs 10` (default: unchanged)";
    row "threaded_napi", None, Kind::Host(&THREADED_NAPI),
        "Whether kernel threads, not soft interrupts, handle what the interfaces receive, where they have NAPI; a veth has it while GRO is on (default: unchanged)";
    row "rps_cpus", None, Kind::Host(&RPS_CPUS),
        "CPUs to which the interfaces' receive queues hand packets (RPS), such as `receiver: 1`, or `none`; root alone may set it (default: unchanged)";
    row "governor", None, Kind::Host(&GOVERNOR),
        "CPU frequency governor of the hosts (default: unchanged)";
    row "stress", None, Kind::Host(&STRESS),
        "Load on the hosts' CPUs during the run: threads (1), what they do, share of a CPU (100%), which CPUs (any) (default: none)";
    row "congestion_control", letter("congestion", 'C'),
        form!("NAME", NAME, |c, text| { c.congestion_control = Some(name(text)?); Some(()) }),
        "TCP congestion control of the run's sockets, such as cubic or reno (TCP_CONGESTION; default: the hosts')";
    row "tcp_buffers", flag("tcp-buffers"),
        form!("N bdp|BYTES", tcp_buffers::ALLOWED, |c, text| {
            c.tcp_buffers = Some(TcpBuffers::parse(text)?);
            Some(())
        }),
        "Maximum of TCP buffer auto-tuning on both hosts (net.ipv4.tcp_rmem, tcp_wmem), in bytes or bandwidth-delay products of the lab's path (default: unchanged)";
    row "send_buffer_bytes", flag("send-buffer"),
        Kind::Number(
            &bounds::SEND_BUFFER_BYTES,
            &[("auto", |c| c.send_buffer_bytes = None)],
            |c, n| c.send_buffer_bytes = Some(small(n)),
        ),
        "Socket send buffer, in bytes (SO_SNDBUF); `auto`: the kernel's (default: auto)";
    row "receive_buffer_bytes", flag("receive-buffer"),
        Kind::Number(
            &bounds::RECEIVE_BUFFER_BYTES,
            &[("auto", |c| c.receive_buffer_bytes = None)],
            |c, n| c.receive_buffer_bytes = Some(small(n)),
        ),
        "Socket receive buffer, in bytes (SO_RCVBUF); `auto`: the kernel's (default: auto)";
    row "receive_low_water_bytes", None,
        Kind::Number(&bounds::RECEIVE_LOW_WATER_BYTES, &[], |c, n| c.receive_low_water_bytes = Some(small(n))),
        "Bytes that must have arrived before a TCP receive call returns (SO_RCVLOWAT; default: 1, or with --set receive_size_bytes=auto what arrives in 1 ms)";
    row "notsent_low_water_bytes", None,
        Kind::Number(&bounds::NOTSENT_LOW_WATER_BYTES, &[], |c, n| c.notsent_low_water_bytes = Some(small(n))),
        "Unsent bytes at which a TCP sender's socket accepts no more (TCP_NOTSENT_LOWAT; default: the kernel's)";
    row "nodelay", letter("nodelay", 'N'), Kind::Switch(|c, on| c.nodelay = on),
        "Send small segments at once, without Nagle's algorithm (TCP_NODELAY; default: false)";
    row "cork", None, Kind::Switch(|c, on| c.cork = on),
        "Send only full segments (TCP_CORK; default: false)";
    row "dscp", flag("dscp"), Kind::Number(&bounds::DSCP, &[], |c, n| c.dscp = Some(small(n))),
        "Differentiated services code point of sent packets (RFC 2474; default: 0)";
    row "waiting", None,
        Kind::Word(&[("block", |c| c.waiting = Waiting::Block), ("spin", |c| c.waiting = Waiting::Spin)]),
        "How a receiver waits for data: blocked in the call, or polling it in a loop (default: block)";
    row "busy_poll_us", None,
        Kind::Number(&bounds::BUSY_POLL_US, &[], |c, n| c.busy_poll_us = Some(small(n))),
        "Time for which a receive call polls the device before it blocks; a number alone is in µs (SO_BUSY_POLL; default: the hosts')";
    row "receiver_delay_us", None,
        Kind::Number(&bounds::RECEIVER_DELAY_US, &[], |c, n| c.receiver_delay_us = small(n)),
        "Time for which the receiver sleeps after each receive call; a number alone is in µs (default: 0)";
    row "rate_bps", letter("rate", 'b'),
        Kind::Number(&bounds::RATE_BPS, &[], |c, n| c.rate_bps = Some(n)),
        "Target rate of each flow, such as 100M, 1G or 2.5 Gbit/s; a number alone is in bit/s (default: as fast as possible)";
    row "rate_of", None,
        Kind::Word(&[("user", |c| c.rate_of = RateOf::User), ("wire", |c| c.rate_of = RateOf::Wire)]),
        "Which bytes --rate counts: user data, or also the headers of Ethernet, IP and transport, those of IP fragments included (default: user)";
    row "message_rate", None,
        Kind::Number(&bounds::MESSAGE_RATE, &[], |c, n| c.message_rate = Some(n)),
        "Target rate of each flow, in messages per second (default: as fast as possible)";
    row "burst_messages", flag("burst"),
        Kind::Number(&bounds::BURST_MESSAGES, &[], |c, n| c.burst_messages = Some(small(n))),
        "Messages that a paced sender sends back to back (default: those of 100 µs)";
    row "pacing", flag("pacing"),
        Kind::Word(&[
            ("auto", |c| c.pacing = Pacing::Auto),
            ("kernel", |c| c.pacing = Pacing::Kernel),
            ("sender", |c| c.pacing = Pacing::Sender),
        ]),
        "What paces the traffic: the kernel (SO_MAX_PACING_RATE), or the sender, which sleeps; `auto`: the kernel for UDP over fq, else the sender (default: auto)";
    row "flows", letter("flows", 'P'), Kind::Number(&bounds::FLOWS, &[], |c, n| c.flows = small(n)),
        "Number of parallel flows (default: 1)";
    run_row "stop_bytes", letter("bytes", 'n'),
        Kind::Number(&bounds::STOP_BYTES, &[], |c, n| { (c.stop_bytes, c.warmup_ms) = (Some(n), 0); }),
        "Bytes of user data, over all flows, after which the run ends, without warm-up (default: ends by time)";
    run_row "stop_messages", letter("messages", 'k'),
        Kind::Number(&bounds::STOP_MESSAGES, &[], |c, n| { (c.stop_messages, c.warmup_ms) = (Some(n), 0); }),
        "Messages or transactions, over all flows, after which the run ends, without warm-up (default: ends by time)";
    row "request_size_bytes", flag("request-size"),
        Kind::Number(&bounds::REQUEST_SIZE_BYTES, &[], |c, n| c.request_size_bytes = small(n)),
        "User data of a request, in bytes (default: 1; UDP: at most 65507)";
    row "response_size_bytes", flag("response-size"),
        Kind::Number(&bounds::RESPONSE_SIZE_BYTES, &[], |c, n| c.response_size_bytes = small(n)),
        "User data of a response, in bytes (default: 1; UDP: at most 65507)";
    row "ip_version", None,
        Kind::Word(&[
            ("4", |c| c.places.ip_version = Some(IpVersion::V4)),
            ("6", |c| c.places.ip_version = Some(IpVersion::V6)),
        ]),
        "Version of IP; -4 and -6 are short for it (default: that of the receiver's first address, 4 in the lab)";
    row "sender_address", letter("sender-address", 'B'),
        form!("ADDRESS", ADDRESS, |c, text| { c.places.sender.address = Some(text.parse().ok()?); Some(()) }),
        "Local address to bind the sender's sockets to (default: the kernel's choice)";
    row "receiver_address", flag("receiver-address"),
        form!("ADDRESS", ADDRESS, |c, text| { c.places.receiver.address = Some(text.parse().ok()?); Some(()) }),
        "Local address that the receiver listens on (default: its first address towards the sender)";
    row "sender_device", flag("sender-device"),
        form!("NAME", NAME, |c, text| { c.places.sender.device = Some(name(text)?); Some(()) }),
        "Interface to bind the sender's sockets to (SO_BINDTODEVICE; default: none)";
    row "receiver_device", flag("receiver-device"),
        form!("NAME", NAME, |c, text| { c.places.receiver.device = Some(name(text)?); Some(()) }),
        "Interface to bind the receiver's sockets to (SO_BINDTODEVICE; default: none)";
    row "sender_ports", flag("source-port"),
        form!("PORTS", PORTS, |c, text| { c.places.sender.ports = Some(Ports::parse(text)?); Some(()) }),
        "Local port of the sender, or a range from which each flow takes a free one (default: the kernel's choice)";
    row "receiver_ports", letter("port", 'p'), form!("PORTS", PORTS, set_receiver_ports),
        "Port that the receiver's first flow listens on, the next flow on the next; or a range (default: the kernel's choice)";
    row "sender_cpus", flag("sender-cpus"),
        form!("CPUS", CPUS, |c, text| { c.places.sender.cpus = parse_cpu_list(text)?; Some(()) }),
        "CPUs to pin the sender's traffic threads to, in turn (default: one for each endpoint where there are enough)";
    row "receiver_cpus", flag("receiver-cpus"),
        form!("CPUS", CPUS, |c, text| { c.places.receiver.cpus = parse_cpu_list(text)?; Some(()) }),
        "CPUs to pin the receiver's traffic threads to, in turn (default: one for each endpoint where there are enough)";
    row "idle_baseline_s", None,
        Kind::Number(&bounds::IDLE_BASELINE_S, &[], |c, n| c.idle_baseline_ms = Some(small(n))),
        "Time before each block in which the idle hosts are measured; 0: not measured (default: as long as the window, at most 1 s)";
    row "latency", flag("latency"), Kind::Switch(|c, on| c.latency = on),
        "Record the time of each transaction, or of each send call of a stream (two clock reads per message; default: true for transactions in `test`, else false)";
    row "delay_variation", flag("delay-variation"), Kind::Switch(|c, on| c.delay_variation = on),
        "Record the one-way delay variation of a UDP stream (RFC 3393, RFC 3550; a clock read and a receive timestamp per message; default: false)";
    row "transaction_rate", flag("transaction-rate"),
        Kind::Number(&bounds::TRANSACTION_RATE, &[], |c, n| c.transaction_rate = Some(small(n))),
        "Open loop: transactions that each flow starts per second; latency counts from the scheduled time (default: closed loop)";
    run_row "warmup_s", letter("warmup", 'O'),
        Kind::Number(&bounds::WARMUP_S, &[], |c, n| c.warmup_ms = small(n)),
        "Time before the measured window, not counted; a number alone is in seconds (default: 0.25 s)";
    run_row "duration_s", letter("time", 't'),
        Kind::Number(&bounds::DURATION_S, &[], |c, n| c.duration_ms = small(n)),
        "Length of the measured window; a number alone is in seconds (default: 10 s in `test`, 2 s in studies)";
};
