//! `table.toml`: the cases, the contenders and the targets of a comparison.

use std::collections::BTreeMap;

use bitcost_model::conditions::Workload;
use bitcost_model::workload::WORKLOADS;
use bitcost_stats::Interval;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    cases: Vec<Sizes>,
    pub contenders: Vec<Contender>,
    pub targets: Vec<Target>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sizes {
    workload: String,
    sizes: Vec<u32>,
    quick: Vec<u32>,
    rate_bps: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Case {
    pub workload: Workload,
    /// Such as `udp/1472`.
    pub name: String,
    /// Bytes of a message, or of a request and of its response.
    pub size: u32,
    /// MTU of the path, in bytes.
    pub mtu_bytes: u32,
    /// Bit/s of user data to keep to; absent: as fast as possible.
    pub rate_bps: Option<u64>,
}

impl Case {
    /// The number by which the CPU time of one message or transaction is divided: its KiB for a
    /// stream, otherwise 1.
    pub fn cpu_units(&self) -> f64 {
        match self.workload {
            Workload::TcpStream | Workload::UdpStream => f64::from(self.size) / 1024.0,
            _ => 1.0,
        }
    }

    /// Whether it is among these; an empty list has all.
    fn is_among(&self, names: &[String]) -> bool {
        let is_it = |name: &String| {
            self.name == *name || name.ends_with('/') && self.name.starts_with(name)
        };
        names.is_empty() || names.iter().any(is_it)
    }
}

/// A program in a way of using it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contender {
    pub name: String,
    #[serde(default)]
    pub about: String,
    /// Of ours: the options of `bitcost test`.
    pub options: Option<String>,
    #[serde(default)]
    pub version: String,
    /// Whether it counts whole seconds only.
    #[serde(default)]
    pub whole_seconds: bool,
    #[serde(default)]
    least: u32,
    #[serde(default)]
    cases: Vec<String>,
    #[serde(default)]
    server: BTreeMap<String, String>,
    #[serde(default)]
    client: BTreeMap<String, String>,
}

impl Contender {
    /// Whether it takes part in a case.
    pub fn fits(&self, case: &Case) -> bool {
        let has_room = case.workload != Workload::UdpStream || case.size >= self.least;
        let is_able = self.options.is_some()
            || case.rate_bps.is_none() && has_room && self.commands(case.workload).is_some();
        is_able && case.is_among(&self.cases)
    }

    /// The lines of its server and of its client.
    pub fn commands(&self, workload: Workload) -> Option<[&str; 2]> {
        let name = workload.info().short_name;
        let server = self.server.get(name).or(self.server.get("*"))?;
        Some([server, self.client.get(name)?])
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    pub title: String,
    at_least: Option<f64>,
    at_most: Option<f64>,
    #[serde(default = "default_contender")]
    pub ours: String,
    /// None: the figure itself is bounded.
    #[serde(default)]
    pub rivals: Vec<String>,
    #[serde(default)]
    pub figure: Which,
    #[serde(default)]
    pub how: How,
    #[serde(default)]
    cases: Vec<String>,
}

/// The contender to which our others are compared.
pub const DEFAULT: &str = "bitcost";

fn default_contender() -> String {
    DEFAULT.to_owned()
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// Messages or transactions per second.
    #[default]
    Rate,
    Cpu,
    RateOffPct,
    PacingCpuPct,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    #[default]
    Each,
    Mean,
    Fastest,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Met,
    /// The value does not keep the bound, but its interval reaches to the bound.
    CannotTell,
    /// Neither the value nor any other value of its interval keeps the bound.
    Missed,
}

impl Verdict {
    pub const ALL: [Verdict; 3] = [Verdict::Met, Verdict::Missed, Verdict::CannotTell];

    pub fn label(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::CannotTell => "cannot tell",
            Verdict::Missed => "missed",
        }
    }
}

impl Target {
    pub fn is_of(&self, case: &Case) -> bool {
        case.is_among(&self.cases)
    }

    pub fn wanted(&self) -> String {
        let least = self.at_least.map(|bound| format!("at least {bound}"));
        let most = self.at_most.map(|bound| format!("at most {bound}"));
        least.or(most).unwrap_or_default()
    }

    pub fn judge(&self, found: Interval) -> Verdict {
        let keeps = |value: f64| {
            self.at_least.is_none_or(|bound| value >= bound)
                && self.at_most.is_none_or(|bound| value <= bound)
        };
        let ends = [found.low, found.high];
        match keeps(found.value) {
            true => Verdict::Met,
            false if ends.into_iter().flatten().any(keeps) => Verdict::CannotTell,
            false => Verdict::Missed,
        }
    }
}

impl Table {
    pub fn read() -> Result<Table, toml_edit::de::Error> {
        toml_edit::de::from_str(include_str!("table.toml"))
    }

    /// Every case, or those of a quick comparison, whose name begins as requested.
    pub fn cases(&self, is_quick: bool, only: &str) -> Vec<Case> {
        let mut cases = Vec::new();
        for of in &self.cases {
            let rows = WORKLOADS.iter();
            let mut rows = rows.filter(|row| row.short_name == of.workload);
            let workload = rows.next().expect("a workload of the table").workload;
            let paced = if of.rate_bps.is_some() { "paced-" } else { "" };
            let sizes = if is_quick { &of.quick } else { &of.sizes };
            let is_large = |size| workload == Workload::UdpStream && size > 1472;
            cases.extend(sizes.iter().map(|size| Case {
                workload,
                name: format!("{paced}{}/{size}", of.workload),
                size: *size,
                mtu_bytes: if is_large(*size) { 9000 } else { 1500 },
                rate_bps: of.rate_bps,
            }));
        }
        cases.retain(|case| case.name.starts_with(only));
        cases
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_and_an_interval_that_reaches_the_bound_cannot_tell() {
        let table = Table::read().expect("the table");
        for case in table.cases(false, "") {
            let fits = table.contenders.iter().filter(|one| one.fits(&case));
            assert!(fits.count() > 0, "{case:?}");
        }
        let judged = |target: &Target, value, low, high| {
            let (low, high) = (Some(low), Some(high));
            target.judge(Interval { value, low, high }).label()
        };
        let [least, most, ..] = &table.targets[..] else {
            panic!("two targets")
        };
        assert_eq!(judged(least, 0.99, 0.9, 1.1), "met");
        assert_eq!(judged(least, 0.98, 0.9, 1.0), "cannot tell");
        assert_eq!(judged(least, 0.9, 0.8, 0.98), "missed");
        assert_eq!(judged(most, 1.02, 1.0, 1.1), "cannot tell");
        assert_eq!(judged(most, 1.1, 1.05, 1.2), "missed");
    }
}
