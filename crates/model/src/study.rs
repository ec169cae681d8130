//! The part of a study that a log keeps: its cells with their levels, its stop rule, and its lab.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Invalid;
use crate::conditions::Conditions;
use crate::near::near_or_all;
use crate::topology::{Napi, Path, Topology};

/// A level as tables and JSON show it: a number or a word, which is displayed as
/// [`crate::harmless()`] returns it.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(untagged)]
pub enum Label {
    /// A whole number, in the unit that the factor's name ends in.
    Number(i64),
    Text(String),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Number(number) => f.pad(&number.to_string()),
            Label::Text(text) => f.pad(&crate::harmless(text)),
        }
    }
}

/// Adds blocks until the 95 % intervals of a metric are narrow enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UntilInterval {
    pub metric: String,
    /// The interval's width, upper minus lower bound, in per cent of the median.
    pub width_pct: f64,
    pub max_blocks: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Factor and level, in the study's order of factors.
    pub levels: Vec<(String, Label)>,
    pub conditions: Conditions,
}

impl Cell {
    pub fn level(&self, factor: &str) -> Option<&Label> {
        self.levels
            .iter()
            .find(|(name, _)| name == factor)
            .map(|(_, label)| label)
    }

    /// The levels in one short phrase: `1024 · UDP`.
    pub fn name(&self) -> String {
        phrase(&self.levels)
    }
}

/// Levels in one short phrase: `1024 · UDP`.
pub fn phrase(levels: &[(String, Label)]) -> String {
    levels
        .iter()
        .map(|(_, label)| label.to_string())
        .collect::<Vec<_>>()
        .join(" · ")
}

/// The lab of a study when no hosts are named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabSpec {
    /// The preset that it is made from, or `own`.
    pub topology: String,
    /// The smallest MTU on the path between the endpoints, in bytes.
    pub mtu_bytes: u32,
    /// The context in which packets are received.
    pub napi: Napi,
    /// The host that plays the sender.
    #[serde(default = "first")]
    pub sender: String,
    /// The host that plays the receiver.
    #[serde(default = "second")]
    pub receiver: String,
    /// The complete topology; empty where named hosts are used, and in logs of versions that had
    /// only presets.
    #[serde(default)]
    pub network: Topology,
    /// The running lab of this name has this topology, as it was when the first run was prepared;
    /// absent: the lab is built for the execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<String>,
}

/// The name of a lab that is not a preset.
pub const OWN: &str = "own";

fn first() -> String {
    "h1".to_owned()
}

fn second() -> String {
    "h2".to_owned()
}

impl LabSpec {
    /// A lab whose first two hosts, or the named ones, play the endpoints.
    pub fn new(
        name: &str,
        network: Topology,
        sender: Option<String>,
        receiver: Option<String>,
    ) -> Result<LabSpec, Invalid> {
        let names: Vec<&str> = network.hosts().map(|host| host.name.as_str()).collect();
        let host = |asked: &Option<String>, other: &Option<String>, role: &str| match asked {
            Some(name) if names.contains(&name.as_str()) => Ok(name.clone()),
            Some(name) => {
                let rest = near_or_all(name, &names);
                Err(Invalid(format!(
                    "the {role} `{name}` is not a host of the lab{rest}"
                )))
            }
            None => {
                let free = names.iter().find(|name| other.as_deref() != Some(**name));
                free.map(|name| (*name).to_owned())
                    .ok_or_else(|| Invalid(format!("no host is left to be the {role}")))
            }
        };
        let sender = host(&sender, &receiver, "sender")?;
        let receiver = host(&receiver, &Some(sender.clone()), "receiver")?;
        let mtu_bytes = match network.path(&sender, &receiver) {
            Some(path) if sender != receiver => path.mtu_bytes,
            _ => {
                return Err(Invalid(format!(
                    "there is no path from {sender} to {receiver} in the lab"
                )));
            }
        };
        let (topology, napi) = (name.to_owned(), network.napi);
        Ok(LabSpec {
            topology,
            mtu_bytes,
            napi,
            sender,
            receiver,
            network,
            running: None,
        })
    }

    /// The path between the endpoints; `None` where an old log does not describe it.
    pub fn path(&self) -> Option<Path<'_>> {
        self.network.path(&self.sender, &self.receiver)
    }
}
