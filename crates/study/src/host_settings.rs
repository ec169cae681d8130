//! Settings of the hosts, as studies and command lines write them: of devices, the kernel and CPUs.
//!
//! All have one form: `VALUE` for both endpoints, or `sender: VALUE; receiver: VALUE`, where
//! sender and receiver are what the hosts are called, also where the data flows in reverse.
//! `as-found` requests nothing.

mod names;

use std::collections::BTreeMap;
use std::fmt;

use bitcost_model::Invalid;
use bitcost_model::conditions::Conditions;
use bitcost_model::conditions::Offloads;
use bitcost_model::cpu_list::parse_cpu_list;
use bitcost_model::host_settings::{self, Flavour, SettingRequest, WORKERS_MAX};
use bitcost_model::near::did_you_mean;
use bitcost_model::record::Role;
use bitcost_model::shared_sysctls;
use bitcost_model::units;

/// The word that requests nothing.
pub const AS_FOUND: &str = "as-found";

/// The text form of the values of a setting.
pub struct Grammar {
    pub setting: &'static str,
    /// The placeholder of a value in the help.
    pub value_name: &'static str,
    /// The allowed values, in words, with an example.
    pub allowed: &'static str,
    parse: fn(&str) -> Result<Vec<Parsed>, Invalid>,
}

impl fmt::Debug for Grammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.setting)
    }
}

/// A subject and the values requested of it.
type Parsed = (Option<String>, BTreeMap<String, String>);

impl Grammar {
    /// Reads what a study or a command line requests.
    ///
    /// # Errors
    /// A sentence that says what was found and what is allowed.
    pub fn read(&self, text: &str) -> Result<Vec<SettingRequest>, Invalid> {
        let mut requests = Vec::new();
        for part in text.split(';').map(str::trim) {
            let (endpoint, value) = self.endpoint(part)?;
            if value == AS_FOUND {
                continue;
            }
            let parsed = (self.parse)(value)
                .map_err(|why| Invalid(format!("{why}; allowed: {}", self.allowed)))?;
            for (subject, values) in parsed {
                requests.push(SettingRequest {
                    endpoint,
                    setting: self.setting.to_owned(),
                    subject,
                    values,
                });
            }
        }
        Ok(requests)
    }

    /// Requests this of a run's hosts, in place of earlier requests.
    ///
    /// # Errors
    /// As [`Grammar::read`].
    pub fn ask(&self, conditions: &mut Conditions, text: &str) -> Result<(), Invalid> {
        let requests = self.read(text)?;
        let is_replaced = |old: &SettingRequest| {
            old.setting == self.setting
                && (old.subject.is_none() || requests.iter().any(|new| new.subject == old.subject))
        };
        conditions.host_settings.retain(|old| !is_replaced(old));
        conditions.host_settings.extend(requests);
        Ok(())
    }

    /// Sets this as a setting of a study: as [`Grammar::ask`], except that offloads that are all on
    /// or all off have a separate field of the conditions.
    ///
    /// # Errors
    /// As [`Grammar::read`].
    pub(crate) fn set(&self, conditions: &mut Conditions, text: &str) -> Result<(), Invalid> {
        if self.setting != host_settings::OFFLOADS {
            return self.ask(conditions, text);
        }
        conditions.offloads = match text {
            "on" => Offloads::On,
            "off" => Offloads::Off,
            _ => Offloads::AsFound,
        };
        if conditions.offloads == Offloads::AsFound {
            return self.ask(conditions, text);
        }
        conditions
            .host_settings
            .retain(|request| request.setting != self.setting);
        Ok(())
    }

    fn endpoint<'a>(&self, part: &'a str) -> Result<(Option<Role>, &'a str), Invalid> {
        let Some((endpoint, value)) = part.split_once(':') else {
            return Ok((None, part));
        };
        let value = value.trim();
        match endpoint.trim() {
            "sender" => Ok((Some(Role::Sender), value)),
            "receiver" => Ok((Some(Role::Receiver), value)),
            "both" => Ok((None, value)),
            other => Err(Invalid(format!(
                "`{other}` is not an endpoint{}; allowed: sender, receiver, both",
                did_you_mean(other, ["sender", "receiver", "both"])
            ))),
        }
    }
}

const OFFLOAD_SETS: [&str; 4] = ["on", "off", "tso-only", AS_FOUND];

/// A row is: the grammar, its setting, the placeholder of a value, what is allowed, and what reads it.
macro_rules! grammars {
    ($($(#[$about:meta])* $name:ident $setting:expr, $value_name:literal, $allowed:literal, $parse:expr;)*) => {
        $(
            $(#[$about])*
            pub const $name: Grammar = Grammar {
                setting: $setting,
                value_name: $value_name,
                allowed: concat!($allowed, "; also \"sender: …; receiver: …\""),
                parse: $parse,
            };
        )*
    };
}

grammars! {
    /// Offloads: a set, or features by name.
    OFFLOADS host_settings::OFFLOADS, "SET|FEATURE on|off,…",
        "\"on\", \"off\", \"tso-only\", \"as-found\", or features such as \"tso off, rx-gro on\"", parse_offloads;
    MTU host_settings::MTU, "BYTES", "bytes from 68 to 65535, such as 9000",
        |text| limit(text, "an MTU", units::parse_bytes(text).ok(), 68, 65_535);
    GSO_MAX_SEGS host_settings::GSO_MAX_SEGS, "N", "segments from 1 to 65535, such as 1",
        |text| limit(text, "an allowed number of segments", text.parse().ok(), 1, 65_535);
    GSO_MAX_SIZE "gso_max_size", "BYTES", "bytes from 1024 to 524280, such as 16384",
        |text| limit(text, "an allowed size of a packet", units::parse_bytes(text).ok(), 1024, SUPER_PACKET_MOST);
    GRO_MAX_SIZE "gro_max_size", "BYTES", "bytes from 1 (nothing is merged) to 524280, such as 16384",
        |text| limit(text, "an allowed size of a packet", units::parse_bytes(text).ok(), 1, SUPER_PACKET_MOST);
    QDISC host_settings::QDISC, "KIND [PARAMETER VALUE]…",
        "\"default\", or a kind with parameters such as \"tbf rate 1G burst 64KiB\", \"netem delay 20ms loss 0.1%\", \"fq limit 10000\"", parse_qdisc;
    SYSCTL host_settings::SYSCTL, "NAME=VALUE,…",
        "names under net. with values, such as \"net.ipv4.tcp_rmem=4096 131072 33554432, net.ipv4.tcp_sack=0\"", parse_sysctl;
    CHANNELS "channels", "NAME N,…", "counts such as \"combined 4\" or \"rx 2, tx 2\"", parse_numbers;
    COALESCE "coalesce", "NAME N,…", "numbers such as \"rx_usecs 10, rx_frames 64, adaptive_rx off\"", parse_numbers;
    THREADED_NAPI host_settings::THREADED_NAPI, "on|off", "\"on\" or \"off\"", |text| match text {
        "on" => Ok(one("1")),
        "off" => Ok(one("0")),
        _ => Err(Invalid(format!("`{text}` is neither on nor off"))),
    };
    RPS_CPUS host_settings::RPS_CPUS, "CPUS|none", "CPU numbers such as \"1\" or \"0-3\", or \"none\"", parse_cpus;
    IDLE host_settings::IDLE, "poll", "\"poll\" or \"as-found\"", |text| match text {
        "poll" => Ok(one(text)),
        _ => Err(Invalid(format!(
            "`{text}` is not a valid value for idle{}",
            did_you_mean(text, ["poll", AS_FOUND])
        ))),
    };
    GOVERNOR host_settings::GOVERNOR, "NAME", "the name of a governor such as \"performance\"",
        |text| match !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) {
            true => Ok(one(text)),
            false => Err(Invalid(format!("`{text}` is not a name"))),
        };
    STRESS host_settings::STRESS, "[N] FLAVOUR [P%] [on CPUS]",
        "workers, cpu or memory or syscall, per cent of a CPU, and CPUs, such as \"2 cpu 50% on 0-1\"", parse_stress;
}

/// The most bytes of a super-packet (`GSO_MAX_SIZE` in include/linux/netdevice.h, Linux 6.3).
const SUPER_PACKET_MOST: u64 = 8 * 65_535;

fn limit(
    text: &str,
    what: &str,
    number: Option<u64>,
    least: u64,
    most: u64,
) -> Result<Vec<Parsed>, Invalid> {
    match number.filter(|number| (least..=most).contains(number)) {
        Some(number) => Ok(one(number.to_string())),
        None => Err(Invalid(format!("`{text}` is not {what}"))),
    }
}

/// The mask of CPUs, in words of 32 bits, that of the highest CPUs first.
fn parse_cpus(text: &str) -> Result<Vec<Parsed>, Invalid> {
    let cpus = match text {
        "none" => Some(Vec::new()),
        text => parse_cpu_list(text),
    };
    let cpus = cpus.ok_or_else(|| Invalid(format!("`{text}` is not a list of CPUs")))?;
    let words = cpus.iter().max().map_or(1, |most| most / 32 + 1);
    let word = |word: u32| {
        let own = cpus.iter().filter(|cpu| *cpu / 32 == word);
        let bits = own.fold(0_u32, |bits, cpu| bits | 1 << (cpu % 32));
        format!("{bits:08x}")
    };
    let mask: Vec<String> = (0..words).rev().map(word).collect();
    Ok(one(mask.join(",")))
}

/// One value of the subject that there is without a name.
fn one(value: impl Into<String>) -> Vec<Parsed> {
    vec![(None, single(value))]
}

fn single(value: impl Into<String>) -> BTreeMap<String, String> {
    BTreeMap::from([("value".to_owned(), value.into())])
}

fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| c.is_whitespace() || c == ',' || c == '=')
        .filter(|word| !word.is_empty())
        .collect()
}

fn parse_offloads(text: &str) -> Result<Vec<Parsed>, Invalid> {
    if OFFLOAD_SETS.contains(&text) {
        return Ok(vec![(
            None,
            BTreeMap::from([("set".to_owned(), text.to_owned())]),
        )]);
    }
    let words = words(text);
    let pairs: Vec<&[&str]> = words.chunks(2).collect();
    let is_pair = |pair: &&[&str]| pair.len() == 2 && ["on", "off"].contains(&pair[1]);
    if pairs.is_empty() || !pairs.iter().all(is_pair) {
        return Err(Invalid(format!(
            "`{text}` is not a set of offloads{}",
            did_you_mean(text, OFFLOAD_SETS)
        )));
    }
    pairs
        .iter()
        .try_for_each(|pair| names::check_feature(pair[0]))?;
    Ok(vec![(
        None,
        pairs
            .into_iter()
            .map(|pair| (pair[0].to_owned(), pair[1].to_owned()))
            .collect(),
    )])
}

fn parse_numbers(text: &str) -> Result<Vec<Parsed>, Invalid> {
    let words = words(text);
    let mut values = BTreeMap::new();
    for pair in words.chunks(2) {
        let number = match pair {
            [_, "on"] => Some("1".to_owned()),
            [_, "off"] => Some("0".to_owned()),
            [_, number] => number.parse::<u32>().ok().map(|number| number.to_string()),
            _ => None,
        };
        values.insert(
            pair[0].replace('-', "_"),
            number.ok_or_else(|| Invalid(format!("`{text}` has {} without a number", pair[0])))?,
        );
    }
    if values.is_empty() {
        return Err(Invalid("nothing is requested".to_owned()));
    }
    Ok(vec![(None, values)])
}

fn parse_sysctl(text: &str) -> Result<Vec<Parsed>, Invalid> {
    let mut found: Vec<Parsed> = Vec::new();
    for pair in text.split(',') {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| Invalid(format!("`{}` has no `=`", pair.trim())))?;
        let name = name.trim().replace('/', ".");
        let value: Vec<&str> = value.split_ascii_whitespace().collect();
        if !name.starts_with("net.") || value.is_empty() {
            return Err(Invalid(format!(
                "`{}` is not a name under net. with a value{}",
                pair.trim(),
                names::parameters_like(&name)
            )));
        }
        shared_sysctls::refusal(&name).map_or(Ok(()), |why| Err(Invalid(why)))?;
        found.push((Some(name), single(value.join(" "))));
    }
    Ok(found)
}

/// The text form of a parameter's value.
#[derive(Clone, Copy)]
enum Unit {
    Count,
    Bytes,
    Rate,
    Microseconds,
    Millionths,
    Switch,
}

/// A parameter: the word for it, its name, its unit.
type Parameter = (&'static str, &'static str, Unit);

const QDISCS: &[(&str, &[Parameter])] = &[
    ("default", &[]),
    ("pfifo", &[("limit", "limit_packets", Unit::Count)]),
    ("bfifo", &[("limit", "limit_bytes", Unit::Bytes)]),
    ("pfifo_fast", &[]),
    (
        "tbf",
        &[
            ("rate", "rate_bps", Unit::Rate),
            ("burst", "burst_bytes", Unit::Bytes),
            ("limit", "limit_bytes", Unit::Bytes),
        ],
    ),
    (
        "htb",
        &[
            ("rate", "rate_bps", Unit::Rate),
            ("burst", "burst_bytes", Unit::Bytes),
        ],
    ),
    (
        "netem",
        &[
            ("delay", "delay_us", Unit::Microseconds),
            ("jitter", "jitter_us", Unit::Microseconds),
            ("loss", "loss_ppm", Unit::Millionths),
            ("reorder", "reorder_ppm", Unit::Millionths),
            ("duplicate", "duplicate_ppm", Unit::Millionths),
            ("limit", "limit_packets", Unit::Count),
            ("rate", "rate_bps", Unit::Rate),
        ],
    ),
    (
        "fq",
        &[
            ("limit", "limit_packets", Unit::Count),
            ("flow_limit", "flow_limit_packets", Unit::Count),
            ("quantum", "quantum_bytes", Unit::Bytes),
            ("initial_quantum", "initial_quantum_bytes", Unit::Bytes),
            ("maxrate", "flow_max_rate_bps", Unit::Rate),
            ("refill_delay", "refill_delay_us", Unit::Microseconds),
            ("low_rate_threshold", "low_rate_threshold_bps", Unit::Rate),
            ("horizon", "horizon_us", Unit::Microseconds),
            ("pacing", "pacing", Unit::Switch),
        ],
    ),
    (
        "fq_codel",
        &[
            ("limit", "limit_packets", Unit::Count),
            ("flows", "flows", Unit::Count),
            ("quantum", "quantum_bytes", Unit::Bytes),
            ("target", "target_us", Unit::Microseconds),
            ("interval", "interval_us", Unit::Microseconds),
            ("memory_limit", "memory_limit_bytes", Unit::Bytes),
            ("ecn", "ecn", Unit::Switch),
        ],
    ),
];

fn parse_qdisc(text: &str) -> Result<Vec<Parsed>, Invalid> {
    let words = words(text);
    let (kind, rest) = words
        .split_first()
        .ok_or_else(|| Invalid("nothing is requested".to_owned()))?;
    let kinds = QDISCS.iter().map(|(kind, _)| *kind);
    let Some((_, known)) = QDISCS.iter().find(|(known, _)| known == kind) else {
        let all: Vec<&str> = kinds.clone().collect();
        return Err(Invalid(format!(
            "unknown qdisc `{kind}`{}; known: {}",
            did_you_mean(kind, kinds),
            all.join(", ")
        )));
    };
    let mut values = BTreeMap::from([("kind".to_owned(), (*kind).to_owned())]);
    for pair in rest.chunks(2) {
        let Some((_, name, unit)) = known
            .iter()
            .find(|(word, name, _)| *word == pair[0] || *name == pair[0])
        else {
            let words: Vec<&str> = known.iter().map(|(word, _, _)| *word).collect();
            let hint = did_you_mean(pair[0], words.iter().copied());
            return Err(Invalid(format!(
                "{kind} has no parameter `{}`{hint}; it has: {}",
                pair[0],
                words.join(", ")
            )));
        };
        let value = pair.get(1).copied().unwrap_or_default();
        let number = unit
            .read(value)
            .ok_or_else(|| Invalid(format!("`{value}` is not a value of {}", pair[0])))?;
        values.insert((*name).to_owned(), number.to_string());
    }
    Ok(vec![(None, values)])
}

impl Unit {
    fn read(self, text: &str) -> Option<u64> {
        match self {
            Unit::Count => text.parse().ok(),
            Unit::Bytes => units::parse_bytes(text).ok(),
            Unit::Rate => units::parse_rate(text).ok(),
            Unit::Microseconds if text == "0" => Some(0),
            Unit::Microseconds => u64::try_from(units::parse_duration(text).ok()?.as_micros()).ok(),
            Unit::Millionths => {
                let per_cent: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
                (0.0..=100.0)
                    .contains(&per_cent)
                    .then(|| (per_cent * 10_000.0).round() as u64)
            }
            Unit::Switch => ["off", "on"]
                .iter()
                .position(|word| *word == text)
                .map(|on| on as u64),
        }
    }
}

fn parse_stress(text: &str) -> Result<Vec<Parsed>, Invalid> {
    let (work, cpus) = match text.split_once(" on ") {
        Some((work, cpus)) => (work, Some(cpus)),
        None => (text, None),
    };
    let mut values = BTreeMap::from([
        ("workers".to_owned(), "1".to_owned()),
        ("load_percent".to_owned(), "100".to_owned()),
    ]);
    for word in work.split_ascii_whitespace() {
        let in_range =
            |number: Option<u32>, most: u32| number.filter(|number| (1..=most).contains(number));
        if Flavour::NAMES.contains(&word) {
            values.insert("flavour".to_owned(), word.to_owned());
        } else if let Some(load) = word.strip_suffix('%') {
            let load = in_range(load.parse().ok(), 100)
                .ok_or_else(|| Invalid(format!("`{word}` is not a load; 1% to 100%")))?;
            values.insert("load_percent".to_owned(), load.to_string());
        } else {
            let hint = did_you_mean(word, Flavour::NAMES);
            let workers = in_range(word.parse().ok(), WORKERS_MAX);
            let workers = workers.ok_or_else(|| {
                Invalid(format!(
                    "`{word}` is neither a number of workers nor a flavour{hint}"
                ))
            })?;
            values.insert("workers".to_owned(), workers.to_string());
        }
    }
    if !values.contains_key("flavour") {
        return Err(Invalid(format!("`{text}` names no flavour")));
    }
    if let Some(cpus) = cpus {
        let list = parse_cpu_list(cpus)
            .ok_or_else(|| Invalid(format!("`{cpus}` is not a list of CPUs such as 0,2-3")))?;
        let list: Vec<String> = list.iter().map(u32::to_string).collect();
        values.insert("cpus".to_owned(), list.join(","));
    }
    Ok(vec![(None, values)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(grammar: &Grammar, text: &str) -> String {
        let requests = grammar
            .read(text)
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        let shown = |request: &SettingRequest| {
            let endpoint = request.endpoint.map_or("both", Role::name);
            let values: Vec<String> = request
                .values
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            format!(
                "{endpoint} {} {}",
                request.subject.as_deref().unwrap_or("-"),
                values.join(" ")
            )
        };
        requests.iter().map(shown).collect::<Vec<_>>().join("; ")
    }

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
            (&IDLE, "receiver: poll"),
            (&CHANNELS, "rx 2 tx 2"),
            (&GOVERNOR, "performance"),
            (&THREADED_NAPI, "receiver: off"),
            (&RPS_CPUS, "0-1,33"),
            (&STRESS, "cpu"),
            (&STRESS, "sender: 2 memory 50% on 0-1,3"),
        ] {
            read += &format!("{text}\n    {}\n", values(grammar, text));
        }
        insta::assert_snapshot!(read);
    }
}
