//! Names of earlier builds that are gone, each with what to use instead.

/// Verbs, options, settings and keys that are gone, with a space between them, and what to use
/// instead, as the end of the sentence "`NAME` is gone; …".
pub const RETIRED: &[(&str, &str)] = &[
    (
        "bench",
        "`run` measures the cost of a wake-up and of copying a KiB, and its notes have both",
    ),
    (
        "bill",
        "`bitcost test … --profile` says where the CPU time of a KiB goes",
    ),
    (
        "--profile-rate",
        "`--profile` takes 997 samples per second of each CPU",
    ),
    (
        "--open",
        "`report` prints the path of its file; open that in a browser",
    ),
    ("emulator_ring", "use `queue_overflow`"),
    ("study", "use `bitcost studies new`"),
    ("schema", "use `bitcost studies schema`"),
    ("--buffers", "use `--tcp-buffers`"),
    ("--like-the-paper", "use `--like-the-document`"),
    (
        "--buffer-alignment buffer_alignment_bytes --buffer-offset buffer_offset_bytes --flow-label flow_label",
        "it has no replacement",
    ),
    ("--ring ring_buffers", "each flow has one buffer"),
    (
        "--scheduling scheduling",
        "start bitcost with `chrt --batch 0`",
    ),
    ("--probes probes", "counters are read every 100 ms"),
    (
        "--request-timeout request_timeout_ms",
        "a UDP request without a response is lost after 1 s",
    ),
    ("--priority", "use `--dscp`, or `--qdisc`"),
    ("priority", "use `dscp`, or `qdisc`"),
    (
        "--default-congestion",
        "use `--sysctl net.ipv4.tcp_congestion_control=NAME`, or `--congestion` for the run's sockets",
    ),
    (
        "default_congestion_control",
        "use `sysctl` with net.ipv4.tcp_congestion_control, or `congestion_control` for the run's sockets",
    ),
    ("--transactions", "use `--messages`"),
    ("stop_transactions", "use `stop_messages`"),
    (
        "--link-rate",
        "`bitcost limits goodput --rate` prints what a link allows",
    ),
    ("--low-water", "use `--set receive_low_water_bytes=VALUE`"),
    ("--ip-version", "use `-4` or `-6`"),
    (
        "--link-host",
        "write the host into the link that `bitcost serve` prints",
    ),
    (
        "--max-no-cost",
        "one test at a time has the host of `bitcost serve`",
    ),
    ("--metrics", "`bitcost serve` prints a line for each test"),
    ("beside", "use `background`"),
    ("buffers", "use `tcp_buffers`"),
    (
        "--no-cost no_cost",
        "CPU time is always measured; `idle_baseline_s = 0` leaves out the idle hosts",
    ),
    (
        "--state-budget --state-of",
        "no run is repeated for the state of the machine; leave it out",
    ),
    (
        "history",
        "Apache Otava finds changes in what `bitcost show FOLDER... --format csv` prints",
    ),
    (
        "ping",
        "`bitcost lab exec NODE ping` runs the system's in a node of a lab",
    ),
    (
        "--in-pod",
        "the hosts of a mesh in a cluster are its nodes: `--node-selector`",
    ),
    (
        "--within",
        "use `--until-interval`, which adds blocks until the intervals are as narrow",
    ),
    (
        "budget_s",
        "use `max_blocks`, or `--budget` of `bitcost run`",
    ),
    (
        "answer",
        "write a sentence as `[[answer]]`; without one it is about the first of `metrics` of `[table]`",
    ),
    (
        "each_second",
        "`bitcost report` draws a run of each cell over time, and `show --rows intervals` prints every run",
    ),
    (
        "--hints",
        "`bitcost test` names the buffer or the queue that limits",
    ),
    (
        "governor",
        "`cpupower frequency-set -g NAME` sets it for all runs alike",
    ),
    (
        "--size size",
        "of messages it is `--message-size`; of labs, write the hosts and links in a lab file; `bitcost lab presets switch` prints one",
    ),
    ("--from", "use `bitcost studies NAME > FILE`"),
    (
        "--idle idle",
        "a program that holds /dev/cpu_dma_latency open keeps CPUs awake, such as `tuned-adm profile latency-performance`",
    ),
    (
        "--executions --pause",
        "repeat the command in a loop of the shell, with `sleep` between",
    ),
];

/// That a name is gone and what to use instead, as a sentence.
pub fn instead_of(name: &str) -> Option<String> {
    let mut rows = RETIRED.iter();
    let (_, instead) = rows.find(|(names, _)| names.split(' ').any(|gone| gone == name))?;
    Some(format!("`{name}` is gone; {instead}"))
}
