//! Scenarios in which the path between the hosts limits: rates, loss, full queues.

use super::scenario::{Between, Scenario, of, variant, whole_mbps};

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
        "congestion_control=cubic; qdisc=sender: tbf rate 1G",
    ),
    of(
        "rate: tbf 1G at the sender, bbr",
        "congestion_control=bbr; qdisc=sender: tbf rate 1G",
    ),
    of("rate: tbf 1G on the way, cubic", "congestion_control=cubic")
        .between(Between::Queue("tbf rate 1G")),
    variant(
        "rate: tbf 300M at the sender, reno",
        "congestion_control=reno; qdisc=sender: tbf rate 300M",
    ),
    variant(
        "rate: tbf 3G at the sender, bbr, 8 KiB",
        "congestion_control=bbr; message_size_bytes=8192; qdisc=sender: tbf rate 3G",
    ),
    variant("rate: tbf 500M on the way, bbr", "congestion_control=bbr")
        .between(Between::Queue("tbf rate 500M")),
    variant(
        "rate: tbf of a quarter of what it sends at the sender, UDP",
        "",
    )
    .udp()
    .scaled(|able| {
        let rate = whole_mbps(able.udp_bps / 4.0);
        vec![("qdisc", format!("sender: tbf rate {rate}M"))]
    }),
    of(
        "rate: 500M path of 10 ms, cubic",
        "congestion_control=cubic",
    )
    .rate_path(500_000_000, 10),
    variant("rate: 200M path of 20 ms, bbr", "congestion_control=bbr").rate_path(200_000_000, 20),
    // Loss.
    of(
        "congestion_window_loss: 1 % on 4 ms, cubic",
        "congestion_control=cubic",
    )
    .lossy_path(1.0, 4),
    of(
        "congestion_window_loss: 0.5 % on 10 ms, reno",
        "congestion_control=reno",
    )
    .lossy_path(0.5, 10),
    variant(
        "congestion_window_loss: 2 % on 3 ms, cubic",
        "congestion_control=cubic; message_size_bytes=8192",
    )
    .lossy_path(2.0, 3),
    of("path_loss: UDP, 5 %", "rate_bps=200M")
        .udp()
        .lossy_path(5.0, 2),
    variant(
        "path_loss: UDP, 10 %, 64 B",
        "message_size_bytes=64; rate_bps=10M",
    )
    .udp()
    .lossy_path(10.0, 2),
    of(
        "slow_start: 100 ms, cubic",
        "congestion_control=cubic; warmup_s=0.1",
    )
    .rightly(&["congestion_window_slow_start"])
    .path(100),
    variant(
        "slow_start: 150 ms, reno",
        "congestion_control=reno; warmup_s=0.1",
    )
    .rightly(&["congestion_window_slow_start"])
    .path(150),
    // Queues that overflow.
    of(
        "queue_overflow: TCP, 150 kB in 10 ms, cubic",
        "congestion_control=cubic",
    )
    .between(Between::Lab(SHORT_QUEUE_10_MS)),
    of(
        "queue_overflow: TCP, 60 kB in 4 ms, reno",
        "congestion_control=reno",
    )
    .between(Between::Lab(SHORT_QUEUE_4_MS)),
    variant(
        "queue_overflow: TCP, 90 kB in 6 ms, cubic, 8 KiB",
        "congestion_control=cubic; message_size_bytes=8192",
    )
    .between(Between::Lab(SHORT_QUEUE_6_MS)),
    variant(
        "queue_overflow: TCP, 90 kB in 6 ms, reno, offloads off",
        "congestion_control=reno; offloads=off",
    )
    .between(Between::Lab(SHORT_QUEUE_6_MS)),
    of(
        "queue_overflow: UDP of a fifth of what it can into a tenth",
        "message_size_bytes=1400",
    )
    .udp()
    .between(Between::ScaledQueue(|able| {
        format!("tbf rate {}M limit 50kB", whole_mbps(able.udp_bps / 10.0))
    }))
    .scaled(|able| vec![("rate_bps", format!("{}M", whole_mbps(able.udp_bps / 5.0)))]),
    variant(
        "queue_overflow: UDP of 300M into 100M",
        "message_size_bytes=512; rate_bps=300M",
    )
    .udp()
    .between(Between::Queue("tbf rate 100M limit 50kB")),
    of(
        "udp_receive_buffer: bursts of 100",
        "message_size_bytes=1400; rate_bps=200M; burst_messages=100; receive_buffer_bytes=16384",
    )
    .udp(),
    variant(
        "udp_receive_buffer: bursts of 300",
        "message_size_bytes=512; rate_bps=100M; burst_messages=300; receive_buffer_bytes=8192",
    )
    .udp(),
];
