//! The scenarios: what is set, and what then limits the flow by construction.

use model::record::Role;

/// Sizes of the sweeps that give a cost model, in bytes.
pub const SIZES: [u32; 3] = [64, 1024, 8192];

/// What lies between the two hosts.
#[derive(Clone, Copy, Debug)]
pub enum Between {
    /// The wire that plays the network cards.
    Wire,
    /// The same with this queueing discipline at its port towards the receiver.
    Queue(&'static str),
    /// A delay line.
    Line(Line),
}

/// What a delay line does on the way to the receiver; the way back has half of the delay, too.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    /// Round-trip time, in ms.
    pub rtt_ms: u64,
    /// Packets lost, in per cent.
    pub loss_pct: f64,
    /// Rate, in bit/s.
    pub rate_bps: Option<u64>,
    /// Packets that it holds.
    pub limit_packets: Option<u64>,
}

/// A run whose limiter is known.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name; it begins with the limiter's.
    pub name: &'static str,
    /// Limiters that are right, by their names in JSON. Where there are two, both must be named if `is_divided`.
    pub right: &'static [&'static str],
    /// True where both limit, each for a part of the time.
    pub is_divided: bool,
    /// True where no bound was set by it.
    pub is_variant: bool,
    /// `tcp` or `udp`.
    pub test: &'static str,
    /// Settings by the names that studies use.
    pub settings: &'static [(&'static str, &'static str)],
    /// The path.
    pub between: Between,
    /// MTU of the links, in bytes.
    pub mtu_bytes: u32,
    /// An end whose CPU time has a quota, in per cent of a CPU.
    pub quota: Option<(Role, u32)>,
    /// Whether its verdict needs a cost model, which a sweep over sizes gives.
    pub has_sweep: bool,
}

const BASE: Scenario = Scenario {
    name: "",
    right: &[],
    is_divided: false,
    is_variant: false,
    test: "tcp",
    settings: &[],
    between: Between::Wire,
    mtu_bytes: 1500,
    quota: None,
    has_sweep: false,
};

const fn of(
    name: &'static str,
    right: &'static [&'static str],
    settings: &'static [(&'static str, &'static str)],
) -> Scenario {
    Scenario { name, right, settings, ..BASE }
}

const fn variant(
    name: &'static str,
    right: &'static [&'static str],
    settings: &'static [(&'static str, &'static str)],
) -> Scenario {
    Scenario { is_variant: true, ..of(name, right, settings) }
}

const fn line(rtt_ms: u64) -> Line {
    Line { rtt_ms, loss_pct: 0.0, rate_bps: None, limit_packets: None }
}

const CUBIC: (&str, &str) = ("congestion_control", "cubic");
const BBR: (&str, &str) = ("congestion_control", "bbr");
const RENO: (&str, &str) = ("congestion_control", "reno");

/// Every scenario.
pub const SCENARIOS: &[Scenario] = &[
    // The rate of a shaper at the sender, and of one on the way.
    of("rate: tbf 1G at the sender, cubic", &["rate"], &[CUBIC, ("qdisc", "sender: tbf rate 1G")]),
    of("rate: tbf 1G at the sender, bbr", &["rate"], &[BBR, ("qdisc", "sender: tbf rate 1G")]),
    Scenario { between: Between::Queue("tbf rate 1G"), ..of("rate: tbf 1G on the way, cubic", &["rate"], &[CUBIC]) },
    variant("rate: tbf 300M at the sender, reno", &["rate"], &[RENO, ("qdisc", "sender: tbf rate 300M")]),
    variant(
        "rate: tbf 3G at the sender, bbr, 8 KiB",
        &["rate"],
        &[BBR, ("message_size_bytes", "8192"), ("qdisc", "sender: tbf rate 3G")],
    ),
    Scenario {
        between: Between::Queue("tbf rate 500M"),
        ..variant("rate: tbf 500M on the way, bbr", &["rate"], &[BBR])
    },
    Scenario {
        test: "udp",
        ..variant("rate: tbf 500M at the sender, UDP", &["rate"], &[("qdisc", "sender: tbf rate 500M")])
    },
    Scenario {
        between: Between::Line(Line { rate_bps: Some(500_000_000), ..line(10) }),
        ..of("rate: 500M path of 10 ms, cubic", &["rate"], &[CUBIC])
    },
    Scenario {
        between: Between::Line(Line { rate_bps: Some(200_000_000), ..line(20) }),
        ..variant("rate: 200M path of 20 ms, bbr", &["rate"], &[BBR])
    },
    // Packets per second.
    Scenario {
        test: "udp",
        mtu_bytes: 8896,
        has_sweep: true,
        ..of(
            "packets_per_second: UDP of 64 B",
            &["packets_per_second"],
            &[("message_size_bytes", "64"), ("receive_mode", "recvmmsg"), ("receive_buffer_bytes", "4194304")],
        )
    },
    Scenario {
        test: "udp",
        mtu_bytes: 8896,
        has_sweep: true,
        ..variant(
            "packets_per_second: UDP of 200 B",
            &["packets_per_second"],
            &[("message_size_bytes", "200"), ("receive_mode", "recvmmsg"), ("receive_buffer_bytes", "4194304")],
        )
    },
    // The sender's CPU.
    of("sender_cpu: messages of 64 B", &["sender_cpu"], &[("message_size_bytes", "64")]),
    of("sender_cpu: contended", &["sender_cpu"], &[("message_size_bytes", "256"), ("stress", "sender: 2 cpu on 0")]),
    variant("sender_cpu: messages of 128 B, cubic", &["sender_cpu"], &[CUBIC, ("message_size_bytes", "128")]),
    variant("sender_cpu: messages of 32 B, bbr", &["sender_cpu"], &[BBR, ("message_size_bytes", "32")]),
    variant(
        "sender_cpu: contended by one",
        &["sender_cpu"],
        &[("message_size_bytes", "64"), ("stress", "sender: 1 cpu on 0")],
    ),
    // The receiver's CPU.
    of("receiver_cpu: calls of 64 B", &["receiver_cpu"], &[("receive_size_bytes", "64")]),
    of(
        "receiver_cpu: contended",
        &["receiver_cpu"],
        &[("receive_size_bytes", "256"), ("stress", "receiver: 2 cpu on 1")],
    ),
    variant("receiver_cpu: calls of 128 B, cubic", &["receiver_cpu"], &[CUBIC, ("receive_size_bytes", "128")]),
    variant("receiver_cpu: calls of 32 B, bbr", &["receiver_cpu"], &[BBR, ("receive_size_bytes", "32")]),
    Scenario {
        test: "udp",
        ..of(
            "receiver_cpu: UDP, contended",
            &["receiver_cpu"],
            &[("message_size_bytes", "1400"), ("stress", "receiver: 2 cpu on 1")],
        )
    },
    // A quota.
    Scenario { quota: Some((Role::Sender, 30)), ..of("cpu_quota: sender 30 %", &["cpu_quota"], &[]) },
    Scenario { quota: Some((Role::Receiver, 30)), ..of("cpu_quota: receiver 30 %", &["cpu_quota"], &[]) },
    Scenario {
        quota: Some((Role::Sender, 50)),
        ..variant("cpu_quota: sender 50 %, 256 B", &["cpu_quota"], &[("message_size_bytes", "256")])
    },
    Scenario {
        quota: Some((Role::Receiver, 20)),
        ..variant("cpu_quota: receiver 20 %, cubic", &["cpu_quota"], &[CUBIC])
    },
    // Buffers on a path with a delay.
    Scenario {
        between: Between::Line(line(10)),
        ..of("send_buffer: 64 KiB on 10 ms", &["send_buffer"], &[CUBIC, ("send_buffer_bytes", "65536")])
    },
    Scenario {
        between: Between::Line(line(20)),
        ..variant(
            "send_buffer: 128 KiB on 20 ms, bbr",
            &["send_buffer"],
            &[BBR, ("send_buffer_bytes", "131072"), ("message_size_bytes", "8192")],
        )
    },
    Scenario {
        between: Between::Line(line(10)),
        ..of("receive_buffer: 64 KiB on 10 ms", &["receive_buffer"], &[CUBIC, ("receive_buffer_bytes", "65536")])
    },
    Scenario {
        between: Between::Line(line(20)),
        ..variant(
            "receive_buffer: 32 KiB on 20 ms, bbr",
            &["receive_buffer"],
            &[BBR, ("receive_buffer_bytes", "32768")],
        )
    },
    // A reader that sleeps.
    of(
        "slow_reader: 1 ms after 64 KiB",
        &["slow_reader"],
        &[("receiver_delay_us", "1000"), ("receive_size_bytes", "65536")],
    ),
    variant(
        "slow_reader: 300 us after 16 KiB, cubic",
        &["slow_reader"],
        &[CUBIC, ("receiver_delay_us", "300"), ("receive_size_bytes", "16384")],
    ),
    Scenario {
        test: "udp",
        ..variant("slow_reader: UDP, 100 us after each", &["slow_reader"], &[("receiver_delay_us", "100")])
    },
    // Loss.
    Scenario {
        between: Between::Line(Line { loss_pct: 1.0, ..line(4) }),
        ..of("congestion_window_loss: 1 % on 4 ms, cubic", &["congestion_window_loss"], &[CUBIC])
    },
    Scenario {
        between: Between::Line(Line { loss_pct: 0.5, ..line(10) }),
        ..variant("congestion_window_loss: 0.5 % on 10 ms, reno", &["congestion_window_loss"], &[RENO])
    },
    Scenario {
        between: Between::Line(Line { loss_pct: 5.0, ..line(2) }),
        test: "udp",
        ..of("path_loss: UDP, 5 %", &["path_loss"], &[("rate_bps", "200M")])
    },
    Scenario {
        between: Between::Line(Line { loss_pct: 10.0, ..line(2) }),
        test: "udp",
        ..variant("path_loss: UDP, 10 %, 64 B", &["path_loss"], &[("message_size_bytes", "64"), ("rate_bps", "10M")])
    },
    Scenario {
        between: Between::Line(line(100)),
        ..of("slow_start: 100 ms, cubic", &["congestion_window_slow_start"], &[CUBIC, ("warmup_s", "0.1")])
    },
    Scenario {
        between: Between::Line(line(150)),
        ..variant("slow_start: 150 ms, reno", &["congestion_window_slow_start"], &[RENO, ("warmup_s", "0.1")])
    },
    // Queues that overflow.
    Scenario {
        test: "udp",
        between: Between::Queue("tbf rate 500M"),
        ..of(
            "queue_overflow: UDP of 800M into 500M",
            &["queue_overflow"],
            &[("message_size_bytes", "1400"), ("rate_bps", "800M")],
        )
    },
    Scenario {
        test: "udp",
        between: Between::Queue("tbf rate 100M"),
        ..variant(
            "queue_overflow: UDP of 300M into 100M",
            &["queue_overflow"],
            &[("message_size_bytes", "512"), ("rate_bps", "300M")],
        )
    },
    Scenario {
        test: "udp",
        ..of(
            "udp_receive_buffer: bursts of 100",
            &["udp_receive_buffer"],
            &[
                ("message_size_bytes", "1400"),
                ("rate_bps", "200M"),
                ("burst_messages", "100"),
                ("receive_buffer_bytes", "16384"),
            ],
        )
    },
    Scenario {
        test: "udp",
        ..variant(
            "udp_receive_buffer: bursts of 300",
            &["udp_receive_buffer"],
            &[
                ("message_size_bytes", "512"),
                ("rate_bps", "100M"),
                ("burst_messages", "300"),
                ("receive_buffer_bytes", "8192"),
            ],
        )
    },
    // A rate of the program's own.
    of(
        "application_pacing: TCP 500M",
        &["application_pacing"],
        &[("message_size_bytes", "8192"), ("rate_bps", "500M")],
    ),
    Scenario {
        test: "udp",
        ..of(
            "application_pacing: UDP 200M",
            &["application_pacing"],
            &[("message_size_bytes", "1400"), ("rate_bps", "200M")],
        )
    },
    variant(
        "application_pacing: TCP 50M, cubic",
        &["application_pacing"],
        &[CUBIC, ("message_size_bytes", "1024"), ("rate_bps", "50M")],
    ),
    Scenario {
        test: "udp",
        ..variant(
            "application_pacing: UDP 1G",
            &["application_pacing"],
            &[("message_size_bytes", "1400"), ("rate_bps", "1G")],
        )
    },
    // Two limiters, each for a part of the time: a bucket that is full at first.
    Scenario {
        is_divided: true,
        ..of(
            "divided: sender's CPU, then tbf 500M",
            &["sender_cpu", "rate"],
            &[("message_size_bytes", "128"), ("qdisc", "sender: tbf rate 500M burst 70MB limit 8MB")],
        )
    },
    Scenario {
        is_divided: true,
        ..variant(
            "divided: sender's CPU, then tbf 300M",
            &["sender_cpu", "rate"],
            &[CUBIC, ("message_size_bytes", "64"), ("qdisc", "sender: tbf rate 300M burst 120MB limit 8MB")],
        )
    },
];
