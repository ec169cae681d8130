//! The columns of netperf's outputs and of tables made from them, by name, and the figures and
//! settings that their values become.

use std::collections::HashMap;
use std::sync::LazyLock;

use bitcost_model::study::Label;

use super::banner::Banner;
use crate::run::{Run, mbps};

/// The names of a row, in the form of [`plain`], with its values.
pub(super) type Row = Vec<(String, String)>;

/// Units that a name may end with, as netperf writes them.
const UNITS: [(&str, &str); 5] = [
    ("_mbps", "10^6bits/s"),
    ("_us_per_kib", "usec/KB"),
    ("_pct", "%"),
    ("_usec", "usec"),
    ("_bytes", "bytes"),
];

/// By every name that the file has, its selector, and what is taken of it; of a name that is there
/// twice the first.
static COLUMNS: LazyLock<HashMap<&str, (&str, &str)>> = LazyLock::new(|| {
    let mut columns = HashMap::new();
    let lines = include_str!("names.txt").lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        let (names, taken) = line.split_once(" = ").unwrap_or((line, ""));
        let selector = names.split(' ').next().unwrap_or_default();
        for name in names.split(' ') {
            columns.entry(name).or_insert((selector, taken));
        }
    }
    columns
});

/// A name in lower case, words joined by `_`: `Local CPU Util %` is `local_cpu_util`.
pub(super) fn plain(name: &str) -> String {
    let words: Vec<&str> = name
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    words.join("_").to_ascii_lowercase()
}

/// A known column by a name in the form of [`plain`], with the units that the name contains.
struct Column {
    selector: &'static str,
    taken: &'static str,
    units: Option<&'static str>,
}

impl Column {
    fn of(name: &str) -> Option<Column> {
        let with = |name: &str, units| {
            let (selector, taken) = *COLUMNS.get(name)?;
            Some(Column {
                selector,
                taken,
                units,
            })
        };
        let of_units = |(end, units)| with(name.strip_suffix(end)?, Some(units));
        with(name, None).or_else(|| UNITS.into_iter().find_map(of_units))
    }

    /// What is taken of it, and as which figure or level; `is_sending` where netperf's local endpoint
    /// sends.
    fn target(&self, is_sending: bool) -> Option<(&'static str, &'static str)> {
        let (is, targets) = self.taken.split_once(' ').unwrap_or((self.taken, ""));
        let ends = [["local_", "ls"], ["remote_", "rs"]][usize::from(is_sending)];
        let receives = ends.iter().any(|end| self.selector.starts_with(end));
        let target = targets.split(' ').nth(usize::from(receives))?;
        (!is.is_empty() && target != "-").then_some((is, target))
    }
}

/// The selector of a name; an unknown name is returned unchanged.
fn key(name: &str) -> &str {
    Column::of(name).map_or(name, |column| column.selector)
}

pub(super) fn is_known(name: &str) -> bool {
    Column::of(name).is_some()
}

pub(super) fn is_size(name: &str) -> bool {
    ["local_send_size", "remote_send_size", "transport_mss"].contains(&key(name))
}

pub(super) fn is_throughput(name: &str) -> bool {
    is_known(name) && key(name).ends_with("throughput")
}

/// Takes a row: known columns become metrics and levels. The banner above it supplies what the row
/// does not say itself.
pub(super) fn take(found: &mut Run, row: &Row, banner: Option<&Banner>) {
    let about = About::of(row, banner);
    let mut has_rate = false;
    for (name, value) in row.iter().filter(|(_, value)| !value.trim().is_empty()) {
        if let Some(column) = Column::of(name) {
            let is_rate = column.selector.ends_with("throughput") && column.units.is_none();
            has_rate |= is_rate && number(value).is_some();
            about.set(found, &column, value.trim());
        }
    }
    let is_stream = about.is_transactions == Some(false);
    if is_stream && (about.get("direction").is_some() || banner.is_some()) {
        let words = ["reverse", "forward"];
        found.level("direction", words[usize::from(about.is_sending)]);
    }
    about.of_bits(found);
    if has_rate && about.get("throughput_units").is_none() {
        found.note(format!(
            "the file does not state the units of its rates; netperf's default units are assumed ({})",
            about.rate_units
        ));
    }
    about.loss(found, banner);
    about.confidence(found, banner);
}

struct About<'a> {
    /// The values by selector; of one that is there twice the first.
    values: HashMap<&'a str, &'a str>,
    /// Absent where nothing says it.
    is_transactions: Option<bool>,
    /// True where netperf's local endpoint sends; in transactions, where it sends the requests.
    is_sending: bool,
    rate_units: &'a str,
}

impl<'a> About<'a> {
    fn of(row: &'a Row, banner: Option<&Banner>) -> About<'a> {
        let mut values = HashMap::new();
        for (name, value) in row {
            values.entry(key(name)).or_insert(value.trim());
        }
        values.retain(|_, value| !value.is_empty());
        let of = |selector| values.get(selector).copied();
        let (direction, units) = (of("direction"), of("throughput_units"));
        let by_request = || Some(of("request_size")?.parse::<f64>().ok()? > 0.0);
        let by_direction = direction.map(|direction| direction.contains('|'));
        let is_transactions = by_direction
            .or(banner.map(Banner::is_transactions))
            .or_else(by_request)
            .or(units.map(|units| units.starts_with("Trans")));
        let assumed = ["10^6bits/s", "Trans/s"][usize::from(is_transactions == Some(true))];
        let is_sending = match direction {
            Some(direction) => direction.to_ascii_lowercase().starts_with("send"),
            None => banner.is_none_or(Banner::is_sending),
        };
        About {
            is_transactions,
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

    fn set(&self, found: &mut Run, column: &Column, value: &str) {
        let Some((is, target)) = column.target(self.is_sending) else {
            return;
        };
        let (number, units) = (number(value), column.units);
        let figure = match is {
            "throughput" => {
                return self.throughput(found, number, units.unwrap_or(self.rate_units));
            }
            "setting" => return found.setting(target, number),
            "word" if target == "protocol" => {
                return found.level(target, value.to_ascii_lowercase());
            }
            "word" => return found.level(target, value.trim_matches('"')),
            "switch" if value == "1" => return found.level(target, "on"),
            "switch" => return,
            "rate" => {
                // Bits also where the test counts transactions.
                let of_row = Some(self.rate_units).filter(|units| !units.starts_with("Trans"));
                let units = units.or(of_row).unwrap_or("10^6bits/s");
                number.and_then(|rate| mbps(rate, units))
            }
            "demand" => {
                let is_count = usize::from(self.is_transactions == Some(true));
                let units = units.or(self.get("sd_units"));
                let units = units.unwrap_or(["usec/KB", "usec/Tran"][is_count]);
                number.filter(|_| units.starts_with("usec/K"))
            }
            // netperf prints a busiest CPU of 0 for an endpoint that it did not measure.
            "peak" => {
                let mean = self.get(&column.selector.replace("_peak", ""));
                let mean = mean.and_then(|mean| mean.parse::<f64>().ok());
                number.filter(|peak| mean.map_or(*peak > 0.0, |mean| mean >= 0.0))
            }
            "transaction" => number.filter(|_| self.is_transactions != Some(false)),
            _ => number,
        };
        found.figure(target, figure);
    }

    /// The general figure: the received bits of a stream, or transactions. Where the row has the
    /// receiver's own figure, that is taken.
    fn throughput(&self, found: &mut Run, rate: Option<f64>, units: &str) {
        if units.starts_with("Trans") {
            return found.figure("transactions_per_second", rate);
        }
        let end = if self.is_sending { "remote" } else { "local" };
        let received = self.number(&format!("{end}_recv_throughput"));
        if self.is_transactions != Some(true) && received.is_none() {
            found.figure("throughput_mbps", rate.and_then(|rate| mbps(rate, units)));
        }
    }

    /// Transactions per second of a test of transactions that reports bits, which are those of
    /// requests and responses.
    fn of_bits(&self, found: &mut Run) {
        let size = |factor: &str| match found.imported.levels.get(factor) {
            Some(Label::Number(bytes)) => Some(*bytes as f64),
            _ => None,
        };
        let bytes = size("request_size_bytes").zip(size("response_size_bytes"));
        let rate = self.number("throughput");
        let rate = rate.and_then(|rate| mbps(rate, self.rate_units)).zip(bytes);
        let is_missing = found.get("transactions_per_second").is_none();
        if self.is_transactions == Some(true) && is_missing {
            let per_second = |(mbps, (request, response))| mbps * 1e6 / 8.0 / (request + response);
            found.figure("transactions_per_second", rate.map(per_second));
        }
    }

    /// The share of lost datagrams, where both endpoints report their rates; TCP streams lose none.
    fn loss(&self, found: &mut Run, banner: Option<&Banner>) {
        let tested = banner.and_then(|banner| banner.test.split('_').next());
        let protocol = self.get("protocol");
        let protocol = protocol.or(tested.filter(|name| *name != "omni"));
        let is_udp = match protocol {
            Some(name) => name.to_ascii_lowercase().starts_with("udp"),
            None => !found.imported.levels.contains_key("mss_bytes"),
        };
        let sent = found.get("send_throughput_mbps").filter(|sent| *sent > 0.0);
        let rates = sent.zip(found.get("throughput_mbps"));
        let rates = rates.filter(|_| is_udp && self.is_transactions != Some(true));
        let lost = |(sent, received): (f64, f64)| 100.0 * (1.0 - received / sent).max(0.0);
        found.figure("loss_pct", rates.map(lost));
    }

    /// The width that netperf itself gives the interval of its result (`-I`), and whether that is
    /// what was requested.
    fn confidence(&self, found: &mut Run, banner: Option<&Banner>) {
        let of = |selector| self.number(selector).filter(|value| *value > 0.0);
        let Some(width) = of("throughput_confid") else {
            return;
        };
        let rates = ["transactions_per_second", "throughput_mbps"];
        if let Some(rate) = rates.into_iter().find(|name| found.get(name).is_some()) {
            found.imported.widths_pct.insert(rate.to_owned(), width);
        }
        // `+/-2.500% @ 99%`
        let requested = banner.and_then(|banner| banner.confidence.as_deref());
        let part = |at: usize| {
            let part = requested?.trim_start_matches("+/-").split("% @ ").nth(at)?;
            part.trim_end_matches('%').parse::<f64>().ok()
        };
        found.imported.level_pct = of("confidence_level").or_else(|| part(1));
        let mut note = format!("netperf's confidence interval (-I): {width} % wide");
        if let Some(iterations) = of("confidence_iteration") {
            note += &format!(", after {iterations} iterations");
        }
        if let Some(requested) = requested {
            note += &format!("; requested: {requested}");
        }
        if part(0).is_some_and(|half| width > 2.0 * half) {
            note += ", which was not reached";
        }
        found.note(note);
    }
}

/// A measured number: not below 0, which means *not measured*.
fn number(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}
