//! The subject of a row of columns: the direction of the data, the kind of the test, and the units
//! of its values.

use bitcost_model::study::Label;

use super::names::{End, is_throughput, key};
use super::values::{Row, mbps, number};
use crate::Found;

/// The kind of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Data is sent in one direction.
    Stream,
    /// Requests and responses, or connections.
    Transactions,
    /// The kind is unknown.
    Unknown,
}

/// The line above a result: the test's name and some of its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Banner {
    test: String,
    is_nodelay: bool,
    burst: Option<i64>,
}

impl Banner {
    /// The banner in a line; absent for another line: `MIGRATED TCP STREAM TEST from … : nodelay :
    /// demo : first burst 4`.
    pub(crate) fn of(line: &str) -> Option<Banner> {
        let line = line.trim_start_matches("MIGRATED ");
        let (name, rest) = line
            .split_once(" TEST from ")
            .or_else(|| line.split_once(" TEST to "))?;
        let is_name = name.split(' ').all(|word| {
            !word.is_empty()
                && word
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "/_|".contains(c))
        });
        let test = name.replace(['/', ' '], "_").to_ascii_lowercase();
        let test = test
            .replace("request_response", "rr")
            .replace("send|recv", "rr")
            .replace('|', "_");
        let mut words = rest.split(" : ").map(str::trim);
        let burst = words
            .clone()
            .find_map(|word| word.strip_prefix("first burst ")?.parse().ok());
        is_name.then(|| Banner {
            test,
            is_nodelay: words.any(|word| word == "nodelay"),
            burst,
        })
    }

    pub(crate) fn kind(&self) -> Kind {
        if self.test.ends_with("rr") || self.test.contains("connect") {
            Kind::Transactions
        } else {
            Kind::Stream
        }
    }

    /// False where netperf's local endpoint receives.
    pub(crate) fn is_sending(&self) -> bool {
        !self.test.contains("maerts") && !self.test.ends_with("receive")
    }

    pub(crate) fn is_udp_stream(&self) -> bool {
        self.test.contains("udp_stream")
    }

    /// Adds the settings that it names.
    pub(crate) fn levels(&self, found: &mut Found) {
        found.level("test", Label::Text(self.test.clone()));
        if !found.levels.contains_key("direction") {
            direction(found, self.kind(), self.is_sending());
        }
        if self.is_nodelay {
            found.level("nodelay", Label::Text("on".to_owned()));
        }
        if let Some(burst) = self.burst.filter(|burst| *burst > 0) {
            found.level("burst_transactions", Label::Number(burst));
        }
    }
}

/// Sets the direction of a stream in iperf3's words; requests and responses have both directions.
pub(super) fn direction(found: &mut Found, kind: Kind, is_sending: bool) {
    if kind == Kind::Stream {
        let word = if is_sending { "forward" } else { "reverse" };
        found.level("direction", Label::Text(word.to_owned()));
    }
}

/// The subject of a row.
pub(super) struct About<'a> {
    pub(super) kind: Kind,
    /// True where netperf's local endpoint sends; in transactions, where it sends the requests.
    pub(super) is_sending: bool,
    /// True where the row names the direction.
    pub(super) has_direction: bool,
    pub(super) rate_units: &'a str,
    pub(super) demand_units: &'a str,
    /// True where the receiving endpoint reports its own rate.
    pub(super) has_received: bool,
    /// CPU use as each endpoint reports it, in per cent; absent where the row has no such column.
    cpu: [Option<f64>; 2],
    protocol: Option<String>,
    /// The rate of a test of transactions that reports bits, in Mbit/s.
    pub(super) bits_of_transactions: Option<f64>,
    /// True where units were assumed that the row does not name.
    is_assumed: bool,
}

impl<'a> About<'a> {
    pub(super) fn of(row: &'a Row, banner: Option<&Banner>) -> About<'a> {
        let of = |wanted: &str| {
            let column = row
                .iter()
                .find(|(name, value)| key(name).0 == wanted && !value.trim().is_empty());
            column.map(|(_, value)| value.trim())
        };
        let units = of("throughput_units");
        let kind = kind(of("direction"), banner, of("request_size"), units);
        let is_sending = match of("direction") {
            Some(direction) => direction.to_ascii_lowercase().starts_with("send"),
            None => banner.is_none_or(Banner::is_sending),
        };
        let default = if kind == Kind::Transactions {
            ["Trans/s", "usec/Tran"]
        } else {
            ["10^6bits/s", "usec/KB"]
        };
        let receiving = if is_sending {
            "remote_recv_throughput"
        } else {
            "local_recv_throughput"
        };
        let has_bare_rate = row.iter().any(|(name, value)| {
            is_throughput(name) && key(name).1.is_none() && number(value).is_some()
        });
        let protocol = of("protocol").map(str::to_ascii_lowercase);
        let tested = banner
            .and_then(|banner| banner.test.split('_').next())
            .filter(|name| *name != "omni");
        About {
            kind,
            is_sending,
            has_direction: of("direction").is_some(),
            rate_units: units.unwrap_or(default[0]),
            demand_units: of("sd_units").unwrap_or(default[1]),
            has_received: of(receiving).and_then(number).is_some(),
            cpu: ["local_cpu_util", "remote_cpu_util"].map(|name| of(name)?.parse().ok()),
            protocol: protocol.or(tested.map(str::to_owned)),
            bits_of_transactions: units
                .filter(|_| kind == Kind::Transactions)
                .and_then(|units| mbps(of("throughput").and_then(number)?, units)),
            is_assumed: units.is_none() && has_bare_rate,
        }
    }

    pub(super) fn is_sender(&self, end: End) -> bool {
        (end == End::Local) == self.is_sending
    }

    /// Units of the rates of the endpoints: bits also where the test counts transactions.
    pub(super) fn end_rate_units(&self) -> &str {
        if self.rate_units.starts_with("Trans") {
            "10^6bits/s"
        } else {
            self.rate_units
        }
    }

    /// True where the CPU of an endpoint was measured. netperf prints a busiest CPU of 0 for an
    /// endpoint that it did not measure.
    pub(super) fn has_cpu(&self, end: End, peak: Option<f64>) -> bool {
        match self.cpu[usize::from(end == End::Remote)] {
            Some(use_pct) => use_pct >= 0.0,
            None => peak.is_some_and(|peak| peak > 0.0),
        }
    }

    /// True for a stream of datagrams: by its protocol, or where the row gives neither a protocol
    /// nor a segment size.
    pub(super) fn is_of_datagrams(&self, found: &Found) -> bool {
        let is_udp = self
            .protocol
            .as_ref()
            .map(|protocol| protocol.starts_with("udp"));
        self.kind != Kind::Transactions && is_udp.unwrap_or(!found.levels.contains_key("mss_bytes"))
    }

    /// The caveat of the rates.
    pub(super) fn note(&self) -> Option<String> {
        let units = self.rate_units;
        self.is_assumed.then(|| {
            format!("the file does not state the units of its rates; netperf's default units are assumed ({units})")
        })
    }
}

fn kind(
    direction: Option<&str>,
    banner: Option<&Banner>,
    request: Option<&str>,
    units: Option<&str>,
) -> Kind {
    let by_request = || match request?.parse::<f64>().ok()? {
        bytes if bytes > 0.0 => Some(Kind::Transactions),
        _ => Some(Kind::Stream),
    };
    let by_units = || {
        units.map(|units| {
            if units.starts_with("Trans") {
                Kind::Transactions
            } else {
                Kind::Stream
            }
        })
    };
    match direction {
        Some(direction) if direction.contains('|') => Kind::Transactions,
        Some(_) => Kind::Stream,
        None => banner
            .map(Banner::kind)
            .or_else(by_request)
            .or_else(by_units)
            .unwrap_or(Kind::Unknown),
    }
}
