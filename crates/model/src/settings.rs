//! The settings that a study may vary or fix: one row each, with its name, its values, its effect.
//!
//! The same rows are the options of `bitcost test`: a row with a flag is one of them.

use toml_edit::Value;

use crate::beside;
use crate::conditions::{
    Conditions, Direction, Mss, Offloads, Pacing, RateOf, ReceiveSize, TRANSACTION_MAX, TRANSACTION_RATE_MAX, Waiting,
    Workload,
};
use crate::knobs::{self, Syntax};
use crate::modes::{Mode, RECEIVE_WORDS, SEND_WORDS};
use crate::near::did_you_mean;
use crate::place::{self, IpVersion, Ports, Scheduling};
use crate::probes::Probes;
use crate::record::Role;
use crate::sizes::{self, Sizes};
use crate::tcp_buffers::{self, TcpBuffers};
use crate::topology;
use crate::units;

/// What values a setting takes, and how they are written.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A count of bytes in this range, such as `8192` or `64KiB`, or one of these words.
    Bytes(u64, u64, &'static [&'static str]),
    /// A whole number in this range.
    Whole(u64, u64),
    /// A rate in this range of bit/s, such as `1G`.
    Rate(u64, u64),
    /// A time in this range of milliseconds, written in seconds or with a unit.
    Time(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any name.
    Name,
    /// What the function takes; the word stands for it in the help, the sentence in errors.
    Form(&'static str, &'static str, fn(&str) -> bool),
    /// What is asked of a knob of the hosts.
    Knob(&'static Syntax),
    /// On or off.
    Switch,
    /// Workloads with settings of their own ([`beside`]).
    Parts,
}

/// A value that fits its [`Kind`].
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Bytes, a whole number, or milliseconds; 1 for a switch that is on.
    Number(u64),
    /// A word or a name.
    Word(String),
    /// Workloads with their settings.
    Parts(Vec<Conditions>),
}

impl Input {
    fn number(&self) -> u32 {
        match self {
            Input::Number(number) => u32::try_from(*number).unwrap_or(u32::MAX),
            Input::Word(_) | Input::Parts(_) => 0,
        }
    }

    fn count(&self) -> u64 {
        match self {
            Input::Number(number) => *number,
            Input::Word(_) | Input::Parts(_) => 0,
        }
    }

    fn word(&self) -> &str {
        match self {
            Input::Number(_) | Input::Parts(_) => "",
            Input::Word(word) => word,
        }
    }

    fn parts(&self) -> Vec<Conditions> {
        match self {
            Input::Parts(parts) => parts.clone(),
            Input::Number(_) | Input::Word(_) => Vec::new(),
        }
    }

    fn is_on(&self) -> bool {
        *self == Input::Number(1)
    }
}

/// How a setting is named on the command line.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Without the two dashes.
    pub long: &'static str,
    /// The letter, where it has one.
    pub letter: Option<char>,
}

/// One setting of a run, as a study names it.
pub struct Setting {
    /// Its name in a study; the unit stands last.
    pub name: &'static str,
    /// Its option of `bitcost test`; absent: studies only.
    pub flag: Option<Flag>,
    /// The values it takes.
    pub kind: Kind,
    /// What it is.
    pub about: &'static str,
    set: fn(&mut Conditions, &Input),
}

const fn row(
    name: &'static str,
    flag: Option<Flag>,
    kind: Kind,
    about: &'static str,
    set: fn(&mut Conditions, &Input),
) -> Setting {
    Setting { name, flag, kind, about, set }
}

const fn flag(long: &'static str) -> Option<Flag> {
    Some(Flag { long, letter: None })
}

const fn letter(long: &'static str, letter: char) -> Option<Flag> {
    Some(Flag { long, letter: Some(letter) })
}

/// A network interface's name, of at most 15 bytes (linux/if.h).
const DEVICE: Kind = Kind::Name;

const ADDRESS: Kind = Kind::Form("ADDRESS", "an address such as \"10.0.0.1\" or \"fd00::1\"", |text| {
    text.parse::<std::net::IpAddr>().is_ok()
});

const PORTS: Kind = Kind::Form("PORTS", "a port from 1 to 65535, or a range such as \"40000-40100\"", |text| {
    Ports::parse(text).is_some()
});

const CPUS: Kind = Kind::Form("CPUS", "CPU numbers, each once, such as \"0\", \"1,2\" or \"0-3\"", |text| {
    place::parse_cpus(text).is_some()
});

const QUEUE_LIMIT: Kind = Kind::Form(
    "LIMIT",
    "\"1000 packets\" (a super-packet counts once), \"5000 segments\", or bytes such as \"2500000 B\"",
    |text| topology::parse_limit(&Value::from(text)).is_ok(),
);
const SIZES: Kind = Kind::Form("SIZES", sizes::ALLOWED, |text| Sizes::parse(text).is_ok());

const WORKLOADS: &[&str] = &["tcp_stream", "udp_stream", "tcp_rr", "udp_rr", "tcp_crr", "tcp_connect"];
const MESSAGE_MAX: u64 = 1 << 24;
const RATE_MAX: u64 = 10_000_000_000_000;
const COUNT_MAX: u64 = 1 << 50;
const BUFFER_MAX: u64 = 0x3fff_ffff;
const HOUR_MS: u64 = 3_600_000;

/// Every setting. A new one is a row here and a field of [`Conditions`].
pub const SETTINGS: &[Setting] = &[
    row("workload", None, Kind::Word(WORKLOADS), "how traffic is made", |c, v| {
        c.workload = Workload::NAMES.iter().find(|(n, _)| *n == v.word()).map_or(c.workload, |(_, w)| *w);
    }),
    row(
        "direction",
        flag("direction"),
        Kind::Word(&["forward", "reverse", "both"]),
        "which way: from the host called sender, towards it, or both at once",
        |c, v| {
            c.direction = match v.word() {
                "reverse" => Direction::Reverse,
                "both" => Direction::Both,
                _ => Direction::Forward,
            };
        },
    ),
    row(
        "beside",
        flag("beside"),
        Kind::Parts,
        "what else goes on at the same time: a workload with options of its own, such as \"rr direction=reverse\"; may be given again",
        |c, v| c.beside = v.parts(),
    ),
    row(
        "program",
        None,
        Kind::Form("PATH", "the path of another bitcost", |text| !text.is_empty()),
        "which bitcost plays both ends (default: the one that runs the study)",
        |c, v| c.program = Some(v.word().to_owned()),
    ),
    row(
        "send_mode",
        flag("send-mode"),
        Kind::Word(&SEND_WORDS),
        "how the sender hands over messages: one call each, or a fast path of the kernel",
        |c, v| c.send_mode = Mode::named(Role::Sender, v.word()).unwrap_or_default(),
    ),
    row(
        "receive_mode",
        flag("receive-mode"),
        Kind::Word(&RECEIVE_WORDS),
        "how the receiver takes messages: by plain calls, or by a fast path of the kernel",
        |c, v| c.receive_mode = Mode::named(Role::Receiver, v.word()).unwrap_or_default(),
    ),
    row(
        "message_size_bytes",
        letter("message-size", 'l'),
        Kind::Bytes(1, MESSAGE_MAX, &[]),
        "bytes that one send call hands over (UDP: at most 65507)",
        |c, v| c.message_size_bytes = v.number(),
    ),
    row(
        "message_size_distribution",
        flag("message-size-distribution"),
        SIZES,
        "sizes of messages that differ: in turn, by weight, uniform or bimodal",
        |c, v| {
            c.message_sizes = Sizes::parse(v.word()).ok();
            c.message_size_bytes = c.message_sizes.as_ref().map_or(c.message_size_bytes, Sizes::largest);
        },
    ),
    row(
        "buffer_alignment_bytes",
        flag("buffer-alignment"),
        Kind::Bytes(1, 1 << 24, &[]),
        "the program's buffers begin at a multiple of this power of two",
        |c, v| c.buffers.alignment_bytes = Some(v.number()),
    ),
    row(
        "buffer_offset_bytes",
        flag("buffer-offset"),
        Kind::Bytes(0, 1 << 24, &[]),
        "and so many bytes behind it",
        |c, v| c.buffers.offset_bytes = v.number(),
    ),
    row(
        "ring_buffers",
        flag("ring"),
        Kind::Whole(1, 4096),
        "buffers that each end uses one after the other",
        |c, v| c.buffers.ring = v.number(),
    ),
    row(
        "payload",
        flag("payload"),
        Kind::Word(&["clean", "dirty"]),
        "whether the sender writes every byte of a message before it sends it",
        |c, v| c.buffers.dirty = v.word() == "dirty",
    ),
    row(
        "receive_size_bytes",
        flag("receive-size"),
        Kind::Bytes(1, MESSAGE_MAX, &["auto", "message"]),
        "bytes that one receive call has room for; `message`: one message; `auto`: with TCP at least 256 KiB",
        |c, v| {
            c.receive_size_bytes = match v.word() {
                "" => ReceiveSize::Bytes(v.number()),
                "message" => ReceiveSize::Message,
                _ => ReceiveSize::Auto,
            };
        },
    ),
    row(
        "mss",
        letter("mss", 'M'),
        Kind::Bytes(88, 32_767, &["message"]),
        "user data per TCP segment; `message`: a segment carries one message",
        |c, v| c.mss = Some(if v.word() == "message" { Mss::Message } else { Mss::Bytes(v.number()) }),
    ),
    row(
        "offloads",
        flag("offloads"),
        Kind::Knob(&knobs::OFFLOADS),
        "offloads of the interface: a set of tso gso gro (and lro where offered), or features by name",
        |c, v| {
            (c.offloads, c.knobs) = match v.word() {
                "on" => (Offloads::On, without(c, "offloads")),
                "off" => (Offloads::Off, without(c, "offloads")),
                _ => (Offloads::AsFound, without(c, "offloads")),
            };
            if c.offloads == Offloads::AsFound {
                c.ask(&knobs::OFFLOADS, v.word());
            }
        },
    ),
    row(
        "emulator_queue_limit",
        flag("emulator-queue-limit"),
        QUEUE_LIMIT,
        "what may wait in each queue of the lab that delays, instead of what the lab says",
        |c, v| c.emulator_queue_limit = topology::parse_limit(&Value::from(v.word())).ok(),
    ),
    row("mtu_bytes", flag("device-mtu"), Kind::Knob(&knobs::MTU), "MTU of the interface", |c, v| {
        c.ask(&knobs::MTU, v.word());
    }),
    row("qdisc", flag("qdisc"), Kind::Knob(&knobs::QDISC), "queueing discipline at the interface's root", |c, v| {
        c.ask(&knobs::QDISC, v.word());
    }),
    row("sysctl", flag("sysctl"), Kind::Knob(&knobs::SYSCTL), "kernel parameters under net.", |c, v| {
        c.ask(&knobs::SYSCTL, v.word());
    }),
    row(
        "default_congestion_control",
        flag("default-congestion"),
        Kind::Knob(&knobs::CONGESTION),
        "congestion control of the host's sockets that choose none (net.ipv4.tcp_congestion_control)",
        |c, v| c.ask(&knobs::CONGESTION, v.word()),
    ),
    row("channels", flag("channels"), Kind::Knob(&knobs::CHANNELS), "queues of the interface", |c, v| {
        c.ask(&knobs::CHANNELS, v.word());
    }),
    row(
        "coalesce",
        flag("coalesce"),
        Kind::Knob(&knobs::COALESCE),
        "when the interface interrupts (interrupt coalescing)",
        |c, v| c.ask(&knobs::COALESCE, v.word()),
    ),
    row(
        "governor",
        flag("governor"),
        Kind::Knob(&knobs::GOVERNOR),
        "how each CPU of the host chooses its frequency",
        |c, v| c.ask(&knobs::GOVERNOR, v.word()),
    ),
    row(
        "stress",
        flag("stress"),
        Kind::Knob(&knobs::STRESS),
        "threads that keep CPUs busy beside the traffic, while the run goes on",
        |c, v| c.ask(&knobs::STRESS, v.word()),
    ),
    row(
        "congestion_control",
        letter("congestion", 'C'),
        Kind::Name,
        "TCP congestion control, such as cubic or reno, set per socket",
        |c, v| c.congestion_control = Some(v.word().to_owned()),
    ),
    row(
        "buffers",
        flag("buffers"),
        Kind::Form("N bdp|BYTES", tcp_buffers::ALLOWED, |text| TcpBuffers::parse(text).is_some()),
        "most room that the kernel gives TCP by itself at both ends (net.ipv4.tcp_rmem, tcp_wmem); `8 bdp`: 8 times what the lab's path holds",
        |c, v| c.tcp_buffers = TcpBuffers::parse(v.word()),
    ),
    row("send_buffer_bytes", flag("send-buffer"), Kind::Bytes(1, BUFFER_MAX, &[]), "SO_SNDBUF to ask for", |c, v| {
        c.send_buffer_bytes = Some(v.number())
    }),
    row(
        "receive_buffer_bytes",
        flag("receive-buffer"),
        Kind::Bytes(1, BUFFER_MAX, &[]),
        "SO_RCVBUF to ask for",
        |c, v| c.receive_buffer_bytes = Some(v.number()),
    ),
    row(
        "receive_low_water_bytes",
        flag("low-water"),
        Kind::Bytes(1, BUFFER_MAX, &[]),
        "SO_RCVLOWAT: a TCP receiver sleeps until this much is there (default: what comes in 1 ms, at most 256 KiB)",
        |c, v| c.receive_low_water_bytes = Some(v.number()),
    ),
    row(
        "nodelay",
        letter("nodelay", 'N'),
        Kind::Switch,
        "TCP_NODELAY: send small segments at once (no Nagle algorithm)",
        |c, v| c.nodelay = v.is_on(),
    ),
    row("cork", flag("cork"), Kind::Switch, "TCP_CORK: send full segments only", |c, v| c.cork = v.is_on()),
    row("dscp", flag("dscp"), Kind::Whole(0, 63), "differentiated services code point (RFC 2474)", |c, v| {
        c.dscp = Some(v.number());
    }),
    row("priority", flag("priority"), Kind::Whole(0, 6), "SO_PRIORITY, which queueing disciplines look at", |c, v| {
        c.priority = Some(v.number());
    }),
    row(
        "waiting",
        flag("waiting"),
        Kind::Word(&["block", "spin"]),
        "how a receiver waits: asleep in the call, or calling again and again",
        |c, v| c.waiting = if v.word() == "spin" { Waiting::Spin } else { Waiting::Block },
    ),
    row(
        "busy_poll_us",
        flag("busy-poll"),
        Kind::Whole(0, 1_000_000),
        "SO_BUSY_POLL: microseconds that a receive call polls the device before it sleeps",
        |c, v| c.busy_poll_us = Some(v.number()),
    ),
    row(
        "receiver_delay_us",
        None,
        Kind::Whole(0, 1_000_000),
        "time that the receiver sleeps after each call",
        |c, v| {
            c.receiver_delay_us = v.number();
        },
    ),
    row("rate_bps", letter("rate", 'b'), Kind::Rate(1, RATE_MAX), "rate of each flow, in bit/s", |c, v| {
        c.rate_bps = Some(v.count());
    }),
    row(
        "rate_of",
        flag("rate-of"),
        Kind::Word(&["user", "wire"]),
        "which bytes the rate counts: user data, or with the headers of Ethernet, IP and transport",
        |c, v| c.rate_of = if v.word() == "wire" { RateOf::Wire } else { RateOf::User },
    ),
    row(
        "message_rate",
        flag("message-rate"),
        Kind::Whole(1, 1_000_000_000),
        "rate of each flow, in messages per second",
        |c, v| c.message_rate = Some(v.count()),
    ),
    row(
        "burst_messages",
        flag("burst"),
        Kind::Whole(1, 1_000_000),
        "messages that a paced sender sends together (default: those of 100 µs)",
        |c, v| c.burst_messages = Some(v.number()),
    ),
    row(
        "pacing",
        flag("pacing"),
        Kind::Word(&["auto", "kernel", "sender"]),
        "who keeps the rate: the kernel (SO_MAX_PACING_RATE), or the sender by sleeping",
        |c, v| {
            c.pacing = match v.word() {
                "kernel" => Pacing::Kernel,
                "sender" => Pacing::Sender,
                _ => Pacing::Auto,
            };
        },
    ),
    row("flows", letter("flows", 'P'), Kind::Whole(1, 1000), "flows at the same time", |c, v| c.flows = v.number()),
    row(
        "threads",
        flag("threads"),
        Kind::Whole(1, 1000),
        "threads at each end that share the flows among them by readiness (default: a thread for each flow)",
        |c, v| c.threads = Some(v.number()),
    ),
    row(
        "stop_bytes",
        letter("bytes", 'n'),
        Kind::Bytes(1, COUNT_MAX, &[]),
        "end after this much user data, over all flows, instead of after a time (no warm-up)",
        |c, v| (c.stop_bytes, c.warmup_ms) = (Some(v.count()), 0),
    ),
    row(
        "stop_messages",
        letter("messages", 'k'),
        Kind::Whole(1, COUNT_MAX),
        "end after this many messages, over all flows, instead of after a time (no warm-up)",
        |c, v| (c.stop_messages, c.warmup_ms) = (Some(v.count()), 0),
    ),
    row(
        "stop_transactions",
        flag("transactions"),
        Kind::Whole(1, COUNT_MAX),
        "end after this many transactions, over all flows, instead of after a time (no warm-up)",
        |c, v| (c.stop_transactions, c.warmup_ms) = (Some(v.count()), 0),
    ),
    row(
        "request_size_bytes",
        flag("request-size"),
        Kind::Bytes(1, TRANSACTION_MAX as u64, &[]),
        "user data of a request (UDP: at most 65507)",
        |c, v| c.request_size_bytes = v.number(),
    ),
    row(
        "response_size_bytes",
        flag("response-size"),
        Kind::Bytes(1, TRANSACTION_MAX as u64, &[]),
        "user data of a response (UDP: at most 65507)",
        |c, v| c.response_size_bytes = v.number(),
    ),
    row(
        "ip_version",
        flag("ip-version"),
        Kind::Word(&["4", "6"]),
        "version of IP; also `-4` and `-6` (default: that of the receiver's first address, 4 in the lab)",
        |c, v| c.places.ip_version = Some(if v.word() == "6" { IpVersion::V6 } else { IpVersion::V4 }),
    ),
    row(
        "flow_label",
        flag("flow-label"),
        Kind::Whole(1, 0xf_ffff),
        "flow label of what the sender sends (RFC 6437); IPv6 only",
        |c, v| c.places.flow_label = Some(v.number()),
    ),
    row("sender_address", letter("sender-address", 'B'), ADDRESS, "the sender's own address", |c, v| {
        c.places.sender.address = v.word().parse().ok();
    }),
    row("receiver_address", flag("receiver-address"), ADDRESS, "the address that the receiver listens on", |c, v| {
        c.places.receiver.address = v.word().parse().ok();
    }),
    row("sender_device", flag("sender-device"), DEVICE, "interface that the sender's sockets are bound to", |c, v| {
        c.places.sender.device = Some(v.word().to_owned());
    }),
    row("receiver_device", flag("receiver-device"), DEVICE, "the same, of the receiver", |c, v| {
        c.places.receiver.device = Some(v.word().to_owned());
    }),
    row(
        "sender_ports",
        flag("source-port"),
        PORTS,
        "the sender's own ports: each flow takes one that is free",
        |c, v| c.places.sender.ports = Ports::parse(v.word()),
    ),
    row(
        "receiver_ports",
        letter("port", 'p'),
        PORTS,
        "the receiver's ports: its first flow listens on the first one, the next on the next",
        |c, v| c.places.receiver.ports = receiver_ports(v.word()),
    ),
    row("sender_cpus", flag("sender-cpus"), CPUS, "CPUs of the sender's traffic threads, one each in turn", |c, v| {
        c.places.sender.cpus = place::parse_cpus(v.word()).unwrap_or_default();
    }),
    row("receiver_cpus", flag("receiver-cpus"), CPUS, "the same, of the receiver", |c, v| {
        c.places.receiver.cpus = place::parse_cpus(v.word()).unwrap_or_default();
    }),
    row(
        "scheduling",
        flag("scheduling"),
        Kind::Word(&["other", "batch"]),
        "scheduling class of the traffic threads (SCHED_OTHER, SCHED_BATCH)",
        |c, v| c.places.scheduling = Some(if v.word() == "batch" { Scheduling::Batch } else { Scheduling::Other }),
    ),
    row(
        "probes",
        flag("probes"),
        Kind::Word(&Probes::WORDS),
        "when the counters of the hosts are read: every 100 ms, or at the edges of the window alone",
        |c, v| c.probes = Probes::named(v.word()).unwrap_or_default(),
    ),
    row(
        "idle_baseline_s",
        flag("idle-baseline"),
        Kind::Time(0, HOUR_MS),
        "time before each block in which the idle hosts are measured (as long as the window, at most 1 s; 0: not at all)",
        |c, v| c.idle_baseline_ms = Some(v.number()),
    ),
    row(
        "latency",
        flag("latency"),
        Kind::Switch,
        "record the time of each transaction (on in `test`, off in studies, unless said otherwise), or of each send call of a stream (off; costs two clock reads a message)",
        |c, v| c.latency = v.is_on(),
    ),
    row(
        "delay_variation",
        flag("delay-variation"),
        Kind::Switch,
        "record how the one-way delay of a UDP stream varies (RFC 3393, RFC 3550; costs a clock read at the sender and a receive timestamp a message)",
        |c, v| c.delay_variation = v.is_on(),
    ),
    row(
        "transaction_rate",
        flag("transaction-rate"),
        Kind::Whole(1, TRANSACTION_RATE_MAX as u64),
        "open loop: transactions that each flow begins per second; latency counts from the intended time",
        |c, v| c.transaction_rate = Some(v.number()),
    ),
    row(
        "request_timeout_ms",
        flag("request-timeout"),
        Kind::Whole(1, 60_000),
        "milliseconds after which an unanswered UDP request is counted as lost",
        |c, v| c.request_timeout_ms = v.number(),
    ),
    row(
        "warmup_s",
        letter("warmup", 'O'),
        Kind::Time(0, HOUR_MS),
        "time before the measured window, not counted",
        |c, v| {
            c.warmup_ms = v.number();
        },
    ),
    row("duration_s", letter("time", 't'), Kind::Time(100, HOUR_MS), "the measured window", |c, v| {
        c.duration_ms = v.number();
    }),
];

/// One port is the first of as many as there are flows.
fn receiver_ports(text: &str) -> Option<Ports> {
    let ports = Ports::parse(text)?;
    Some(if text.contains('-') { ports } else { Ports { last: u16::MAX, ..ports } })
}

/// The knobs without one of them.
fn without(conditions: &Conditions, knob: &str) -> Vec<knobs::KnobWish> {
    conditions.knobs.iter().filter(|wish| wish.knob != knob).cloned().collect()
}

/// A value as the study's author wrote it, without the comments and spaces around it.
pub fn shown(value: &Value) -> String {
    value.clone().decorated("", "").to_string()
}

/// The milliseconds that a value of a study file says, where they are in the range of a [`Kind::Time`].
pub fn milliseconds(kind: Kind, value: &Value) -> Option<u32> {
    kind.read_toml(value).map(|input| input.number())
}

/// The names of all settings.
pub fn names() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().map(|setting| setting.name)
}

/// Sets one setting by name to a value of a study file.
///
/// # Errors
/// A sentence that says what was found and what is allowed, with near matches.
pub fn set(conditions: &mut Conditions, name: &str, value: &Value) -> Result<(), String> {
    let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) else {
        let all: Vec<&str> = names().collect();
        return Err(format!("unknown setting `{name}`{}; allowed: {}", did_you_mean(name, names()), all.join(", ")));
    };
    let input = match setting.kind {
        Kind::Parts => beside::of_toml(value).map(Input::Parts).map_err(|reason| format!("`{name}`: {reason}"))?,
        kind => kind.read_toml(value).ok_or_else(|| {
            if let Some(why) = value.as_str().and_then(|text| kind.why_not(text)) {
                return format!("`{name}` is {}: {why}", shown(value));
            }
            let hint = did_you_mean(value.as_str().unwrap_or(""), kind.words().iter().copied());
            format!("`{name}` is {}; allowed: {}{hint}", shown(value), kind.allowed())
        })?,
    };
    (setting.set)(conditions, &input);
    Ok(())
}

impl Setting {
    /// Sets this setting to what was typed on the command line; each further part is put beside those before.
    ///
    /// # Errors
    /// A sentence that says what was found and what is allowed, with near matches.
    pub fn set_text(&self, conditions: &mut Conditions, text: &str) -> Result<(), String> {
        let input = match self.kind {
            Kind::Parts => {
                let mut parts = conditions.beside.clone();
                parts.push(beside::of_text(text)?);
                Input::Parts(parts)
            }
            kind => kind.read_text(text).ok_or_else(|| {
                if let Some(why) = kind.why_not(text) {
                    return why;
                }
                let hint = did_you_mean(text, kind.words().iter().copied());
                format!("`{text}` is not possible here; allowed: {}{hint}", kind.allowed())
            })?,
        };
        (self.set)(conditions, &input);
        Ok(())
    }
}

impl Kind {
    /// The values that are allowed, in words.
    pub fn allowed(&self) -> String {
        let quoted = |words: &[&str]| words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" or ");
        match self {
            Kind::Bytes(low, high, []) => format!("bytes from {low} to {high}, such as 8192 or \"64KiB\""),
            Kind::Bytes(low, high, words) => {
                format!("bytes from {low} to {high}, such as 8192 or \"64KiB\", or {}", quoted(words))
            }
            Kind::Rate(low, high) => format!("bit/s from {low} to {high}, such as \"1G\""),
            Kind::Whole(low, high) => format!("a whole number from {low} to {high}"),
            Kind::Time(low, high) => {
                format!("seconds from {} to {}, or a time such as \"250ms\"", *low as f64 / 1000.0, high / 1000)
            }
            Kind::Word(words) => quoted(words),
            Kind::Name => "a name of 1 to 15 letters".to_owned(),
            Kind::Form(_, allowed, _) => (*allowed).to_owned(),
            Kind::Knob(syntax) => syntax.allowed.to_owned(),
            Kind::Switch => "true or false".to_owned(),
            Kind::Parts => beside::IN_STUDIES.to_owned(),
        }
    }

    /// The numbers that are allowed, in the units of the conditions; all where the values are no numbers.
    pub(crate) fn range(&self) -> std::ops::RangeInclusive<u64> {
        match self {
            Kind::Bytes(low, high, _) | Kind::Whole(low, high) | Kind::Rate(low, high) | Kind::Time(low, high) => {
                *low..=*high
            }
            _ => 0..=u64::MAX,
        }
    }

    /// Why a text is not possible, where there is more to say than what is allowed.
    fn why_not(&self, text: &str) -> Option<String> {
        match self {
            Kind::Knob(syntax) => syntax.read(text).err(),
            _ => None,
        }
    }

    /// The words that are allowed.
    pub fn words(&self) -> &'static [&'static str] {
        match self {
            Kind::Bytes(_, _, words) | Kind::Word(words) => words,
            Kind::Whole(..)
            | Kind::Rate(..)
            | Kind::Time(..)
            | Kind::Name
            | Kind::Form(..)
            | Kind::Knob(_)
            | Kind::Switch
            | Kind::Parts => &[],
        }
    }

    fn read_toml(self, value: &Value) -> Option<Input> {
        match (self, value) {
            (Kind::Switch, Value::Boolean(on)) => Some(Input::Number(u64::from(*on.value()))),
            (Kind::Switch, _) => None,
            (Kind::Knob(_), Value::Integer(number)) => self.read_text(&number.value().to_string()),
            (Kind::Time(..), Value::Integer(seconds)) => self.within(*seconds.value() as f64 * 1000.0),
            (Kind::Time(..), Value::Float(seconds)) => self.within(*seconds.value() * 1000.0),
            (Kind::Word(_) | Kind::Form(..), Value::Integer(number)) => self.read_text(&number.value().to_string()),
            (_, Value::Integer(number)) => self.within(*number.value() as f64),
            (_, Value::String(text)) => self.read_text(text.value()),
            _ => None,
        }
    }

    fn read_text(self, text: &str) -> Option<Input> {
        if self.words().contains(&text) {
            return Some(Input::Word(text.to_owned()));
        }
        match self {
            Kind::Bytes(..) => self.within(units::parse_bytes(text).ok()? as f64),
            Kind::Rate(..) => self.within(units::parse_rate(text).ok()? as f64),
            Kind::Whole(..) => self.within(text.parse::<u64>().ok()? as f64),
            Kind::Time(0, _) if matches!(text, "0" | "0s") => Some(Input::Number(0)),
            Kind::Time(..) => self.within(units::parse_duration(text).ok()?.as_secs_f64() * 1000.0),
            Kind::Name => (1..16).contains(&text.len()).then(|| Input::Word(text.to_owned())),
            Kind::Form(_, _, takes) => takes(text).then(|| Input::Word(text.to_owned())),
            Kind::Knob(syntax) => syntax.read(text).is_ok().then(|| Input::Word(text.trim().to_owned())),
            Kind::Switch => text.parse::<bool>().ok().map(|on| Input::Number(u64::from(on))),
            Kind::Word(_) | Kind::Parts => None,
        }
    }

    /// A number that is in the range.
    fn within(self, number: f64) -> Option<Input> {
        let (Kind::Bytes(low, high, _) | Kind::Whole(low, high) | Kind::Rate(low, high) | Kind::Time(low, high)) = self
        else {
            return None;
        };
        let number = number.round();
        (number >= low as f64 && number <= high as f64).then_some(Input::Number(number as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_letters_are_there_once() {
        let mut seen: Vec<String> = names().map(str::to_owned).collect();
        for flag in SETTINGS.iter().filter_map(|setting| setting.flag) {
            seen.push(format!("--{}", flag.long));
            seen.extend(flag.letter.map(|letter| format!("-{letter}")));
        }
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), count);
    }

    #[test]
    fn what_is_typed_is_read_with_its_unit_and_range() {
        let typed = |name: &str, text: &str| {
            let mut conditions = Conditions::default();
            let setting = SETTINGS.iter().find(|setting| setting.name == name).expect("there");
            setting.set_text(&mut conditions, text).map(|()| conditions)
        };
        assert_eq!(typed("message_size_bytes", "64KiB").map(|c| c.message_size_bytes), Ok(65_536));
        assert_eq!(typed("duration_s", "250ms").map(|c| c.duration_ms), Ok(250));
        assert_eq!(typed("warmup_s", "0").map(|c| c.warmup_ms), Ok(0));
        assert_eq!(typed("mss", "message").map(|c| c.mss), Ok(Some(Mss::Message)));
        for (name, text) in [
            ("message_size_bytes", "0"),
            ("message_size_bytes", "-1"),
            ("dscp", "64"),
            ("duration_s", "0"),
            ("offloads", "onn"),
        ] {
            assert!(typed(name, text).is_err(), "{name} {text}");
        }
    }
}
