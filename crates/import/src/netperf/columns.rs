//! The columns of netperf's outputs and of tables made from them, by name, and the figures and
//! settings that their values become.

use std::collections::HashMap;
use std::sync::LazyLock;

use bitcost_model::study::Label;

use super::banner::{Banner, Kind};
use crate::run::Run;

/// The names of a row, in the form of [`plain`], with its values.
pub(super) type Row = Vec<(String, String)>;

#[derive(Clone, Copy)]
enum Is {
    /// The rate of the test, in the units that the row names.
    Throughput,
    Rate(&'static str),
    Figure(&'static str),
    Peak(&'static str),
    Demand(&'static str),
    Transaction(&'static str),
    Setting(&'static str),
    Word(&'static str),
    Switch(&'static str),
}

use Is::{Demand, Figure, Peak, Rate, Setting, Switch, Throughput, Transaction, Word};

/// The columns that are taken: by selector, with `sender` and `receiver` in place of netperf's
/// `local` and `remote`.
const COLUMNS: &[(&str, Is)] = &[
    ("throughput", Throughput),
    ("sender_send_throughput", Rate("send_throughput_mbps")),
    ("receiver_recv_throughput", Rate("throughput_mbps")),
    ("sender_cpu_util", Figure("sender_cpu_util_pct")),
    ("receiver_cpu_util", Figure("receiver_cpu_util_pct")),
    ("sender_cpu_peak_util", Peak("sender_peak_cpu_pct")),
    ("receiver_cpu_peak_util", Peak("receiver_peak_cpu_pct")),
    ("sender_sd", Demand(SEND_DEMAND)),
    ("receiver_sd", Demand(RECEIVE_DEMAND)),
    ("sender_transport_retrans", Figure("retransmits")),
    ("transaction_rate", Transaction("transactions_per_second")),
    ("mean_latency", Transaction("latency_mean_us")),
    ("p50_latency", Transaction("latency_p50_us")),
    ("p90_latency", Transaction("latency_p90_us")),
    ("p99_latency", Transaction("latency_p99_us")),
    ("max_latency", Transaction("latency_max_us")),
    ("sender_send_size", Setting("message_size_bytes")),
    ("sender_send_socket", Setting("send_socket_bytes")),
    ("receiver_recv_socket", Setting("receive_socket_bytes")),
    ("transport_mss", Setting("mss_bytes")),
    ("request_size", Setting("request_size_bytes")),
    ("response_size", Setting("response_size_bytes")),
    ("burst_size", Setting("burst_transactions")),
    ("sender_nodelay", Switch("nodelay")),
    ("sender_cong_control", Word("congestion_control")),
    ("protocol", Word("protocol")),
    ("result_brand", Word("brand")),
];

const SEND_DEMAND: &str = "netperf_send_service_demand_us_per_kib";
const RECEIVE_DEMAND: &str = "netperf_receive_service_demand_us_per_kib";

/// Units that a name may end with, as netperf writes them.
const UNITS: &[(&str, &str)] = &[
    ("_mbps", "10^6bits/s"),
    ("_us_per_kib", "usec/KB"),
    ("_pct", "%"),
    ("_usec", "usec"),
    ("_bytes", "bytes"),
];

/// The selector of every name that the file has; of a name that is there twice the first.
static SELECTORS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let mut selectors = HashMap::new();
    let lines = include_str!("names.txt").lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        let selector = line.split(' ').next().unwrap_or_default();
        for name in line.split(' ') {
            selectors.entry(name).or_insert(selector);
        }
    }
    selectors
});

/// A name in lower case, words joined by `_`: `Local CPU Util %` is `local_cpu_util`.
pub(super) fn plain(name: &str) -> String {
    let words: Vec<&str> = name
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    words.join("_").to_ascii_lowercase()
}

/// The selector for a name in the form of [`plain`], with the units that the name contains; an
/// unknown name is returned unchanged.
fn key(name: &str) -> (&str, Option<&'static str>) {
    if let Some(selector) = selector(name) {
        return (selector, None);
    }
    UNITS
        .iter()
        .find_map(|(end, units)| Some((selector(name.strip_suffix(end)?)?, Some(*units))))
        .unwrap_or((name, None))
}

fn selector(name: &str) -> Option<&'static str> {
    SELECTORS.get(name).copied()
}

/// True where a name, in the form of [`plain`], is that of a known column.
pub(super) fn is_known(name: &str) -> bool {
    selector(key(name).0).is_some()
}

pub(super) fn is_size(name: &str) -> bool {
    ["local_send_size", "remote_send_size", "transport_mss"].contains(&key(name).0)
}

pub(super) fn is_throughput(name: &str) -> bool {
    let name = key(name).0;
    selector(name).is_some() && name.ends_with("throughput")
}

/// The content of a column by its selector; `is_sending` where netperf's local endpoint sends.
fn content(selector: &str, is_sending: bool) -> Option<Is> {
    let end = |is_local: bool| {
        if is_local == is_sending {
            "sender"
        } else {
            "receiver"
        }
    };
    let name = match selector.split_once('_') {
        Some(("local", rest)) => format!("{}_{rest}", end(true)),
        Some(("remote", rest)) => format!("{}_{rest}", end(false)),
        Some(("lss", "size")) => format!("{}_send_socket", end(true)),
        Some(("lsr", "size")) => format!("{}_recv_socket", end(true)),
        Some(("rss", "size")) => format!("{}_send_socket", end(false)),
        Some(("rsr", "size")) => format!("{}_recv_socket", end(false)),
        _ => selector.to_owned(),
    };
    let column = COLUMNS.iter().find(|(known, _)| *known == name)?;
    Some(column.1)
}

/// Takes a row: known columns become metrics and levels, all columns become facts. The banner above
/// it supplies what the row does not say itself. The result is the
/// first value that does not have the form that its column requires.
pub(super) fn take(found: &mut Run, row: &Row, banner: Option<&Banner>) -> Option<String> {
    let about = About::of(row, banner);
    let mut wrong = None;
    for (name, value) in row.iter().filter(|(_, value)| !value.trim().is_empty()) {
        let value = value.trim();
        found.fact(name, value);
        let (selector, units) = key(name);
        let Some(is) = content(selector, about.is_sending) else {
            continue;
        };
        if let Some(wanted) = wanted(is, value).filter(|_| wrong.is_none()) {
            wrong = Some(format!("column `{name}`: `{value}` is not {wanted}"));
        }
        set(found, is, value, &about, units);
    }
    if about.kind == Kind::Stream && (about.get("direction").is_some() || banner.is_some()) {
        let word = if about.is_sending {
            "forward"
        } else {
            "reverse"
        };
        found.level("direction", word);
    }
    if about.kind == Kind::Transactions {
        of_bits(found, &about);
    }
    let is_rate = |(name, value): &(String, String)| {
        is_throughput(name) && key(name).1.is_none() && number(value).is_some()
    };
    if about.get("throughput_units").is_none() && row.iter().any(is_rate) {
        found.note(format!(
            "the file does not state the units of its rates; netperf's default units are assumed ({})",
            about.rate_units
        ));
    }
    loss(found, &about, banner);
    confidence(found, &about, banner);
    wrong
}

/// The width that netperf itself gives the interval of its result (`-I`), and whether that is what
/// was requested.
fn confidence(found: &mut Run, about: &About, banner: Option<&Banner>) {
    let of = |selector| about.number(selector).filter(|value| *value > 0.0);
    let Some(width) = of("throughput_confid") else {
        return;
    };
    let is_rate = |name: &&str| found.get(name).is_some();
    let rates = ["transactions_per_second", "throughput_mbps"];
    if let Some(rate) = rates.into_iter().find(is_rate) {
        found.imported.widths_pct.insert(rate.to_owned(), width);
    }
    let requested = banner.and_then(|banner| banner.confidence.as_deref());
    let level = || {
        let (_, level) = requested?.split_once("@ ")?;
        level.trim_end_matches('%').parse().ok()
    };
    found.imported.level_pct = of("confidence_level").or_else(level);
    let mut note = format!("netperf's confidence interval (-I): {width} % wide");
    if let Some(iterations) = of("confidence_iteration") {
        note += &format!(", after {iterations} iterations");
    }
    if let Some(requested) = requested {
        note += &format!("; requested: {requested}");
        let half = requested.trim_start_matches("+/-").split('%').next();
        let half: Option<f64> = half.and_then(|half| half.parse().ok());
        if half.is_some_and(|half| width > 2.0 * half) {
            note += ", which was not reached";
        }
    }
    found.note(note);
}

fn wanted(is: Is, value: &str) -> Option<&'static str> {
    let number = value.parse::<f64>();
    match is {
        Word(_) | Switch(_) => None,
        Setting(_) if number.as_ref().is_ok_and(|number| number.fract() == 0.0) => None,
        Setting(_) => Some("a whole number"),
        _ if number.is_ok() => None,
        _ => Some("a number"),
    }
}

fn set(found: &mut Run, is: Is, value: &str, about: &About, units: Option<&str>) {
    let number = number(value);
    match is {
        Throughput => throughput(found, number, units.unwrap_or(about.rate_units), about),
        Rate(metric) => {
            let units = units.unwrap_or(about.end_rate_units());
            found.figure(metric, number.and_then(|rate| mbps(rate, units)));
        }
        Figure(metric) => found.figure(metric, number),
        Peak(metric) => {
            // netperf prints a busiest CPU of 0 for an endpoint that it did not measure.
            let end = about.end(metric.starts_with("sender"));
            let use_pct = about.get(&format!("{end}_cpu_util"));
            let is_measured = match use_pct.and_then(|text| text.parse::<f64>().ok()) {
                Some(use_pct) => use_pct >= 0.0,
                None => number.is_some_and(|peak| peak > 0.0),
            };
            found.figure(metric, number.filter(|_| is_measured));
        }
        Demand(metric) => {
            let assumed = match about.kind {
                Kind::Transactions => "usec/Tran",
                _ => "usec/KB",
            };
            let units = units.or(about.get("sd_units")).unwrap_or(assumed);
            let is_per_kib = units.starts_with("usec/K");
            found.figure(metric, number.filter(|_| is_per_kib));
        }
        Transaction(metric) => {
            found.figure(metric, number.filter(|_| about.kind != Kind::Stream));
        }
        Setting(factor) => found.setting(factor, number),
        Word("protocol") => found.level("protocol", value.to_ascii_lowercase()),
        Word(factor) => found.level(factor, value.trim_matches('"')),
        Switch(factor) if value == "1" => found.level(factor, "on"),
        Switch(_) => {}
    }
}

/// The general figure: the received bits of a stream, or transactions. Where the row has the
/// receiver's own figure, that is taken.
fn throughput(found: &mut Run, rate: Option<f64>, units: &str, about: &About) {
    if units.starts_with("Trans") {
        found.figure("transactions_per_second", rate);
        return;
    }
    let received = about.number(&format!("{}_recv_throughput", about.end(false)));
    if about.kind != Kind::Transactions && received.is_none() {
        found.figure("throughput_mbps", rate.and_then(|rate| mbps(rate, units)));
    }
}

/// Transactions per second of a test of transactions that reports bits, which are those of requests
/// and responses.
fn of_bits(found: &mut Run, about: &About) {
    let size = |factor: &str| match found.imported.levels.get(factor) {
        Some(Label::Number(bytes)) => Some(*bytes as f64),
        _ => None,
    };
    let bytes = size("request_size_bytes").zip(size("response_size_bytes"));
    let rate_mbps = about.number("throughput");
    let rate_mbps = rate_mbps.and_then(|rate| mbps(rate, about.rate_units));
    if found.get("transactions_per_second").is_none()
        && let Some((rate_mbps, (request, response))) = rate_mbps.zip(bytes)
    {
        let rate = rate_mbps * 1e6 / 8.0 / (request + response);
        found.figure("transactions_per_second", Some(rate));
    }
}

/// The share of lost datagrams, where both endpoints report their rates; TCP streams lose none.
fn loss(found: &mut Run, about: &About, banner: Option<&Banner>) {
    let tested = banner.and_then(|banner| banner.test.split('_').next());
    let protocol = about.get("protocol");
    let protocol = protocol.or(tested.filter(|name| *name != "omni"));
    let is_udp = protocol.map(|name| name.to_ascii_lowercase().starts_with("udp"));
    let has_mss = found.imported.levels.contains_key("mss_bytes");
    if about.kind == Kind::Transactions || !is_udp.unwrap_or(!has_mss) {
        return;
    }
    let rates = found
        .get("send_throughput_mbps")
        .zip(found.get("throughput_mbps"));
    let lost = rates
        .filter(|(sent, _)| *sent > 0.0)
        .map(|(sent, received)| 100.0 * (1.0 - received / sent).max(0.0));
    found.figure("loss_pct", lost);
}

struct About<'a> {
    /// The values by selector; of one that is there twice the first.
    values: HashMap<&'a str, &'a str>,
    kind: Kind,
    /// True where netperf's local endpoint sends; in transactions, where it sends the requests.
    is_sending: bool,
    rate_units: &'a str,
}

impl<'a> About<'a> {
    fn of(row: &'a Row, banner: Option<&Banner>) -> About<'a> {
        let mut values = HashMap::new();
        for (name, value) in row {
            values.entry(key(name).0).or_insert(value.trim());
        }
        values.retain(|_, value| !value.is_empty());
        let of = |selector| values.get(selector).copied();
        let (direction, units) = (of("direction"), of("throughput_units"));
        let by_units = || match units?.starts_with("Trans") {
            true => Some(Kind::Transactions),
            false => Some(Kind::Stream),
        };
        let by_request = || match of("request_size")?.parse::<f64>().ok()? {
            bytes if bytes > 0.0 => Some(Kind::Transactions),
            _ => Some(Kind::Stream),
        };
        let kind = match direction {
            Some(direction) if direction.contains('|') => Kind::Transactions,
            Some(_) => Kind::Stream,
            None => banner
                .map(Banner::kind)
                .or_else(by_request)
                .or_else(by_units)
                .unwrap_or(Kind::Unknown),
        };
        let is_sending = match direction {
            Some(direction) => direction.to_ascii_lowercase().starts_with("send"),
            None => banner.is_none_or(Banner::is_sending),
        };
        let assumed = match kind {
            Kind::Transactions => "Trans/s",
            _ => "10^6bits/s",
        };
        About {
            kind,
            is_sending,
            rate_units: units.unwrap_or(assumed),
            values,
        }
    }

    fn get(&self, selector: &str) -> Option<&'a str> {
        self.values.get(selector).copied()
    }

    fn number(&self, selector: &str) -> Option<f64> {
        number(self.get(selector)?)
    }

    /// netperf's word for the end that sends, or receives.
    fn end(&self, sends: bool) -> &'static str {
        match sends == self.is_sending {
            true => "local",
            false => "remote",
        }
    }

    /// Units of the rates of the endpoints: bits also where the test counts transactions.
    fn end_rate_units(&self) -> &str {
        match self.rate_units.starts_with("Trans") {
            true => "10^6bits/s",
            false => self.rate_units,
        }
    }
}

/// A measured number: not below 0, which means *not measured*.
fn number(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// A rate in Mbit/s; absent where its units are unknown.
pub(super) fn mbps(rate: f64, units: &str) -> Option<f64> {
    const UNITS: &[(&str, f64)] = &[
        ("10^3bits", 1e-3),
        ("10^6bits", 1.0),
        ("10^9bits", 1e3),
        ("kbits", 1e-3),
        ("mbits", 1.0),
        ("gbits", 1e3),
        ("kbytes", 8.0 * 1024.0 / 1e6),
        ("mbytes", 8.0 * 1_048_576.0 / 1e6),
        ("gbytes", 8.0 * 1_073_741_824.0 / 1e6),
        ("bytes", 8.0 / 1e6),
        ("bits", 1e-6),
    ];
    let units = units.trim().to_ascii_lowercase();
    let (_, factor) = UNITS.iter().find(|(known, _)| units.starts_with(known))?;
    Some(rate * factor)
}
