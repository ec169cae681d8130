//! Scenarios in which an endpoint limits: its CPU, its buffers, its program.

use bitcost_model::record::Role;

use super::scenario::{Quota, Scenario, of, variant, whole_mbps};

/// Scenarios of CPUs, quotas, buffers, readers, paces.
pub const SCENARIOS: &[Scenario] = &[
    // Packets per second limit here. A queueing discipline that holds no packet makes the sender
    // the slower endpoint.
    of(
        "packets_per_second: UDP of 64 B through tbf 20G",
        concat!(
            "message_size_bytes=64; receive_mode=gro; ",
            "receive_buffer_bytes=4194304; qdisc=sender: tbf rate 20G"
        ),
    )
    .udp()
    .swept(&[64, 1024, 8192]),
    variant(
        "packets_per_second: UDP of 200 B through tbf 20G",
        concat!(
            "message_size_bytes=200; receive_mode=gro; ",
            "receive_buffer_bytes=4194304; qdisc=sender: tbf rate 20G"
        ),
    )
    .udp()
    .swept(&[64, 1024, 8192]),
    of(
        "packets_per_second: TCP, segments of 256 B, offloads off",
        "message_size_bytes=256; mss=message; offloads=off",
    )
    .swept(&[128, 1024, 8192]),
    variant(
        "packets_per_second: TCP, segments of 512 B, offloads off, cubic",
        "congestion_control=cubic; message_size_bytes=512; mss=message; offloads=off",
    )
    .swept(&[128, 1024, 8192]),
    // The sender's CPU.
    of("sender_cpu: messages of 64 B", "message_size_bytes=64"),
    of(
        "sender_cpu: contended",
        "message_size_bytes=256; stress=sender: 2 cpu on 0",
    ),
    variant(
        "sender_cpu: messages of 128 B, cubic",
        "congestion_control=cubic; message_size_bytes=128",
    ),
    variant(
        "sender_cpu: messages of 32 B, bbr",
        "congestion_control=bbr; message_size_bytes=32",
    ),
    variant(
        "sender_cpu: contended by one",
        "message_size_bytes=64; stress=sender: 1 cpu on 0",
    ),
    // The receiver's CPU.
    of("receiver_cpu: calls of 64 B", "receive_size_bytes=64"),
    of(
        "receiver_cpu: contended",
        "receive_size_bytes=256; stress=receiver: 2 cpu on 1",
    ),
    variant(
        "receiver_cpu: calls of 128 B, cubic",
        "congestion_control=cubic; receive_size_bytes=128",
    ),
    variant(
        "receiver_cpu: calls of 32 B, bbr",
        "congestion_control=bbr; receive_size_bytes=32",
    ),
    of(
        "receiver_cpu: UDP, contended",
        "message_size_bytes=1400; stress=receiver: 2 cpu on 1",
    )
    .udp(),
    // A quota.
    of("cpu_quota: sender, half of its use", "").quota(Quota::ShareOfUse(Role::Sender, 0.5)),
    of("cpu_quota: receiver, half of its use", "").quota(Quota::ShareOfUse(Role::Receiver, 0.5)),
    variant("cpu_quota: sender 50 %, 256 B", "message_size_bytes=256")
        .quota(Quota::Percent(Role::Sender, 50)),
    variant(
        "cpu_quota: receiver, a third of its use, cubic",
        "congestion_control=cubic",
    )
    .quota(Quota::ShareOfUse(Role::Receiver, 0.35)),
    // Buffers on a path with a delay.
    of(
        "send_buffer: 64 KiB on 10 ms",
        "congestion_control=cubic; send_buffer_bytes=65536",
    )
    .path(10),
    variant(
        "send_buffer: 128 KiB on 20 ms, bbr",
        "congestion_control=bbr; send_buffer_bytes=131072; message_size_bytes=8192",
    )
    .path(20),
    of(
        "receive_buffer: 64 KiB on 10 ms",
        "congestion_control=cubic; receive_buffer_bytes=65536",
    )
    .path(10),
    variant(
        "receive_buffer: 32 KiB on 20 ms, bbr",
        "congestion_control=bbr; receive_buffer_bytes=32768",
    )
    .path(20),
    of(
        "receive_buffer: 64 KiB without a delay, cubic",
        "congestion_control=cubic; receive_buffer_bytes=65536",
    ),
    // A reader that sleeps.
    of(
        "slow_reader: 1 ms after 64 KiB",
        "receiver_delay_us=1000; receive_size_bytes=65536",
    ),
    variant(
        "slow_reader: 300 us after 16 KiB, cubic",
        "congestion_control=cubic; receiver_delay_us=300; receive_size_bytes=16384",
    ),
    variant(
        "slow_reader: UDP, 100 us after each",
        "receiver_delay_us=100",
    )
    .udp(),
    // A rate that the program keeps.
    of(
        "application_pacing: TCP 500M",
        "message_size_bytes=8192; rate_bps=500M",
    ),
    of(
        "application_pacing: UDP 200M",
        "message_size_bytes=1400; rate_bps=200M",
    )
    .udp(),
    variant(
        "application_pacing: TCP 50M, cubic",
        "congestion_control=cubic; message_size_bytes=1024; rate_bps=50M",
    ),
    variant(
        "application_pacing: UDP 1G",
        "message_size_bytes=1400; rate_bps=1G",
    )
    .udp(),
    // Two limiters, each for a part of the time: the bucket is full at first.
    of(
        "divided: sender's CPU, then tbf of a third of its rate",
        "message_size_bytes=128",
    )
    .rightly(&["sender_cpu", "rate"])
    .divided()
    .scaled(|able| bucket(able.small_tcp_bps)),
    variant(
        "divided: sender's CPU at 64 B, then tbf of a third of its rate",
        "congestion_control=cubic; message_size_bytes=64",
    )
    .rightly(&["sender_cpu", "rate"])
    .divided()
    .scaled(|able| bucket(able.tiny_tcp_bps)),
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
