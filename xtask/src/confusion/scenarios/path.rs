//! Scenarios in which the path between the hosts limits: rates, loss, full queues.

use bitcost_model::conditions::Workload;

use super::scenario::{
    BBR, Between, CUBIC, PathSettings, RENO, Scenario, line, of, variant, whole_mbps,
};

/// A queue that holds each packet for 10 ms, and has less room than arrives in that time.
const SHORT_QUEUE_10_MS: &str = r#"
hosts = ["h1", "h2"]
switches = ["s1"]

[[link]]
ends = ["h1", "s1"]

[[link]]
ends = ["s1", "h2"]

[egress.s1-eth2]
delay = "10ms"
queue_limit = "150000 B"
"#;

/// The same for 4 ms, with 2 ms in the other direction.
const SHORT_QUEUE_4_MS: &str = r#"
hosts = ["h1", "h2"]
switches = ["s1"]

[[link]]
ends = ["h1", "s1"]

[[link]]
ends = ["s1", "h2"]

[egress.s1-eth1]
delay = "2ms"

[egress.s1-eth2]
delay = "4ms"
queue_limit = "60000 B"
"#;

/// The same for 6 ms, behind a second switch.
const SHORT_QUEUE_6_MS: &str = r#"
hosts = ["h1", "h2"]
switches = ["s1", "s2"]

[[link]]
ends = ["h1", "s1"]

[[link]]
ends = ["s1", "s2"]

[[link]]
ends = ["s2", "h2"]

[egress.s2-eth2]
delay = "6ms"
queue_limit = "90000 B"
"#;

/// Scenarios of rates, losses and queues.
pub const SCENARIOS: &[Scenario] = &[
    // The rate of a shaper at the sender, and of one on the path.
    of(
        "rate: tbf 1G at the sender, cubic",
        &["rate"],
        &[CUBIC, ("qdisc", "sender: tbf rate 1G")],
    ),
    of(
        "rate: tbf 1G at the sender, bbr",
        &["rate"],
        &[BBR, ("qdisc", "sender: tbf rate 1G")],
    ),
    Scenario {
        between: Between::Queue("tbf rate 1G"),
        ..of("rate: tbf 1G on the way, cubic", &["rate"], &[CUBIC])
    },
    variant(
        "rate: tbf 300M at the sender, reno",
        &["rate"],
        &[RENO, ("qdisc", "sender: tbf rate 300M")],
    ),
    variant(
        "rate: tbf 3G at the sender, bbr, 8 KiB",
        &["rate"],
        &[
            BBR,
            ("message_size_bytes", "8192"),
            ("qdisc", "sender: tbf rate 3G"),
        ],
    ),
    Scenario {
        between: Between::Queue("tbf rate 500M"),
        ..variant("rate: tbf 500M on the way, bbr", &["rate"], &[BBR])
    },
    Scenario {
        workload: Workload::UdpStream,
        formerly: Some("rate: tbf 500M at the sender, UDP"),
        scaled: Some(|able| {
            let rate = whole_mbps(able.udp_bps / 4.0);
            vec![("qdisc", format!("sender: tbf rate {rate}M"))]
        }),
        ..variant(
            "rate: tbf of a quarter of what it sends at the sender, UDP",
            &["rate"],
            &[],
        )
    },
    Scenario {
        between: Between::Emulator(PathSettings {
            rate_bps: Some(500_000_000),
            ..line(10)
        }),
        ..of("rate: 500M path of 10 ms, cubic", &["rate"], &[CUBIC])
    },
    Scenario {
        between: Between::Emulator(PathSettings {
            rate_bps: Some(200_000_000),
            ..line(20)
        }),
        ..variant("rate: 200M path of 20 ms, bbr", &["rate"], &[BBR])
    },
    // Loss.
    Scenario {
        between: Between::Emulator(PathSettings {
            loss_pct: 1.0,
            ..line(4)
        }),
        ..of(
            "congestion_window_loss: 1 % on 4 ms, cubic",
            &["congestion_window_loss"],
            &[CUBIC],
        )
    },
    Scenario {
        between: Between::Emulator(PathSettings {
            loss_pct: 0.5,
            ..line(10)
        }),
        ..of(
            "congestion_window_loss: 0.5 % on 10 ms, reno",
            &["congestion_window_loss"],
            &[RENO],
        )
    },
    Scenario {
        between: Between::Emulator(PathSettings {
            loss_pct: 2.0,
            ..line(3)
        }),
        ..variant(
            "congestion_window_loss: 2 % on 3 ms, cubic",
            &["congestion_window_loss"],
            &[CUBIC, ("message_size_bytes", "8192")],
        )
    },
    Scenario {
        between: Between::Emulator(PathSettings {
            loss_pct: 5.0,
            ..line(2)
        }),
        workload: Workload::UdpStream,
        ..of(
            "path_loss: UDP, 5 %",
            &["path_loss"],
            &[("rate_bps", "200M")],
        )
    },
    Scenario {
        between: Between::Emulator(PathSettings {
            loss_pct: 10.0,
            ..line(2)
        }),
        workload: Workload::UdpStream,
        ..variant(
            "path_loss: UDP, 10 %, 64 B",
            &["path_loss"],
            &[("message_size_bytes", "64"), ("rate_bps", "10M")],
        )
    },
    Scenario {
        between: Between::Emulator(line(100)),
        ..of(
            "slow_start: 100 ms, cubic",
            &["congestion_window_slow_start"],
            &[CUBIC, ("warmup_s", "0.1")],
        )
    },
    Scenario {
        between: Between::Emulator(line(150)),
        ..variant(
            "slow_start: 150 ms, reno",
            &["congestion_window_slow_start"],
            &[RENO, ("warmup_s", "0.1")],
        )
    },
    // Queues that overflow.
    Scenario {
        between: Between::Lab(SHORT_QUEUE_10_MS),
        ..of(
            "queue_overflow: TCP, 150 kB in 10 ms, cubic",
            &["queue_overflow"],
            &[CUBIC],
        )
    },
    Scenario {
        between: Between::Lab(SHORT_QUEUE_4_MS),
        ..of(
            "queue_overflow: TCP, 60 kB in 4 ms, reno",
            &["queue_overflow"],
            &[RENO],
        )
    },
    Scenario {
        between: Between::Lab(SHORT_QUEUE_6_MS),
        ..variant(
            "queue_overflow: TCP, 90 kB in 6 ms, cubic, 8 KiB",
            &["queue_overflow"],
            &[CUBIC, ("message_size_bytes", "8192")],
        )
    },
    Scenario {
        between: Between::Lab(SHORT_QUEUE_6_MS),
        ..variant(
            "queue_overflow: TCP, 90 kB in 6 ms, reno, offloads off",
            &["queue_overflow"],
            &[RENO, ("offloads", "off")],
        )
    },
    Scenario {
        workload: Workload::UdpStream,
        formerly: Some("queue_overflow: UDP of 800M into 500M"),
        between: Between::ScaledQueue(|able| {
            format!("tbf rate {}M limit 50kB", whole_mbps(able.udp_bps / 10.0))
        }),
        scaled: Some(|able| vec![("rate_bps", format!("{}M", whole_mbps(able.udp_bps / 5.0)))]),
        ..of(
            "queue_overflow: UDP of a fifth of what it can into a tenth",
            &["queue_overflow"],
            &[("message_size_bytes", "1400")],
        )
    },
    Scenario {
        workload: Workload::UdpStream,
        between: Between::Queue("tbf rate 100M limit 50kB"),
        ..variant(
            "queue_overflow: UDP of 300M into 100M",
            &["queue_overflow"],
            &[("message_size_bytes", "512"), ("rate_bps", "300M")],
        )
    },
    Scenario {
        workload: Workload::UdpStream,
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
        workload: Workload::UdpStream,
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
];
