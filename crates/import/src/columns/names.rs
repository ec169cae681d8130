//! Names of columns: netperf's selectors, the titles that it prints for them, and names in tables
//! made from its outputs.

use std::sync::LazyLock;

/// One of netperf's two endpoints; its own is the local one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Local,
    Remote,
}

/// The content of a column.
#[derive(Clone, Copy)]
pub(super) enum Is {
    /// The rate of the test, in the units that the row names.
    Throughput,
    /// A bit rate of one endpoint, with the metric that it becomes where data goes in that
    /// direction.
    Rate(End, &'static str),
    /// A figure of an endpoint: the metric where it sends, and where it receives.
    OfEnd(End, [&'static str; 2]),
    /// A metric that only the sender's figure becomes.
    Sender(End, &'static str),
    /// A metric of transactions.
    Transaction(&'static str),
    /// A numeric setting; with an endpoint, where that endpoint sends or, with `false`, receives.
    Setting(Option<(End, bool)>, &'static str),
    /// A setting that is a word.
    Word(&'static str),
    /// A setting that is on where the value is 1.
    Switch(&'static str),
    /// Congestion control of an endpoint.
    Congestion(End),
}

use End::{Local, Remote};
use Is::{Congestion, OfEnd, Rate, Sender, Setting, Switch, Throughput, Transaction, Word};

const CPU: [&str; 2] = ["sender_cpu_util_pct", "receiver_cpu_util_pct"];
const PEAK: [&str; 2] = ["sender_peak_cpu_pct", "receiver_peak_cpu_pct"];
const DEMAND: [&str; 2] = [
    "netperf_send_service_demand_us_per_kib",
    "netperf_receive_service_demand_us_per_kib",
];

/// The columns that are taken, by selector.
pub(super) const COLUMNS: &[(&str, Is)] = &[
    ("throughput", Throughput),
    ("local_send_throughput", Rate(Local, "send_throughput_mbps")),
    (
        "remote_send_throughput",
        Rate(Remote, "send_throughput_mbps"),
    ),
    ("local_recv_throughput", Rate(Local, "throughput_mbps")),
    ("remote_recv_throughput", Rate(Remote, "throughput_mbps")),
    ("local_cpu_util", OfEnd(Local, CPU)),
    ("remote_cpu_util", OfEnd(Remote, CPU)),
    ("local_cpu_peak_util", OfEnd(Local, PEAK)),
    ("remote_cpu_peak_util", OfEnd(Remote, PEAK)),
    ("local_sd", OfEnd(Local, DEMAND)),
    ("remote_sd", OfEnd(Remote, DEMAND)),
    ("local_transport_retrans", Sender(Local, "retransmits")),
    ("remote_transport_retrans", Sender(Remote, "retransmits")),
    ("transaction_rate", Transaction("transactions_per_second")),
    ("mean_latency", Transaction("latency_mean_us")),
    ("p50_latency", Transaction("latency_p50_us")),
    ("p90_latency", Transaction("latency_p90_us")),
    ("p99_latency", Transaction("latency_p99_us")),
    ("max_latency", Transaction("latency_max_us")),
    (
        "local_send_size",
        Setting(Some((Local, true)), "message_size_bytes"),
    ),
    (
        "remote_send_size",
        Setting(Some((Remote, true)), "message_size_bytes"),
    ),
    (
        "lss_size",
        Setting(Some((Local, true)), "send_socket_bytes"),
    ),
    (
        "rss_size",
        Setting(Some((Remote, true)), "send_socket_bytes"),
    ),
    (
        "lsr_size",
        Setting(Some((Local, false)), "receive_socket_bytes"),
    ),
    (
        "rsr_size",
        Setting(Some((Remote, false)), "receive_socket_bytes"),
    ),
    ("transport_mss", Setting(None, "mss_bytes")),
    ("request_size", Setting(None, "request_size_bytes")),
    ("response_size", Setting(None, "response_size_bytes")),
    ("burst_size", Setting(None, "burst_transactions")),
    ("local_nodelay", Switch("nodelay")),
    ("local_cong_control", Congestion(Local)),
    ("remote_cong_control", Congestion(Remote)),
    ("protocol", Word("protocol")),
    ("result_brand", Word("brand")),
];

/// Names in tables made from netperf's outputs that are not a selector followed by its unit.
const OTHERS: &[(&str, &str)] = &[
    ("message_size_bytes", "local_send_size"),
    ("local_segment_size", "transport_mss"),
    ("local_peak_cpu_pct", "local_cpu_peak_util"),
    ("remote_peak_cpu_pct", "remote_cpu_peak_util"),
    ("service_demand_units", "sd_units"),
];

/// Units that a name may end with, as netperf writes them.
const UNITS: &[(&str, &str)] = &[
    ("_mbps", "10^6bits/s"),
    ("_us_per_kib", "usec/KB"),
    ("_pct", "%"),
    ("_usec", "usec"),
    ("_bytes", "bytes"),
];

/// The metrics that rows of tables can have.
pub(crate) const METRICS: &[&str] = &[
    "throughput_mbps",
    "send_throughput_mbps",
    "loss_pct",
    "transactions_per_second",
    "retransmits",
    "latency_mean_us",
    "latency_p50_us",
    "latency_p90_us",
    "latency_p99_us",
    "latency_max_us",
    CPU[0],
    CPU[1],
    PEAK[0],
    PEAK[1],
    DEMAND[0],
    DEMAND[1],
];

/// A name in lower case, words joined by `_`: `Local CPU Util %` is `local_cpu_util`.
pub(crate) fn plain(name: &str) -> String {
    let words = name
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    words
        .map(str::to_ascii_lowercase)
        .collect::<Vec<_>>()
        .join("_")
}

/// The selector for a name in the form of [`plain`], with the units that the name contains; an
/// unknown name is returned unchanged.
pub(crate) fn key(name: &str) -> (&str, Option<&'static str>) {
    if let Some(known) = selector(name) {
        return (known, None);
    }
    let with_units = UNITS
        .iter()
        .find_map(|(end, units)| Some((selector(name.strip_suffix(end)?)?, Some(*units))));
    with_units.unwrap_or((name, None))
}

/// Every selector of netperf with its title, of which the file says more.
static TITLES: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let lines = include_str!("titles.txt").lines();
    let rows = lines.filter(|line| !line.starts_with('#'));
    rows.filter_map(|line| line.split_once(' ')).collect()
});

fn selector(name: &str) -> Option<&'static str> {
    let other = OTHERS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, selector)| *selector);
    let of_title = TITLES
        .iter()
        .find(|(selector, title)| [*selector, *title].contains(&name));
    other.or(of_title.map(|(selector, _)| *selector))
}

/// True where a name, in the form of [`plain`], is that of a known column.
pub(crate) fn is_known(name: &str) -> bool {
    selector(key(name).0).is_some()
}

/// True for a column with the size of messages or segments.
pub(crate) fn is_size(name: &str) -> bool {
    ["local_send_size", "remote_send_size", "transport_mss"].contains(&key(name).0)
}

/// True for a column with a rate.
pub(crate) fn is_throughput(name: &str) -> bool {
    let (key, _) = key(name);
    COLUMNS
        .iter()
        .any(|(known, is)| *known == key && matches!(is, Throughput | Rate(..)))
}
