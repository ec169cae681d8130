//! Columns of netperf and of tables made from its outputs, and the metrics and settings that they
//! become.

mod about;
mod names;
mod values;

use bitcost_model::study::Label;

pub(crate) use about::{Banner, Kind};
pub(crate) use names::{METRICS, is_known, is_size, is_throughput, key, plain};
pub(crate) use values::{Row, mbps, number};

use self::about::{About, direction};
use self::names::{COLUMNS, End, Is};
use crate::Found;

/// Takes a row: known columns become metrics and levels, all columns become facts. The banner above
/// it supplies what the row does not say itself.
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

/// Transactions per second of a test of transactions that reports bits, which are those of requests
/// and responses.
pub(crate) fn of_bits(found: &mut Found, rate_mbps: f64) {
    let size = |factor: &str| match found.levels.get(factor) {
        Some(Label::Number(bytes)) => Some(*bytes as f64),
        _ => None,
    };
    let bytes = size("request_size_bytes")
        .zip(size("response_size_bytes"))
        .map(|(request, response)| request + response);
    let Some(bytes) = bytes.filter(|_| !found.run.figures.contains_key("transactions_per_second"))
    else {
        return;
    };
    found.figure(
        "transactions_per_second",
        Some(rate_mbps * 1e6 / 8.0 / bytes),
    );
    found.run.notes.push(
        "its transactions per second are its bits per second ÷ those of request and response"
            .to_owned(),
    );
}

/// The expected form of an invalid value; `None` where the value is valid, or may be anything.
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
            let is_of_flow =
                (end == End::Local) == (about.is_sending == (metric == "send_throughput_mbps"));
            let rate = number(value).filter(|_| is_of_flow);
            found.figure(
                metric,
                rate.and_then(|rate| mbps(rate, units.unwrap_or(about.end_rate_units()))),
            );
        }
        Is::OfEnd(end, [of_sender, of_receiver]) => {
            let metric = if about.is_sender(end) {
                of_sender
            } else {
                of_receiver
            };
            let is_demand = metric.ends_with("us_per_kib");
            let is_taken = if is_demand {
                units.unwrap_or(about.demand_units).starts_with("usec/K")
            } else {
                !metric.contains("peak") || about.has_cpu(end, number(value))
            };
            found.figure(metric, number(value).filter(|_| is_taken));
        }
        Is::Sender(end, metric) => {
            found.figure(metric, number(value).filter(|_| about.is_sender(end)))
        }
        Is::Transaction(metric) => {
            found.figure(metric, number(value).filter(|_| about.kind != Kind::Stream))
        }
        Is::Setting(end, factor) => {
            let is_of_flow = end.is_none_or(|(end, sends)| about.is_sender(end) == sends);
            if let Some(whole) =
                number(value).filter(|whole| is_of_flow && (1.0..9e15).contains(whole))
            {
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

/// The general figure: the received bits of a stream, or transactions. Where the row has the
/// receiver's own figure, that is taken.
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

/// Lost datagrams, where both endpoints report their counts; TCP streams have none.
fn loss(found: &mut Found, about: &About) {
    if about.is_of_datagrams(found) && !found.run.figures.contains_key("loss_pct") {
        let of = |name: &str| found.run.figures.get(name).copied();
        let sent = of("send_throughput_mbps").filter(|sent| *sent > 0.0);
        let lost = sent
            .zip(of("throughput_mbps"))
            .map(|(sent, received)| 100.0 * (1.0 - received / sent).max(0.0));
        found.figure("loss_pct", lost);
    }
}
