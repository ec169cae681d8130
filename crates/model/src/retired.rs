//! Names of earlier builds that are gone, each with what to use instead.

/// Verbs, options, settings and keys that are gone, with a space between them, and what to use
/// instead, as the end of the sentence "`NAME` is gone; …".
pub const RETIRED: &[(&str, &str)] = &[
    ("iperf3_sender_cpu_pct", "use `sender_process_cpu_pct`"),
    ("iperf3_receiver_cpu_pct", "use `receiver_process_cpu_pct`"),
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
        "program",
        "two versions of bitcost are compared by an execution of each: `bitcost compare OLD NEW`",
    ),
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
        "change_pct low_pct high_pct",
        "a change in JSON has `ratio`, new ÷ old, with `value`, `low` and `high`",
    ),
    (
        "taken is_better untried took_ms",
        "`mode_search` in JSON has `steps`, `not_kept` and `not_tried`, like `ladder`",
    ),
    ("weak", "`caveats` in JSON says why figures are weak"),
    (
        "mismatched",
        "`requested` and `active` of offloads in the log say it",
    ),
    (
        "only_in",
        "a cell without a counterpart in JSON has `is_old`",
    ),
    (
        "spurious_reported spurious_because",
        "`spurious` in JSON has `segments`, `reported` and `why`",
    ),
    (
        "--in-pod",
        "the hosts of a mesh in a cluster are its nodes: `--node-selector`",
    ),
    (
        "runner_up",
        "`suspects` of a bottleneck has all that come next",
    ),
    (
        "holds",
        "`value` and `at_least` or `at_most` of the evidence say it",
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
        "blocks_auto",
        "`until_interval` in JSON is the result of the stop rule",
    ),
    (
        "throughput_of_capacity_pct",
        "`bitcost limits goodput` prints what a link allows, and `--prove` whether a path limits",
    ),
    (
        "calibration",
        "`idle_rtt_us` in JSON is the round trip before the first run",
    ),
    (
        "answer",
        "write a sentence as `[[answer]]`; without one it is about the first of `metrics` of `[table]`",
    ),
    (
        "each_second time_series",
        "`bitcost report` draws a run of each cell over time, and `show --rows intervals` prints every run",
    ),
    (
        "regimes",
        "the warning `two_groups` of `bitcost explain` says where packets carried far more in some runs",
    ),
    (
        "until_stopped",
        "a test that is stopped has its records, and `interrupted` of `run_ended` says so",
    ),
    (
        "time_ns",
        "each of a profile's `stacks` in the log has its `cpu`; its time is computed when it is printed",
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
    (
        "interval_ms",
        "to repeat a test, start `bitcost test` from cron or a systemd timer",
    ),
    (
        "others",
        "what other programs took is `foreign_cpu_pct`, and a caveat; where it matters for the limiter, `detail` says so",
    ),
];

/// That a name is gone and what to use instead, as a sentence.
pub fn instead_of(name: &str) -> Option<String> {
    let mut rows = RETIRED.iter();
    let (_, instead) = rows.find(|(names, _)| names.split(' ').any(|gone| gone == name))?;
    Some(format!("`{name}` is gone; {instead}"))
}
