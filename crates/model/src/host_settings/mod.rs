//! The settings of a host that a run may request: of devices, the kernel and CPUs, each with its values as people write them.
//!
//! All have one form: `VALUE` for both endpoints, or `sender: VALUE; receiver: VALUE`, where
//! sender and receiver are what the hosts are called, also where the data flows in reverse.
//! `as-found` requests nothing. What is read is typed, and printed in the words that read back.

mod names;
mod qdisc;

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Invalid;
use crate::cpu_list::{parse_cpu_list, show_cpu_list};
use crate::near::{did_you_mean, near_or_all};
use crate::record::Role;
use crate::shared_sysctls;
use crate::units;

use qdisc::{on_or_off, words};

pub use names::FEATURE_GROUPS;
pub use qdisc::Qdisc;

/// The word that requests nothing.
pub const AS_FOUND: &str = "as-found";

/// The request of a run for one setting of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingRequest {
    /// The host that is asked, by what it is called, whichever way the data flows; absent: both.
    pub endpoint: Option<Role>,
    #[serde(flatten)]
    pub setting: HostSetting,
}

impl SettingRequest {
    /// Whether the request applies to the host called `host`.
    pub fn is_of(&self, host: Role) -> bool {
        self.endpoint.is_none_or(|endpoint| endpoint == host)
    }
}

/// The text form of the values of a setting.
#[derive(Debug)]
pub struct Grammar {
    pub setting: &'static str,
    /// The placeholder of a value in the help.
    pub value_name: &'static str,
    /// The allowed values, in words, with an example.
    pub allowed: &'static str,
    parse: fn(&str) -> Result<Vec<HostSetting>, Invalid>,
}

/// A row is: the grammar, the setting and the type of its value, its name, the placeholder of a value, what is
/// allowed, and what reads it.
macro_rules! host_settings {
    ($($grammar:ident $setting:ident($kind:ty), $name:literal, $value_name:literal, $allowed:literal, $parse:expr;)*) => {
        /// One setting of a host with its requested value.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "setting", content = "value")]
        pub enum HostSetting {
            $(#[serde(rename = $name)] $setting($kind),)*
        }

        impl HostSetting {
            fn grammar(&self) -> &'static Grammar {
                match self {
                    $(HostSetting::$setting { .. } => &$grammar,)*
                }
            }
        }

        $(
            pub const $grammar: Grammar = Grammar {
                setting: $name,
                value_name: $value_name,
                allowed: concat!($allowed, "; also \"sender: …; receiver: …\""),
                parse: $parse,
            };
        )*
    };
}

host_settings! {
    OFFLOADS Offloads(Offloads), "offloads", "SET|FEATURE on|off,…",
        "\"on\", \"off\", \"tso-only\", \"as-found\", or features such as \"tso off, rx-gro on\"", parse_offloads;
    MTU Mtu(u32), "mtu_bytes", "BYTES", "bytes from 68 to 65535, such as 9000",
        |text| limit(text, "an MTU", units::parse_bytes(text).ok(), 68, 65_535).map(HostSetting::Mtu).map(one);
    GSO_MAX_SEGS GsoMaxSegs(u32), "gso_max_segs", "N", "segments from 1 to 65535, such as 1",
        |text| limit(text, "an allowed number of segments", text.parse().ok(), 1, 65_535).map(HostSetting::GsoMaxSegs).map(one);
    GSO_MAX_SIZE GsoMaxSize(u32), "gso_max_size", "BYTES", "bytes from 1024 to 524280, such as 16384",
        |text| super_packet(text, 1024).map(HostSetting::GsoMaxSize).map(one);
    GRO_MAX_SIZE GroMaxSize(u32), "gro_max_size", "BYTES", "bytes from 1 (nothing is merged) to 524280, such as 16384",
        |text| super_packet(text, 1).map(HostSetting::GroMaxSize).map(one);
    QDISC Qdisc(Qdisc), "qdisc", "KIND [PARAMETER VALUE]…",
        "\"default\", or a kind with parameters such as \"tbf rate 1G burst 64KiB\", \"netem delay 20ms loss 0.1%\", \"fq limit 10000\"",
        |text| Qdisc::read(text).map(HostSetting::Qdisc).map(one);
    SYSCTL Sysctl(Sysctl), "sysctl", "NAME=VALUE,…",
        "names under net. with values, such as \"net.ipv4.tcp_rmem=4096 131072 33554432, net.ipv4.tcp_sack=0\"",
        |text| text.split(',').map(parse_sysctl).collect();
    RINGS Rings(BTreeMap<String, u32>), "rings", "NAME N,…", "packets such as \"rx 4096, tx 512\"",
        |text| parse_numbers(text).map(HostSetting::Rings).map(one);
    CHANNELS Channels(BTreeMap<String, u32>), "channels", "NAME N,…", "counts such as \"combined 4\" or \"rx 2, tx 2\"",
        |text| parse_numbers(text).map(HostSetting::Channels).map(one);
    COALESCE Coalesce(BTreeMap<String, u32>), "coalesce", "NAME N,…",
        "numbers such as \"rx_usecs 10, rx_frames 64, adaptive_rx off\"",
        |text| parse_numbers(text).map(HostSetting::Coalesce).map(one);
    THREADED_NAPI ThreadedNapi(bool), "threaded_napi", "on|off", "\"on\" or \"off\"",
        |text| on_or_off(text).map(HostSetting::ThreadedNapi).map(one)
            .ok_or_else(|| Invalid(format!("`{text}` is neither on nor off")));
    RPS_CPUS RpsCpus(Vec<u32>), "rps_cpus", "CPUS|none", "CPU numbers such as \"1\" or \"0-3\", or \"none\"",
        |text| (text == "none").then(Vec::new).or_else(|| parse_cpu_list(text)).map(HostSetting::RpsCpus).map(one)
            .ok_or_else(|| Invalid(format!("`{text}` is not a list of CPUs")));
    STRESS Stress(Stress), "stress", "[N] FLAVOUR [P%] [on CPUS]",
        "workers, cpu or memory or syscall, per cent of a CPU, and CPUs, such as \"2 cpu 50% on 0-1\"",
        |text| parse_stress(text).map(HostSetting::Stress).map(one);
}

words! {
    /// Offloads that are set together: tso, gso, gro, and lro where it is offered.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum OffloadSet {
        On = "on",
        Off = "off",
        TsoOnly = "tso-only",
    }
}

impl OffloadSet {
    /// The groups that a set is about, by ethtool's names.
    pub const GROUPS: [&str; 4] = ["tso", "gso", "gro", "lro"];

    /// Whether it turns a group on, such as "gso".
    pub fn turns_on(self, group: &str) -> bool {
        match self {
            OffloadSet::On => true,
            OffloadSet::Off => false,
            OffloadSet::TsoOnly => group == "tso",
        }
    }
}

/// Stateless offloads of the interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Offloads {
    Set(OffloadSet),
    /// Features by the kernel's or ethtool's names.
    Features(BTreeMap<String, bool>),
}

/// A kernel parameter below `net.`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sysctl {
    pub name: String,
    /// Its words with one space between them.
    pub value: String,
}

words! {
    /// The work of a thread that keeps a CPU busy.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Flavour {
        /// Arithmetic in registers.
        Cpu = "cpu",
        /// Writing through memory that no cache holds, a cache line at a time.
        Memory = "memory",
        /// System calls: reads of 4 KiB from `/dev/zero`.
        Syscall = "syscall",
    }
}

/// Threads that keep CPUs busy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stress {
    pub workers: u32,
    /// The kind of work of each.
    pub flavour: Flavour,
    /// Share of a CPU that each uses.
    pub load_percent: u32,
    /// The CPUs, one for each worker in turn; empty: every allowed one.
    pub cpus: Vec<u32>,
}

/// Most threads of one request.
const WORKERS_MAX: u32 = 1024;

/// The most bytes of a super-packet (`GSO_MAX_SIZE` in include/linux/netdevice.h, Linux 6.3).
const SUPER_PACKET_MOST: u32 = 8 * 65_535;

impl HostSetting {
    pub fn name(&self) -> &'static str {
        self.grammar().setting
    }

    /// The parameter, of a kernel parameter.
    pub fn sysctl(&self) -> Option<&Sysctl> {
        match self {
            HostSetting::Sysctl(sysctl) => Some(sysctl),
            _ => None,
        }
    }

    /// Whether both are requests for the same thing, of which a host has one value.
    pub fn is_same(&self, other: &HostSetting) -> bool {
        let parameter = |setting: &HostSetting| setting.sysctl().map(|sysctl| sysctl.name.clone());
        self.name() == other.name() && parameter(self) == parameter(other)
    }

    /// The interface that the setting names: [`interface_of`] its parameter.
    pub fn interface(&self) -> Option<&str> {
        interface_of(&self.sysctl()?.name)
    }

    /// Checks a value that came from another process: that people may write it.
    pub fn check(&self) -> Result<(), Invalid> {
        let (name, text) = (self.name(), self.to_string());
        let refused = |why: &dyn fmt::Display| Invalid(format!("{name} is `{text}`: {why}"));
        let read = (self.grammar().parse)(&text).map_err(|why| refused(&why))?;
        match read[..] == [self.clone()] {
            true => Ok(()),
            false => Err(refused(&format_args!(
                "allowed: {}",
                self.grammar().allowed
            ))),
        }
    }
}

/// The interface that a kernel parameter names, such as `net.ipv4.conf.eth0.rp_filter` (Linux:
/// Documentation/networking/ip-sysctl.rst). Its own name may contain dots. `default` is none: which of its
/// parameters a run may set is in [`crate::shared_sysctls`].
pub fn interface_of(parameter: &str) -> Option<&str> {
    let mut parts = parameter.splitn(4, '.').skip(2);
    let group = parts.next()?;
    let (interface, _) = parts.next()?.rsplit_once('.')?;
    (matches!(group, "conf" | "neigh") && interface != "default").then_some(interface)
}

impl fmt::Display for HostSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostSetting::Offloads(Offloads::Set(set)) => f.write_str(set.name()),
            HostSetting::Offloads(Offloads::Features(features)) => {
                pairs(f, features, |on| if *on { "on" } else { "off" })
            }
            HostSetting::Mtu(number)
            | HostSetting::GsoMaxSegs(number)
            | HostSetting::GsoMaxSize(number)
            | HostSetting::GroMaxSize(number) => write!(f, "{number}"),
            HostSetting::Qdisc(qdisc) => write!(f, "{qdisc}"),
            HostSetting::Sysctl(Sysctl { name, value }) => write!(f, "{name}={value}"),
            HostSetting::Rings(numbers)
            | HostSetting::Channels(numbers)
            | HostSetting::Coalesce(numbers) => pairs(f, numbers, |number| *number),
            HostSetting::ThreadedNapi(on) => f.write_str(if *on { "on" } else { "off" }),
            HostSetting::RpsCpus(cpus) if cpus.is_empty() => f.write_str("none"),
            HostSetting::RpsCpus(cpus) => f.write_str(&show_cpu_list(cpus)),
            HostSetting::Stress(stress) => write!(f, "{stress}"),
        }
    }
}

impl fmt::Display for Stress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flavour = self.flavour.name();
        write!(f, "{} {flavour} {}%", self.workers, self.load_percent)?;
        match self.cpus.is_empty() {
            true => Ok(()),
            false => write!(f, " on {}", show_cpu_list(&self.cpus)),
        }
    }
}

fn pairs<T, S: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    values: &BTreeMap<String, T>,
    shown: impl Fn(&T) -> S,
) -> fmt::Result {
    let pair = |(name, value): (&String, &T)| format!("{name} {}", shown(value));
    f.write_str(&values.iter().map(pair).collect::<Vec<_>>().join(", "))
}

impl Grammar {
    /// Reads what a study or a command line requests.
    pub fn read(&self, text: &str) -> Result<Vec<SettingRequest>, Invalid> {
        let mut requests = Vec::new();
        for part in text.split(';').map(str::trim) {
            let (endpoint, value) = endpoint(part)?;
            if value == AS_FOUND {
                continue;
            }
            let settings = (self.parse)(value)
                .map_err(|why| Invalid(format!("{why}; allowed: {}", self.allowed)))?;
            requests.extend(
                settings
                    .into_iter()
                    .map(|setting| SettingRequest { endpoint, setting }),
            );
        }
        Ok(requests)
    }

    /// Requests this of a run's hosts, in place of earlier requests.
    pub fn ask(&self, requests: &mut Vec<SettingRequest>, text: &str) -> Result<(), Invalid> {
        let new = self.read(text)?;
        requests.retain(|old| {
            let is_replaced = old.setting.sysctl().is_none()
                || new.iter().any(|new| new.setting.is_same(&old.setting));
            old.setting.name() != self.setting || !is_replaced
        });
        // Requests for one setting are next to each other, so that one text gives them in this order.
        let last = requests
            .iter()
            .rposition(|old| old.setting.name() == self.setting);
        let next = last.map_or(requests.len(), |last| last + 1);
        requests.splice(next..next, new);
        Ok(())
    }
}

fn endpoint(part: &str) -> Result<(Option<Role>, &str), Invalid> {
    let Some((endpoint, value)) = part.split_once(':') else {
        return Ok((None, part));
    };
    let value = value.trim();
    match endpoint.trim() {
        "sender" => Ok((Some(Role::Sender), value)),
        "receiver" => Ok((Some(Role::Receiver), value)),
        "both" => Ok((None, value)),
        other => {
            let rest = near_or_all(other, &["sender", "receiver", "both"]);
            Err(Invalid(format!("`{other}` is not an endpoint{rest}")))
        }
    }
}

fn one(setting: HostSetting) -> Vec<HostSetting> {
    vec![setting]
}

fn limit(
    text: &str,
    what: &str,
    number: Option<u64>,
    least: u32,
    most: u32,
) -> Result<u32, Invalid> {
    let number = number.and_then(|number| u32::try_from(number).ok());
    number
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| Invalid(format!("`{text}` is not {what}")))
}

fn super_packet(text: &str, least: u32) -> Result<u32, Invalid> {
    let bytes = units::parse_bytes(text).ok();
    let what = "an allowed size of a packet";
    limit(text, what, bytes, least, SUPER_PACKET_MOST)
}

fn parse_offloads(text: &str) -> Result<Vec<HostSetting>, Invalid> {
    let offloads = |offloads| Ok(one(HostSetting::Offloads(offloads)));
    if let Some(set) = OffloadSet::named(text) {
        return offloads(Offloads::Set(set));
    }
    let mut features = BTreeMap::new();
    for pair in words(text).chunks(2) {
        let on = pair.get(1).and_then(|word| on_or_off(word));
        let on = on.ok_or_else(|| no_set(text))?;
        features.insert(pair[0].to_owned(), on);
    }
    if features.is_empty() {
        return Err(no_set(text));
    }
    features
        .keys()
        .try_for_each(|name| names::check_feature(name))?;
    offloads(Offloads::Features(features))
}

fn no_set(text: &str) -> Invalid {
    let sets = OffloadSet::NAMES.into_iter().chain([AS_FOUND]);
    let hint = did_you_mean(text, sets);
    Invalid(format!("`{text}` is not a set of offloads{hint}"))
}

fn parse_numbers(text: &str) -> Result<BTreeMap<String, u32>, Invalid> {
    let mut numbers = BTreeMap::new();
    for pair in words(text).chunks(2) {
        let number = match pair {
            [_, "on"] => Some(1),
            [_, "off"] => Some(0),
            [_, number] => number.parse().ok(),
            _ => None,
        };
        let number =
            number.ok_or_else(|| Invalid(format!("`{text}` has {} without a number", pair[0])))?;
        numbers.insert(pair[0].replace('-', "_"), number);
    }
    match numbers.is_empty() {
        true => Err(Invalid("nothing is requested".to_owned())),
        false => Ok(numbers),
    }
}

fn parse_sysctl(pair: &str) -> Result<HostSetting, Invalid> {
    let pair = pair.trim();
    let (name, value) = pair
        .split_once('=')
        .ok_or_else(|| Invalid(format!("`{pair}` has no `=`")))?;
    let name = name.trim().replace('/', ".");
    let value: Vec<&str> = value.split_ascii_whitespace().collect();
    if !name.starts_with("net.") || value.is_empty() {
        return Err(Invalid(format!(
            "`{pair}` is not a name under net. with a value{}",
            names::parameters_like(&name)
        )));
    }
    shared_sysctls::refusal(&name).map_or(Ok(()), |why| Err(Invalid(why)))?;
    let value = value.join(" ");
    Ok(HostSetting::Sysctl(Sysctl { name, value }))
}

fn parse_stress(text: &str) -> Result<Stress, Invalid> {
    let (work, cpus) = match text.split_once(" on ") {
        Some((work, cpus)) => (work, Some(cpus)),
        None => (text, None),
    };
    let (mut workers, mut flavour, mut load_percent) = (1, None, 100);
    for word in work.split_ascii_whitespace() {
        let within = |number: &str, most: u32| {
            let number = number.parse().ok();
            number.filter(|number| (1..=most).contains(number))
        };
        if let Some(named) = Flavour::named(word) {
            flavour = Some(named);
        } else if let Some(load) = word.strip_suffix('%') {
            load_percent = within(load, 100)
                .ok_or_else(|| Invalid(format!("`{word}` is not a load; 1% to 100%")))?;
        } else {
            workers = within(word, WORKERS_MAX).ok_or_else(|| {
                let hint = did_you_mean(word, Flavour::NAMES);
                Invalid(format!(
                    "`{word}` is neither a number of workers from 1 to {WORKERS_MAX} nor a flavour{hint}"
                ))
            })?;
        }
    }
    let flavour = flavour.ok_or_else(|| Invalid(format!("`{text}` names no flavour")))?;
    let cpus = cpus.map_or(Ok(Vec::new()), |cpus| {
        parse_cpu_list(cpus)
            .ok_or_else(|| Invalid(format!("`{cpus}` is not a list of CPUs such as 0,2-3")))
    })?;
    Ok(Stress {
        workers,
        flavour,
        load_percent,
        cpus,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read, as JSON in logs and as text, which reads back.
    #[test]
    fn each_host_setting_is_read_as_people_write_it() {
        let mut read = String::new();
        for (grammar, text) in [
            (&OFFLOADS, "tso-only"),
            (&OFFLOADS, "sender: off; receiver: tso off, rx-gro on"),
            (&OFFLOADS, "as-found"),
            (&MTU, "9000"),
            (&QDISC, "tbf rate 1G burst 64KiB"),
            (&QDISC, "receiver: netem delay 20ms loss 0.1%"),
            (&QDISC, "default"),
            (
                &SYSCTL,
                "net.ipv4.tcp_rmem=4096  1 2, net.ipv4.tcp_sack = 0",
            ),
            (&COALESCE, "rx-usecs 10, adaptive_rx off"),
            (&RINGS, "rx 512"),
            (&CHANNELS, "rx 2 tx 2"),
            (&THREADED_NAPI, "receiver: off"),
            (&RPS_CPUS, "0-1,33"),
            (&STRESS, "cpu"),
            (&STRESS, "sender: 2 memory 50% on 0-1,3"),
        ] {
            let requests = grammar
                .read(text)
                .unwrap_or_else(|error| panic!("{text}: {error}"));
            read += &format!("{text}\n");
            for request in requests {
                let json = serde_json::to_string(&request).expect("JSON");
                read += &format!("    {json}\n    {}\n", request.setting);
                assert_eq!(serde_json::from_str(&json).ok(), Some(request.clone()));
                assert_eq!(request.setting.check(), Ok(()));
            }
        }
        insta::assert_snapshot!(read);
    }

    #[test]
    fn what_people_may_not_write_is_refused_of_other_processes_too() {
        let sysctl = |name: &str| {
            HostSetting::Sysctl(Sysctl {
                name: name.to_owned(),
                value: "1".to_owned(),
            })
        };
        for (setting, why) in [
            (HostSetting::Mtu(1), "mtu_bytes is `1`: `1` is not an MTU"),
            (sysctl("net.ipv4.ip_forward"), "is not set by a run"),
            (sysctl("net.ipv4.tcp_sack=0, net.ipv4.x"), "allowed: names"),
            (sysctl("kernel.panic"), "is not a name under net."),
            (HostSetting::RpsCpus(vec![1 << 20]), "not a list of CPUs"),
        ] {
            let refused = setting.check().expect_err("refused").0;
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn the_interface_of_a_request_is_found_where_it_names_one() {
        for (parameter, interface) in [
            ("net.ipv4.conf.eth1.rp_filter", Some("eth1")),
            ("net.ipv6.neigh.eth0.100.gc_stale_time", Some("eth0.100")),
            ("net.ipv4.conf.all.rp_filter", Some("all")),
            ("net.ipv4.neigh.default.gc_thresh1", None),
            ("net.ipv4.tcp_rmem", None),
            ("net.core.rmem_max", None),
        ] {
            let requests = SYSCTL.read(&format!("{parameter}=1")).expect("read");
            assert_eq!(requests[0].setting.interface(), interface, "{parameter}");
        }
        assert_eq!(HostSetting::Mtu(1400).interface(), None);
    }
}
