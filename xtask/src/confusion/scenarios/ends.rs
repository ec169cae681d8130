//! Scenarios in which an endpoint limits: its CPU, its buffers, its program.

use bitcost_model::conditions::Workload;
use bitcost_model::record::Role;

use super::scenario::{BBR, Between, CUBIC, Quota, Scenario, line, of, variant, whole_mbps};

/// Scenarios of CPUs, quotas, buffers, readers, paces.
pub const SCENARIOS: &[Scenario] = &[
    // Packets per second limit here. A queueing discipline that holds no packet makes the sender
    // the slower endpoint.
    Scenario {
        workload: Workload::UdpStream,
        mtu_bytes: 8896,
        sweep: &[64, 1024, 8192],
        ..of(
            "packets_per_second: UDP of 64 B through tbf 20G",
            &["packets_per_second"],
            &[
                ("message_size_bytes", "64"),
                ("receive_mode", "recvmmsg"),
                ("receive_buffer_bytes", "4194304"),
                ("qdisc", "sender: tbf rate 20G"),
            ],
        )
    },
    Scenario {
        workload: Workload::UdpStream,
        mtu_bytes: 8896,
        sweep: &[64, 1024, 8192],
        ..variant(
            "packets_per_second: UDP of 200 B through tbf 20G",
            &["packets_per_second"],
            &[
                ("message_size_bytes", "200"),
                ("receive_mode", "recvmmsg"),
                ("receive_buffer_bytes", "4194304"),
                ("qdisc", "sender: tbf rate 20G"),
            ],
        )
    },
    Scenario {
        mtu_bytes: 8896,
        sweep: &[128, 1024, 8192],
        ..of(
            "packets_per_second: TCP, segments of 256 B, offloads off",
            &["packets_per_second"],
            &[
                ("message_size_bytes", "256"),
                ("mss", "message"),
                ("offloads", "off"),
            ],
        )
    },
    Scenario {
        mtu_bytes: 8896,
        sweep: &[128, 1024, 8192],
        ..variant(
            "packets_per_second: TCP, segments of 512 B, offloads off, cubic",
            &["packets_per_second"],
            &[
                CUBIC,
                ("message_size_bytes", "512"),
                ("mss", "message"),
                ("offloads", "off"),
            ],
        )
    },
    // The sender's CPU.
    of(
        "sender_cpu: messages of 64 B",
        &["sender_cpu"],
        &[("message_size_bytes", "64")],
    ),
    of(
        "sender_cpu: contended",
        &["sender_cpu"],
        &[
            ("message_size_bytes", "256"),
            ("stress", "sender: 2 cpu on 0"),
        ],
    ),
    variant(
        "sender_cpu: messages of 128 B, cubic",
        &["sender_cpu"],
        &[CUBIC, ("message_size_bytes", "128")],
    ),
    variant(
        "sender_cpu: messages of 32 B, bbr",
        &["sender_cpu"],
        &[BBR, ("message_size_bytes", "32")],
    ),
    variant(
        "sender_cpu: contended by one",
        &["sender_cpu"],
        &[
            ("message_size_bytes", "64"),
            ("stress", "sender: 1 cpu on 0"),
        ],
    ),
    // The receiver's CPU.
    of(
        "receiver_cpu: calls of 64 B",
        &["receiver_cpu"],
        &[("receive_size_bytes", "64")],
    ),
    of(
        "receiver_cpu: contended",
        &["receiver_cpu"],
        &[
            ("receive_size_bytes", "256"),
            ("stress", "receiver: 2 cpu on 1"),
        ],
    ),
    variant(
        "receiver_cpu: calls of 128 B, cubic",
        &["receiver_cpu"],
        &[CUBIC, ("receive_size_bytes", "128")],
    ),
    variant(
        "receiver_cpu: calls of 32 B, bbr",
        &["receiver_cpu"],
        &[BBR, ("receive_size_bytes", "32")],
    ),
    Scenario {
        workload: Workload::UdpStream,
        ..of(
            "receiver_cpu: UDP, contended",
            &["receiver_cpu"],
            &[
                ("message_size_bytes", "1400"),
                ("stress", "receiver: 2 cpu on 1"),
            ],
        )
    },
    // A quota.
    Scenario {
        formerly: Some("cpu_quota: sender 30 %"),
        quota: Some(Quota::ShareOfUse(Role::Sender, 0.5)),
        ..of("cpu_quota: sender, half of its use", &["cpu_quota"], &[])
    },
    Scenario {
        formerly: Some("cpu_quota: receiver 30 %"),
        quota: Some(Quota::ShareOfUse(Role::Receiver, 0.5)),
        ..of("cpu_quota: receiver, half of its use", &["cpu_quota"], &[])
    },
    Scenario {
        quota: Some(Quota::Percent(Role::Sender, 50)),
        ..variant(
            "cpu_quota: sender 50 %, 256 B",
            &["cpu_quota"],
            &[("message_size_bytes", "256")],
        )
    },
    Scenario {
        formerly: Some("cpu_quota: receiver 20 %, cubic"),
        quota: Some(Quota::ShareOfUse(Role::Receiver, 0.35)),
        ..variant(
            "cpu_quota: receiver, a third of its use, cubic",
            &["cpu_quota"],
            &[CUBIC],
        )
    },
    // Buffers on a path with a delay.
    Scenario {
        between: Between::Emulator(line(10)),
        ..of(
            "send_buffer: 64 KiB on 10 ms",
            &["send_buffer"],
            &[CUBIC, ("send_buffer_bytes", "65536")],
        )
    },
    Scenario {
        between: Between::Emulator(line(20)),
        ..variant(
            "send_buffer: 128 KiB on 20 ms, bbr",
            &["send_buffer"],
            &[
                BBR,
                ("send_buffer_bytes", "131072"),
                ("message_size_bytes", "8192"),
            ],
        )
    },
    Scenario {
        between: Between::Emulator(line(10)),
        ..of(
            "receive_buffer: 64 KiB on 10 ms",
            &["receive_buffer"],
            &[CUBIC, ("receive_buffer_bytes", "65536")],
        )
    },
    Scenario {
        between: Between::Emulator(line(20)),
        ..variant(
            "receive_buffer: 32 KiB on 20 ms, bbr",
            &["receive_buffer"],
            &[BBR, ("receive_buffer_bytes", "32768")],
        )
    },
    of(
        "receive_buffer: 64 KiB without a delay, cubic",
        &["receive_buffer"],
        &[CUBIC, ("receive_buffer_bytes", "65536")],
    ),
    // A reader that sleeps.
    of(
        "slow_reader: 1 ms after 64 KiB",
        &["slow_reader"],
        &[
            ("receiver_delay_us", "1000"),
            ("receive_size_bytes", "65536"),
        ],
    ),
    variant(
        "slow_reader: 300 us after 16 KiB, cubic",
        &["slow_reader"],
        &[
            CUBIC,
            ("receiver_delay_us", "300"),
            ("receive_size_bytes", "16384"),
        ],
    ),
    Scenario {
        workload: Workload::UdpStream,
        ..variant(
            "slow_reader: UDP, 100 us after each",
            &["slow_reader"],
            &[("receiver_delay_us", "100")],
        )
    },
    // A rate that the program keeps.
    of(
        "application_pacing: TCP 500M",
        &["application_pacing"],
        &[("message_size_bytes", "8192"), ("rate_bps", "500M")],
    ),
    Scenario {
        workload: Workload::UdpStream,
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
        workload: Workload::UdpStream,
        ..variant(
            "application_pacing: UDP 1G",
            &["application_pacing"],
            &[("message_size_bytes", "1400"), ("rate_bps", "1G")],
        )
    },
    // Two limiters, each for a part of the time: the bucket is full at first.
    Scenario {
        is_divided: true,
        formerly: Some("divided: sender's CPU, then tbf 500M"),
        scaled: Some(|able| bucket(able.small_tcp_bps)),
        ..of(
            "divided: sender's CPU, then tbf of a third of its rate",
            &["sender_cpu", "rate"],
            &[("message_size_bytes", "128")],
        )
    },
    Scenario {
        is_divided: true,
        formerly: Some("divided: sender's CPU, then tbf 300M"),
        scaled: Some(|able| bucket(able.tiny_tcp_bps)),
        ..variant(
            "divided: sender's CPU at 64 B, then tbf of a third of its rate",
            &["sender_cpu", "rate"],
            &[CUBIC, ("message_size_bytes", "64")],
        )
    },
];

/// When the bucket of a divided run is empty, in seconds after the first message: in the middle of
/// the window.
const EMPTY_AFTER_S: f64 = 0.85;

/// A bucket of a third of the rate, which a sender of that rate empties in the middle of its run.
fn bucket(bps: f64) -> Vec<(&'static str, String)> {
    let rate = whole_mbps(bps / 3.0);
    let burst = (bps - 1e6 * rate) * EMPTY_AFTER_S / 8.0;
    let text = format!("sender: tbf rate {rate}M burst {burst:.0} limit 8MB");
    vec![("qdisc", text)]
}
