//! The test that an experiment changes: its conditions, its verdict, its hosts, and what its runs had of each resource.

use bitcost_model::conditions::Conditions;
use bitcost_model::event::EndpointDescription;
use bitcost_model::host_settings::HostSetting;
use bitcost_model::machine::HostDescription;
use bitcost_model::record::Role;
use bitcost_model::search::Goal;
use bitcost_model::shell::shell_word;
use bitcost_model::study::LabSpec;
use bitcost_stats::Interval;

use crate::cells::RunRow;
use crate::explain::{ExplainedCell, Limiter, Load, Tried};
use crate::metrics::{Metric, metric};
use crate::summary::Summary;

/// The least window and warm-up of a short run, in milliseconds, or in round trips where these take longer.
const WINDOW_MS: f64 = 500.0;
const WARMUP_MS: f64 = 100.0;
const WINDOW_RTTS: f64 = 10.0;
const WARMUP_RTTS: [f64; 2] = [5.0, 10.0];

/// Transactions that a window lasts for at least, so that one more or less changes their number by little.
const TRANSACTIONS: f64 = 20.0;

/// The longest window and warm-up, in milliseconds.
const MOST_MS: f64 = 2000.0;

/// With more segments retransmitted than this share, a stream loses segments.
const LOSSY: f64 = 0.001;

/// A cheaper change has at least this share of the unchanged run's rate.
const SAME_RATE: f64 = 0.97;

/// Warm-up and window of a trial of a search for the rate, for the least cost, and of one that decides, in milliseconds.
pub(super) const RATE_MS: [u32; 2] = [6, 20];
const COST_MS: [u32; 2] = [6, 60];
pub(super) const LONG_MS: [u32; 2] = [20, 80];

/// The test that an experiment changes.
#[derive(Clone, Debug, Default)]
pub struct Base {
    pub conditions: Conditions,
    /// What a run of it had of each resource.
    pub load: Load,
    /// Its throughput, in the unit of the workload's main metric.
    pub rate: f64,
    /// Absent between named hosts.
    pub lab: Option<LabSpec>,
    /// The limiter that the counters name; absent where they name none.
    pub named: Option<Limiter>,
    /// The limiters that come next.
    pub next: Vec<Limiter>,
    /// What changes are to make better; absent where they are to show what limits.
    pub goal: Option<Goal>,
    ends: Vec<EndpointDescription>,
    /// Warm-up and window of a trial, in milliseconds, where its options are searched, before any test.
    pub(super) trial_ms: Option<[u32; 2]>,
}

/// Where a command is run.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Absent where it is for both hosts.
    pub host: Option<Role>,
    pub words: String,
}

/// A run, changed or not, as a row of the table compares it.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    pub conditions: &'a Conditions,
    pub load: &'a Load,
}

impl Side<'_> {
    /// The ratio of a value in another run to that in this one.
    pub(super) fn ratio(&self, other: &Side, of: fn(&Load) -> Option<f64>) -> Option<f64> {
        let ratio = of(other.load)? / of(self.load)?;
        Some(ratio).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
    }
}

/// The metric that an experiment judges by.
pub(crate) fn rate_metric(conditions: &Conditions) -> Option<&'static Metric> {
    metric(match conditions.workload.is_transactional() {
        true => "transactions_per_second",
        false => "throughput_mbps",
    })
}

/// What an experiment judges by, from the figures of a run: of transactions at a requested rate how many would follow one
/// another, by their latency.
pub(super) fn rate_of(
    conditions: &Conditions,
    figure: impl Fn(&str) -> Option<f64>,
) -> Option<f64> {
    match conditions.transaction_rate {
        Some(_) => Some(1e6 * f64::from(conditions.flows) / figure("latency_mean_us")?),
        None => figure(rate_metric(conditions)?.name),
    }
}

/// How much better a change is, as a ratio over 1; absent where its cost is not known, or the rate not kept. A search
/// looks for the least cost at any rate.
pub(super) fn gain(goal: Goal, is_search: bool, tried: &Tried) -> Option<Interval> {
    let keeps_rate = is_search || tried.rate.value >= SAME_RATE;
    match goal {
        Goal::Rate => Some(tried.rate),
        Goal::Cost => tried
            .cost
            .filter(|_| keeps_rate)
            .map(|of| of.map(f64::recip)),
    }
}

impl Base {
    /// A cell, by its number and its used runs, as a test; absent where no run of it is explained.
    pub(crate) fn of_cell(
        summary: &Summary,
        explained: &ExplainedCell,
        (number, used): (usize, Vec<&RunRow>),
    ) -> Option<Base> {
        let cell = summary.planned.get(number)?;
        let verdict = explained.verdict()?;
        let load = |row: &RunRow| {
            let rate = if row.is_used() {
                rate_of(&cell.conditions, |name| row.figures.get(name))?
            } else {
                0.0
            };
            Some((rate, row.kept.as_ref()?.load))
        };
        let mut runs: Vec<(f64, Load)> = match used.is_empty() {
            true => {
                let all = summary.runs.iter().filter(|row| row.cell == number);
                all.filter_map(load).collect()
            }
            false => used.into_iter().filter_map(load).collect(),
        };
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (rate, load) = *runs.get(runs.len() / 2)?;
        let suspects = explained.runs.iter().flat_map(|run| &run.verdict.suspects);
        let mut next: Vec<Limiter> = suspects.map(|one| one.limiter.clone()).collect();
        next.sort();
        next.dedup();
        Some(Base {
            conditions: cell.conditions.clone(),
            load,
            rate,
            lab: summary.lab.as_deref().cloned(),
            named: Some(verdict.limiter().clone()).filter(|limiter| !limiter.is_unknown()),
            next,
            goal: None,
            ends: summary.ends.clone(),
            trial_ms: None,
        })
    }

    /// A cell whose options are searched before its first run.
    pub fn searched(conditions: &Conditions, lab: Option<LabSpec>) -> Base {
        Base {
            conditions: conditions.clone(),
            lab,
            goal: Some(conditions.search_for),
            trial_ms: Some(match conditions.search_for {
                Goal::Rate => RATE_MS,
                Goal::Cost => COST_MS,
            }),
            ..Base::default()
        }
    }

    /// Whether an end is stopped, or waits for a disk.
    pub(super) fn stands_still(&self) -> bool {
        let named = self.named.as_ref().map(Limiter::name);
        matches!(named, Some("paused" | "disk"))
    }

    /// The lab, where the test builds it.
    pub(super) fn own_lab(&self) -> Option<&LabSpec> {
        self.lab.as_ref().filter(|lab| lab.running.is_none())
    }

    /// Whether it is a stream that loses segments, or seems to.
    pub(super) fn is_lossy(&self) -> bool {
        self.load.retransmitted.is_some_and(|share| share > LOSSY)
    }

    /// The conditions of a short run.
    pub fn short(&self) -> Conditions {
        let of_lab = self.lab.as_ref().and_then(|lab| lab.path());
        let of_lab = of_lab.map(|path| path.rtt_us() as f64);
        let rtt_ms = self.load.rtt_us.or(of_lab).unwrap_or(0.0) / 1e3;
        let flows = f64::from(self.conditions.flows);
        let requested = self.conditions.transaction_rate;
        let rate = requested.map_or(self.rate, |each| f64::from(each) * flows);
        let at_least = match self.conditions.workload.is_transactional() {
            true => TRANSACTIONS / rate * 1e3,
            false => 0.0,
        };
        let window = WINDOW_MS.max(WINDOW_RTTS * rtt_ms).max(at_least);
        // The rate stands when the congestion control has ended its slow start.
        let ramp_ms = 1e3 * self.load.ramp_s.unwrap_or(0.0);
        let [least, most] = WARMUP_RTTS.map(|trips| WARMUP_MS.max(trips * rtt_ms));
        let warmup = ramp_ms.clamp(least, most);
        let own_ms = [warmup, window].map(|ms| ms.min(MOST_MS).round() as u32);
        let [warmup_ms, duration_ms] = self.trial_ms.unwrap_or(own_ms);
        Conditions {
            duration_ms,
            warmup_ms,
            latency: self.conditions.latency && self.trial_ms.is_none(),
            idle_baseline_ms: Some(0),
            stop_bytes: None,
            stop_messages: None,
            mode_auto: false,
            search_for: Goal::Rate,
            ..self.conditions.clone()
        }
    }

    /// What the host of the endpoint with this role is called.
    pub(super) fn host_role(&self, end: Role) -> Role {
        self.conditions.direction.role_of(end)
    }

    /// The host of the endpoint with this role.
    pub(super) fn host(&self, end: Role) -> Option<&HostDescription> {
        let role = self.host_role(end);
        let mut ends = self.ends.iter();
        Some(&ends.find(|one| one.role == role)?.host)
    }

    /// Whether root acts at both hosts.
    pub(super) fn is_root(&self) -> bool {
        self.ends.iter().all(|end| end.host.is_root)
    }

    /// What a sysctl of an endpoint's host has: what the run requests, else what was found.
    pub(super) fn sysctl(&self, end: Role, name: &str) -> Option<&str> {
        let requests = self.conditions.of_host(self.host_role(end));
        let parameters = requests.filter_map(HostSetting::sysctl);
        let requested = parameters.filter(|sysctl| sysctl.name == name).last();
        let found = || self.host(end)?.sysctls.get(name);
        let requested = requested.map(|sysctl| &sysctl.value);
        requested.or_else(found).map(String::as_str)
    }

    /// Bytes that fill the path: of a lab whose links have rates, else those of what was delivered.
    pub(super) fn bdp_bytes(&self) -> Option<f64> {
        let lab = self.lab.as_ref();
        let lab = lab.and_then(|lab| Some(lab.path()?.bdp_bytes()? as f64));
        let known = lab.into_iter().chain(self.load.in_flight_bytes());
        known.reduce(f64::max)
    }

    /// `receiver: VALUE`, a setting of the host of an endpoint.
    pub(super) fn typed(&self, end: Role, value: &str) -> String {
        format!("{}: {value}", self.host_role(end).name())
    }

    /// `receiver`, or `receiver, which sends here`: the host of an endpoint.
    pub(super) fn place(&self, end: Role) -> String {
        let host = self.host_role(end);
        let other = match end {
            _ if host == end => "",
            Role::Sender => ", which sends here",
            Role::Receiver => ", which receives here",
        };
        format!("{}{other}", host.name())
    }

    /// A command for the host of an endpoint, where `DEV` is its interface.
    pub(super) fn at(&self, end: Role, command: &str) -> (String, Place) {
        let device = self.host(end).map_or("DEV", |host| &host.device.name);
        let host = Some(self.host_role(end));
        let words = format!("at the {}", self.place(end));
        (
            command.replace("DEV", &shell_word(device)),
            Place { host, words },
        )
    }

    /// A command for both hosts, where `DEV` is the interface of each.
    pub(super) fn at_both(&self, command: &str) -> (String, Place) {
        let device = |end| self.host(end).map_or("DEV", |host| &host.device.name);
        let [sender, receiver] = [Role::Sender, Role::Receiver].map(device);
        let (command, words) = match sender == receiver || !command.contains("DEV") {
            true => (
                command.replace("DEV", &shell_word(sender)),
                "at both hosts".to_owned(),
            ),
            false => (
                command.to_owned(),
                format!("at both hosts, where DEV is {sender} and {receiver}"),
            ),
        };
        (command, Place { host: None, words })
    }
}
