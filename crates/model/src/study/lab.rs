//! The place of a study that names no hosts: the embedded lab, and which of its hosts play the ends.

use serde::{Deserialize, Serialize};

use super::StudyError;
use super::section::Section;
use crate::near::did_you_mean;
use crate::topology::{self, Napi, Path, Topology};

/// The lab that a study runs in when no hosts are named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabSpec {
    /// The preset that it is or was made from, or `own`.
    pub topology: String,
    /// The least MTU on the way between the ends, in bytes.
    pub mtu_bytes: u32,
    /// How packets are received.
    pub napi: Napi,
    /// The host that plays the sender.
    #[serde(default = "first")]
    pub sender: String,
    /// The host that plays the receiver.
    #[serde(default = "second")]
    pub receiver: String,
    /// All of it; absent in logs that were written before there were labs of one's own.
    #[serde(default)]
    pub network: Option<Topology>,
}

/// What stands for the name of a lab that is no preset.
pub const OWN: &str = "own";

/// The preset of studies that say nothing.
const USUAL: &str = "wire";

fn first() -> String {
    "h1".to_owned()
}

fn second() -> String {
    "h2".to_owned()
}

impl LabSpec {
    /// A lab whose first two hosts play the ends; those named, where they are.
    ///
    /// # Errors
    /// A sentence where it has no such two hosts, or no way between them.
    pub fn new(
        name: &str,
        network: Topology,
        sender: Option<String>,
        receiver: Option<String>,
    ) -> Result<LabSpec, String> {
        let names: Vec<&str> = network.hosts().map(|host| host.name.as_str()).collect();
        let host = |asked: &Option<String>, other: &Option<String>, role: &str| match asked {
            Some(name) if names.contains(&name.as_str()) => Ok(name.clone()),
            Some(name) => {
                let hint = did_you_mean(name, names.iter().copied());
                Err(format!("the {role} `{name}` is no host of the lab{hint}; there are: {}", names.join(", ")))
            }
            None => {
                let free = names.iter().find(|name| other.as_deref() != Some(**name));
                free.map(|name| (*name).to_owned()).ok_or_else(|| format!("no host is left to be the {role}"))
            }
        };
        let sender = host(&sender, &receiver, "sender")?;
        let receiver = host(&receiver, &Some(sender.clone()), "receiver")?;
        let mtu_bytes = match network.path(&sender, &receiver) {
            Some(path) if sender != receiver => path.mtu_bytes,
            _ => return Err(format!("there is no way from {sender} to {receiver} in the lab")),
        };
        let (topology, napi) = (name.to_owned(), network.napi);
        Ok(LabSpec { topology, mtu_bytes, napi, sender, receiver, network: Some(network) })
    }

    /// The way between the ends; `None` where an old log does not say it.
    pub fn path(&self) -> Option<Path<'_>> {
        self.network.as_ref()?.path(&self.sender, &self.receiver)
    }
}

/// Reads a study's `[lab]`; without one it is the usual lab.
pub(super) fn read(top: &Section) -> Result<LabSpec, StudyError> {
    let empty = toml_edit::Table::new();
    let none = Section { source: top.source, name: "lab".to_owned(), table: &empty, span: None };
    let section = top.section("lab")?.unwrap_or(none);
    let allowed: Vec<&str> = topology::KEYS.into_iter().chain(["sender", "receiver"]).collect();
    section.only(&allowed)?;
    let is_own = section.table.contains_key("hosts");
    let name = section.text("topology")?;
    let usual = (!is_own).then_some(USUAL);
    let network = topology::read(&section, usual)?;
    let name = name.unwrap_or_else(|| usual.unwrap_or(OWN).to_owned());
    let (sender, receiver) = (section.text("sender")?, section.text("receiver")?);
    LabSpec::new(&name, network, sender, receiver).map_err(|message| section.error(message))
}
