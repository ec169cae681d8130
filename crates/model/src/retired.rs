//! Names of earlier builds that are gone, each with what to use instead.

/// What a name was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A command, such as `bill`.
    Verb,
    /// An option of a command, with its dashes.
    Option,
    /// A key of a study or a lab file.
    Key,
    /// A setting, as studies and `--set` name it.
    Setting,
}

/// Kind, name, and what to use instead, as the end of the sentence "`NAME` is gone; …".
type Row = (Kind, &'static str, &'static str);

/// Every name that is gone.
pub const RETIRED: &[Row] = &[
    (
        Kind::Verb,
        "host bench",
        "`run` measures the cost of a wake-up and of copying a KiB, and its notes have both",
    ),
    (
        Kind::Verb,
        "bill",
        "`bitcost test … --profile` says where the CPU time of a KiB goes",
    ),
    (
        Kind::Option,
        "--profile-rate",
        "`--profile` takes 997 samples per second of each CPU",
    ),
    (
        Kind::Option,
        "--open",
        "`report` prints the path of its file; open that in a browser",
    ),
    (Kind::Verb, "study", "use `bitcost studies new`"),
    (Kind::Verb, "schema", "use `bitcost studies schema`"),
    (Kind::Option, "--buffers", "use `--tcp-buffers`"),
    (
        Kind::Option,
        "--like-the-paper",
        "use `--like-the-document`",
    ),
    (Kind::Option, "--buffer-alignment", "it has no replacement"),
    (
        Kind::Setting,
        "buffer_alignment_bytes",
        "it has no replacement",
    ),
    (Kind::Option, "--buffer-offset", "it has no replacement"),
    (
        Kind::Setting,
        "buffer_offset_bytes",
        "it has no replacement",
    ),
    (Kind::Option, "--ring", "each flow has one buffer"),
    (Kind::Setting, "ring_buffers", "each flow has one buffer"),
    (
        Kind::Option,
        "--scheduling",
        "start bitcost with `chrt --batch 0`",
    ),
    (
        Kind::Setting,
        "scheduling",
        "start bitcost with `chrt --batch 0`",
    ),
    (Kind::Option, "--probes", "counters are read every 100 ms"),
    (Kind::Setting, "probes", "counters are read every 100 ms"),
    (
        Kind::Option,
        "--request-timeout",
        "a UDP request without a response is lost after 1 s",
    ),
    (
        Kind::Setting,
        "request_timeout_ms",
        "a UDP request without a response is lost after 1 s",
    ),
    (Kind::Option, "--flow-label", "it has no replacement"),
    (Kind::Setting, "flow_label", "it has no replacement"),
    (Kind::Option, "--priority", "use `--dscp`, or `--qdisc`"),
    (Kind::Setting, "priority", "use `dscp`, or `qdisc`"),
    (
        Kind::Option,
        "--default-congestion",
        "use `--sysctl net.ipv4.tcp_congestion_control=NAME`, or `--congestion` for the run's sockets",
    ),
    (
        Kind::Setting,
        "default_congestion_control",
        "use `sysctl` with net.ipv4.tcp_congestion_control, or `congestion_control` for the run's sockets",
    ),
    (Kind::Option, "--transactions", "use `--messages`"),
    (Kind::Setting, "stop_transactions", "use `stop_messages`"),
    (
        Kind::Option,
        "--link-rate",
        "`bitcost limits goodput --rate` prints what a link allows",
    ),
    (
        Kind::Option,
        "--messages-per-call",
        "use `--set messages_per_call=VALUE`",
    ),
    (
        Kind::Option,
        "--send-work",
        "use `--set send_work_ns=VALUE`",
    ),
    (
        Kind::Option,
        "--receive-work",
        "use `--set receive_work_ns=VALUE`",
    ),
    (
        Kind::Option,
        "--gso-max-segs",
        "use `--set gso_max_segs=VALUE`",
    ),
    (
        Kind::Option,
        "--gso-max-size",
        "use `--set gso_max_size=VALUE`",
    ),
    (
        Kind::Option,
        "--gro-max-size",
        "use `--set gro_max_size=VALUE`",
    ),
    (
        Kind::Option,
        "--emulator-queue-limit",
        "use `--set emulator_queue_limit=VALUE`",
    ),
    (Kind::Option, "--moderation", "use `--set moderation=VALUE`"),
    (Kind::Option, "--idle", "use `--set idle=VALUE`"),
    (Kind::Option, "--channels", "use `--set channels=VALUE`"),
    (Kind::Option, "--coalesce", "use `--set coalesce=VALUE`"),
    (
        Kind::Option,
        "--threaded-napi",
        "use `--set threaded_napi=VALUE`",
    ),
    (Kind::Option, "--rps-cpus", "use `--set rps_cpus=VALUE`"),
    (Kind::Option, "--governor", "use `--set governor=VALUE`"),
    (Kind::Option, "--stress", "use `--set stress=VALUE`"),
    (
        Kind::Option,
        "--low-water",
        "use `--set receive_low_water_bytes=VALUE`",
    ),
    (
        Kind::Option,
        "--notsent-low-water",
        "use `--set notsent_low_water_bytes=VALUE`",
    ),
    (Kind::Option, "--waiting", "use `--set waiting=VALUE`"),
    (
        Kind::Option,
        "--busy-poll",
        "use `--set busy_poll_us=VALUE`",
    ),
    (
        Kind::Option,
        "--receiver-delay",
        "use `--set receiver_delay_us=VALUE`",
    ),
    (Kind::Option, "--rate-of", "use `--set rate_of=VALUE`"),
    (
        Kind::Option,
        "--message-rate",
        "use `--set message_rate=VALUE`",
    ),
    (
        Kind::Option,
        "--idle-baseline",
        "use `--set idle_baseline_s=VALUE`",
    ),
    (Kind::Option, "--cork", "use `--set cork=VALUE`"),
    (Kind::Option, "--payload", "use `--set payload=VALUE`"),
    (
        Kind::Option,
        "--receive-size",
        "use `--set receive_size_bytes=VALUE`",
    ),
    (Kind::Option, "--ip-version", "use `-4` or `-6`"),
    (
        Kind::Option,
        "--link-host",
        "write the host into the link that `bitcost serve` prints",
    ),
    (
        Kind::Option,
        "--max-no-cost",
        "one test at a time has the host of `bitcost serve`",
    ),
    (
        Kind::Option,
        "--metrics",
        "`bitcost serve` prints a line for each test",
    ),
    (
        Kind::Option,
        "--no-cost",
        "CPU time is always measured; `idle_baseline_s = 0` leaves out the idle hosts",
    ),
    (
        Kind::Setting,
        "no_cost",
        "CPU time is always measured; `idle_baseline_s = 0` leaves out the idle hosts",
    ),
    (Kind::Setting, "beside", "use `background`"),
    (Kind::Setting, "buffers", "use `tcp_buffers`"),
    (
        Kind::Option,
        "--state-budget",
        "no run is repeated for the state of the machine; leave it out",
    ),
    (
        Kind::Option,
        "--state-of",
        "no run is repeated for the state of the machine; leave it out",
    ),
    (
        Kind::Verb,
        "history",
        "Apache Otava finds changes in what `bitcost show FOLDER... --format csv` prints",
    ),
    (
        Kind::Verb,
        "ping",
        "`bitcost lab exec NODE ping` runs the system's in a node of a lab",
    ),
    (
        Kind::Option,
        "--in-pod",
        "the hosts of a mesh in a cluster are its nodes: `--node-selector`",
    ),
];

/// That a name is gone and what to use instead, as a sentence.
pub fn instead_of(kind: Kind, name: &str) -> Option<String> {
    let row = RETIRED.iter().find(|row| row.0 == kind && row.1 == name)?;
    Some(format!("`{name}` is gone; {}", row.2))
}
