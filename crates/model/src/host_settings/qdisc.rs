//! Queueing disciplines with their parameters, in tc's words.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Invalid;
use crate::near::did_you_mean;
use crate::shaping::share;
use crate::units;

/// The queueing discipline at the root of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Qdisc {
    /// Its kind; [`Qdisc::DEFAULT`]: the kernel's own.
    pub kind: String,
    /// Its parameters, by name with the unit last.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, u64>,
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
    (Qdisc::DEFAULT, &[]),
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

impl Qdisc {
    pub const DEFAULT: &str = "default";

    pub(super) fn read(text: &str) -> Result<Qdisc, Invalid> {
        let words = words(text);
        let (kind, rest) = words
            .split_first()
            .ok_or_else(|| Invalid("nothing is requested".to_owned()))?;
        let Some((_, known)) = QDISCS.iter().find(|(known, _)| known == kind) else {
            let kinds: Vec<&str> = QDISCS.iter().map(|(kind, _)| *kind).collect();
            let hint = did_you_mean(kind, kinds.iter().copied());
            let kinds = kinds.join(", ");
            return Err(Invalid(format!(
                "unknown qdisc `{kind}`{hint}; known: {kinds}"
            )));
        };
        let mut parameters = BTreeMap::new();
        for pair in rest.chunks(2) {
            let is_it = |(word, name, _): &&Parameter| [*word, *name].contains(&pair[0]);
            let Some((_, name, unit)) = known.iter().find(is_it) else {
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
            parameters.insert((*name).to_owned(), number);
        }
        let kind = (*kind).to_owned();
        Ok(Qdisc { kind, parameters })
    }
}

impl fmt::Display for Qdisc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        let known = QDISCS.iter().filter(|(kind, _)| *kind == self.kind);
        let known: Vec<&Parameter> = known.flat_map(|(_, parameters)| *parameters).collect();
        for (name, value) in &self.parameters {
            match known.iter().find(|(_, known, _)| known == name) {
                Some((word, _, unit)) => write!(f, " {word} {}", unit.shown(*value))?,
                None => write!(f, " {name} {value}")?,
            }
        }
        Ok(())
    }
}

impl Unit {
    fn read(self, text: &str) -> Option<u64> {
        match self {
            Unit::Count => text.parse().ok(),
            Unit::Bytes => units::parse_bytes(text).ok(),
            Unit::Rate => units::parse_rate(text).ok(),
            Unit::Microseconds if ["0", "0us"].contains(&text) => Some(0),
            Unit::Microseconds => u64::try_from(units::parse_duration(text).ok()?.as_micros()).ok(),
            Unit::Millionths => share(text).map(u64::from),
            Unit::Switch => on_or_off(text).map(u64::from),
        }
    }

    fn shown(self, value: u64) -> String {
        match self {
            Unit::Count | Unit::Bytes | Unit::Rate => value.to_string(),
            Unit::Microseconds => format!("{value}us"),
            Unit::Millionths => format!("{}%", value as f64 / 10_000.0),
            Unit::Switch => if value == 0 { "off" } else { "on" }.to_owned(),
        }
    }
}

pub fn on_or_off(text: &str) -> Option<bool> {
    match text {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

pub fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| c.is_whitespace() || c == ',' || c == '=')
        .filter(|word| !word.is_empty())
        .collect()
}
