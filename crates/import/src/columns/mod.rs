//! Columns of netperf and of tables made from its outputs, and what of ours they are.

mod about;
mod names;
mod titles;

use model::study::Label;

pub(crate) use about::{Banner, Kind};
pub(crate) use names::{METRICS, is_known, is_size, is_throughput, key, plain};

use self::about::About;
use self::names::{COLUMNS, End, Is};
use crate::Found;

/// A row's names, in the form of [`plain`], with what stands below them.
pub(crate) type Row = [(String, String)];

/// Takes a row: known columns become metrics and levels, all become facts. What a row does not say of itself the banner over
/// it may.
pub(crate) fn take(found: &mut Found, row: &Row, banner: Option<&Banner>) {
    let about = About::of(row, banner);
    for (name, value) in row {
        let value = value.trim();
        if value.is_empty() {
            continue;
        }
        found.fact(name, value);
        let (key, units) = key(name);
        if let Some((_, is)) = COLUMNS.iter().find(|(known, _)| *known == key) {
            set(found, *is, value, &about, units);
        }
    }
    if about.has_direction {
        direction(found, about.kind, about.is_sending);
    }
    if let Some(rate) = about.bits_of_transactions {
        of_bits(found, rate);
    }
    found.run.notes.extend(about.note());
    loss(found, &about);
}

/// Transactions per second where a test of transactions tells its bits, which are those of requests and responses.
pub(crate) fn of_bits(found: &mut Found, rate_mbps: f64) {
    let size = |factor: &str| match found.levels.get(factor) {
        Some(Label::Number(bytes)) => Some(*bytes as f64),
        _ => None,
    };
    let bytes =
        size("request_size_bytes").zip(size("response_size_bytes")).map(|(request, response)| request + response);
    let Some(bytes) = bytes.filter(|_| !found.run.figures.contains_key("transactions_per_second")) else { return };
    found.figure("transactions_per_second", Some(rate_mbps * 1e6 / 8.0 / bytes));
    found
        .run
        .notes
        .push("its transactions per second are its bits per second ÷ those of request and response".to_owned());
}

/// Which way the data of a stream goes, by iperf3's words; requests and responses go both.
pub(crate) fn direction(found: &mut Found, kind: Kind, is_sending: bool) {
    if kind == Kind::Stream {
        let word = if is_sending { "forward" } else { "reverse" };
        found.level("direction", Label::Text(word.to_owned()));
    }
}

/// What a value should be that is none: nothing where it is one, or may be anything.
pub(crate) fn wanted(name: &str, value: &str) -> Option<&'static str> {
    let (key, _) = key(name);
    let (_, is) = COLUMNS.iter().find(|(known, _)| *known == key)?;
    let number = value.parse::<f64>();
    match is {
        Is::Word(_) | Is::Switch(_) | Is::Congestion(_) => None,
        Is::Setting(..) if number.as_ref().is_ok_and(|number| number.fract() == 0.0) => None,
        Is::Setting(..) => Some("a whole number"),
        _ if number.is_ok() => None,
        _ => Some("a number"),
    }
}

fn set(found: &mut Found, is: Is, value: &str, about: &About, units: Option<&str>) {
    match is {
        Is::Throughput => throughput(found, number(value), about, units),
        Is::Rate(end, metric) => {
            let is_of_flow = (end == End::Local) == (about.is_sending == (metric == "send_throughput_mbps"));
            let rate = number(value).filter(|_| is_of_flow);
            found.figure(metric, rate.and_then(|rate| mbps(rate, units.unwrap_or(about.end_rate_units()))));
        }
        Is::OfEnd(end, [of_sender, of_receiver]) => {
            let metric = if about.is_sender(end) { of_sender } else { of_receiver };
            let is_demand = metric.ends_with("us_per_kib");
            let is_taken = if is_demand {
                units.unwrap_or(about.demand_units).starts_with("usec/K")
            } else {
                !metric.contains("peak") || about.has_cpu(end, number(value))
            };
            found.figure(metric, number(value).filter(|_| is_taken));
        }
        Is::Sender(end, metric) => found.figure(metric, number(value).filter(|_| about.is_sender(end))),
        Is::Transaction(metric) => found.figure(metric, number(value).filter(|_| about.kind != Kind::Stream)),
        Is::Setting(end, factor) => {
            let is_of_flow = end.is_none_or(|(end, sends)| about.is_sender(end) == sends);
            if let Some(whole) = number(value).filter(|whole| is_of_flow && (1.0..9e15).contains(whole)) {
                found.level(factor, Label::Number(whole as i64));
            }
        }
        Is::Word("protocol") => found.level("protocol", Label::Text(value.to_ascii_lowercase())),
        Is::Word(factor) => found.level(factor, Label::Text(value.trim_matches('"').to_owned())),
        Is::Switch(factor) if value == "1" => found.level(factor, Label::Text("on".to_owned())),
        Is::Congestion(end) if about.is_sender(end) => {
            found.level("congestion_control", Label::Text(value.to_owned()));
        }
        Is::Switch(_) | Is::Congestion(_) => {}
    }
}

/// The general figure: bits that arrived of a stream, or transactions. Where the row has the receiver's own, that is taken.
fn throughput(found: &mut Found, value: Option<f64>, about: &About, units: Option<&str>) {
    let units = units.unwrap_or(about.rate_units);
    let Some(rate) = value else { return };
    match about.kind {
        _ if units.starts_with("Trans") => found.figure("transactions_per_second", Some(rate)),
        Kind::Transactions => {}
        Kind::Stream | Kind::Unknown if about.has_received => {}
        Kind::Stream | Kind::Unknown => found.figure("throughput_mbps", mbps(rate, units)),
    }
}

/// Datagrams lost, where both ends say how much; a stream that arrives has nothing to lose.
fn loss(found: &mut Found, about: &About) {
    if about.is_of_datagrams(found) && !found.run.figures.contains_key("loss_pct") {
        let of = |name: &str| found.run.figures.get(name).copied();
        let sent = of("send_throughput_mbps").filter(|sent| *sent > 0.0);
        let lost = sent.zip(of("throughput_mbps")).map(|(sent, received)| 100.0 * (1.0 - received / sent).max(0.0));
        found.figure("loss_pct", lost);
    }
}

/// A number that was measured: not below 0, which stands for *not measured*.
pub(crate) fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// A rate in Mbit/s; absent where its units are not known.
pub(crate) fn mbps(rate: f64, units: &str) -> Option<f64> {
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
    UNITS.iter().find(|(known, _)| units.starts_with(known)).map(|(_, factor)| rate * factor)
}
