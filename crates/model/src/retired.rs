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
